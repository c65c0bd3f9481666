"""Full clusters for goals: sound, the same for a seed, and each goal takes moves."""

from __future__ import annotations

import pytest

from kantopt.errors import UsageError
from kantopt.problem.build import build_instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Metric
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from scripts.bench.goals import MODELS, full, model


@pytest.mark.parametrize("name", MODELS)
def test_a_cluster_is_sound_full_and_has_no_goal_reached(name: str) -> None:
    drawn = full(64, 3)
    assert drawn == full(64, 3)
    assert drawn != full(64, 4)
    asked = model(name)(drawn)
    waiting = drawn.pending if asked.pending else ()
    instance = build_instance(drawn.snapshot, waiting, asked)
    assert check(instance, instance.current) == []
    gpus = sum(podset.count * podset.gpu_milli for podset in instance.podsets if podset.running)
    assert gpus == sum(node.gpu_milli for node in instance.nodes) - 64_000
    values = measure(instance, instance.current, tiers_of(instance))
    assert any(values[:-1])
    assert tiers_of(instance)[-1].metric is Metric.MOVES


def test_a_goal_that_there_is_none_of_is_an_error() -> None:
    with pytest.raises(UsageError, match="--models: found full"):
        model("full")
