"""Clusters as they are found: the same for a seed, nearly full, sound as they stand."""

from __future__ import annotations

from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.verify.rules import check
from scripts.bench.everyday import USAGE, everyday


def test_a_cluster_is_sound_nearly_full_and_the_same_for_a_seed() -> None:
    drawn = everyday(200, 1)
    assert drawn == everyday(200, 1)
    assert drawn != everyday(200, 2)
    instance = build_instance(drawn.snapshot, drawn.pending, load_model("mixed"))
    assert check(instance, instance.current) == []
    gpus = sum(podset.count * podset.gpu_milli for podset in instance.podsets if podset.running)
    assert USAGE <= gpus / sum(node.gpu_milli for node in instance.nodes) <= 1
    assert instance.topology_needs
    assert instance.budgets
    assert any(job.most_moves is not None for job in instance.jobs)
