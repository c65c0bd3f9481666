"""Clusters with four times as much to do as there is room for: sound, and the same for a seed."""

from __future__ import annotations

import pytest

from kantopt.problem.build import build_instance
from kantopt.verify.rules import check
from scripts.bench.backlog import KINDS, drawn
from scripts.bench.models import shipped


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_is_sound_and_more_waits_than_there_is_room_for(kind: str) -> None:
    documents = drawn(kind, 64, 3)
    assert documents == drawn(kind, 64, 3)
    assert documents != drawn(kind, 64, 4)
    asked = shipped("mixed", counts=False)(documents)
    instance = build_instance(documents.snapshot, documents.pending, asked)
    assert check(instance, instance.current) == []
    pods = [(p.count * p.gpu_milli, p.running) for p in instance.podsets]
    waits = sum(gpus for gpus, running in pods if not running)
    free = sum(node.gpu_milli for node in instance.nodes) - sum(g for g, running in pods if running)
    assert 4 * free <= waits
    assert all(podset.allowed for podset in instance.podsets)
    assert len({job.priority for job in instance.jobs}) == (3 if kind == "priorities" else 1)
