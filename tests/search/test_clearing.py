"""Jobs that fit only if some pods move to where lesser ones were."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.search.construct import construct
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.verify.rules import check
from tests.verify.world import job, node, pods, question

STAYS = {"movable": False, "preemptible": False}


def full(**more: Any) -> Instance:
    """A pod that may move but not go, and on the other node one that may go but not move."""
    return question(
        [node("a", gpu=8), node("b", gpu=8)],
        [
            job("mover", pods(cpu=0, gpu=4, on=["a"]), priority=2, preemptible=False),
            job(
                "fixed", pods(cpu=0, gpu=4, on=["b"]), priority=2, movable=False, preemptible=False
            ),
            job("lesser", pods(cpu=0, gpu=4, on=["b"]), priority=1, movable=False),
            job("new", pods(cpu=0, gpu=8), priority=3, **more),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )


@pytest.mark.parametrize("strategy", DEFAULT_PORTFOLIO)
def test_a_pod_moves_to_where_a_lesser_one_was(strategy: Strategy) -> None:
    instance = full()
    placement = construct(instance, Deadline(None), strategy, relocate=True)
    assert check(instance, placement) == []
    assert [placement.placed(s) for s in range(4)] == [1, 1, 0, 1]
    assert [spot.node for spot in placement.podsets[0]] == [1]


def test_nobody_goes_for_a_job_that_may_not_preempt() -> None:
    instance = full(preemptionPolicy="Never")
    placement = construct(instance, Deadline(None), Strategy.BEST_FIT, relocate=True)
    assert placement == instance.current


def test_who_went_in_vain_comes_back() -> None:
    """Without the pod that may move out there is nothing to gain, so nobody is gone."""
    instance = question(
        [node("a", gpu=8), node("b", gpu=8)],
        [
            job("one", pods(cpu=0, gpu=4, on=["a"]), priority=2, **STAYS),
            job("lesser", pods(cpu=0, gpu=4, on=["a"]), priority=1),
            job("two", pods(cpu=0, gpu=4, on=["b"]), priority=2, **STAYS),
            job("new", pods(cpu=0, gpu=8), priority=3),
        ],
        objectives=["unplaced", "evictions", "moves"],
    )
    placement = construct(instance, Deadline(None), Strategy.BEST_FIT, relocate=True)
    assert placement == instance.current
