"""New jobs come in again where less has to go."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.reinsertion import reinserted
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.search.helpers import FOREVER
from tests.verify.world import job, node, placed, pods, podset_of, question

OBJECTIVES = [{"unplaced": {"by": "priority", "unit": "gpu"}}, "evictions", "moves"]


def missing(instance: Instance, placement: Placement) -> int:
    """Milli-GPU below minima that have no place."""
    assert check(instance, placement) == []
    return sum(measure(instance, placement, [t for t in tiers_of(instance) if t.counts_unplaced]))


def test_a_job_comes_in_again_where_its_victim_is_not_missed() -> None:
    nodes = [node(name, gpu=8) for name in "abc"]
    jobs = [
        job("mid", pods(count=2, minCount=1, gpu=8, on=["a", "b"]), priority=5),
        job("low", pods(gpu=8, on=["c"]), priority=1),
        job("top", pods(gpu=8), priority=10),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    start = placed(instance, low=[], top=["c"])
    assert missing(instance, start) == 8_000
    better = reinserted(instance, start, FOREVER, Strategy.BEST_FIT)
    assert missing(instance, better) == 0
    assert better.placed(podset_of(instance, "top")) == 1


def test_a_job_stays_where_it_is_if_no_place_harms_less() -> None:
    nodes = [node(name, gpu=8) for name in "ab"]
    jobs = [
        job("x", pods(gpu=8, on=["a"]), priority=1),
        job("y", pods(gpu=8, on=["b"]), priority=1),
        job("new", pods(gpu=8), priority=2),
    ]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    start = placed(instance, x=[], new=["a"])
    assert reinserted(instance, start, FOREVER, Strategy.BEST_FIT) == start
