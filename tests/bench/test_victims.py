"""Full clusters for important gangs: sound, the same for a seed, and nobody has room yet."""

from __future__ import annotations

import pytest

from kantopt.problem.build import build_instance
from kantopt.verify.rules import check
from scripts.bench.models import shipped
from scripts.bench.victims import KINDS, drawn


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_is_sound_full_and_somebody_waits(kind: str) -> None:
    documents = drawn(kind, 64, 3)
    assert documents == drawn(kind, 64, 3)
    assert documents != drawn(kind, 64, 4)
    asked = shipped("mixed", counts=False)(documents)
    instance = build_instance(documents.snapshot, documents.pending, asked)
    assert check(instance, instance.current) == []
    pods = [(p.count * p.gpu_milli, p.running) for p in instance.podsets]
    waits = sum(gpus for gpus, running in pods if not running)
    free = sum(node.gpu_milli for node in instance.nodes) - sum(g for g, running in pods if running)
    assert 0 <= free <= 8_000 < waits
    elastic = [j for j in instance.jobs if any(role.min_count < role.count for role in j.roles)]
    assert bool(elastic) == (kind == "surplus")
