"""How many jobs and victims it takes to leave out what there is no room for."""

from __future__ import annotations

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bound_of, bounds
from tests.gang_questions import OBJECTIVES, gang_question
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

COUNTS = {"priority": "counts"}
"""Equals may evict each other."""


def gang(name: str, count: int, *on: str, **more: object) -> Document:
    """A gang of whole nodes; ``on``: it runs."""
    return job(name, pods(count=count, minCount=count, cpu=0, gpu=8, on=on), **more)


def test_gangs_that_run_must_go_where_no_sum_of_those_that_wait_is_left_out() -> None:
    """Nine nodes: gangs of five and three run, gangs of six and four wait.

    Nine of eighteen pods stay without a node, which are five and four, or six and three, the
    cheaper ones to evict. If ten may, these can be six and four, and nobody is evicted.
    """
    nodes: list[Document] = [node(f"n{k}", gpu=8) for k in range(9)]
    on = [f"n{k}" for k in range(8)]
    five = job("five", pods(count=5, minCount=5, cpu=0, gpu=8, on=on[:5], disruptionCost=2))
    jobs = [five, gang("three", 3, *on[5:]), gang("six", 6), gang("four", 4)]
    instance = question(nodes, jobs, objectives=OBJECTIVES, rules=COUNTS)
    tiers = tiers_of(instance)
    assert [tier.name for tier in tiers] == [
        "unplaced[priority=0, milli-GPU]",
        "unplaced[priority=0, jobs]",
        "evictions[priority=0]",
        "evictions[pods]",
    ]
    gpus, jobs_tier, cost, victims = tiers
    assert bound_of(gpus, instance, {}) == 72_000
    assert bound_of(jobs_tier, instance, {gpus: 72_000}) == 2
    assert bound_of(cost, instance, {gpus: 72_000, jobs_tier: 2}) == 3
    assert bound_of(victims, instance, {gpus: 72_000, jobs_tier: 2, cost: 5}) == 3
    assert bound_of(cost, instance, {gpus: 80_000, jobs_tier: 2}) == 0


def test_a_job_that_goes_as_a_whole_costs_once() -> None:
    """A gang of four wants four nodes of which three are taken as a whole, for 7, one for 1."""
    nodes: list[Document] = [node(f"n{k}", gpu=8) for k in range(4)]
    taken = {"disruptionMode": "all", "disruptionCost": 7}
    jobs = [gang("a", 3, "n0", "n1", "n2", **taken), gang("b", 1, "n3"), gang("c", 4)]
    instance = question(nodes, jobs, objectives=OBJECTIVES, rules=COUNTS)
    gpus, count, cost, victims = tiers_of(instance)
    assert bound_of(gpus, instance, {}) == 32_000
    # four of eight: the gang itself, or both that run
    assert bound_of(count, instance, {gpus: 32_000}) == 1
    assert bound_of(cost, instance, {gpus: 32_000, count: 2}) == 0
    # three of eight would do with two GPUs more: only the job that goes as a whole is three
    wide = question([*nodes, node("n4", gpu=8)], jobs, objectives=OBJECTIVES, rules=COUNTS)
    gpus, count, cost, victims = tiers_of(wide)
    assert bound_of(gpus, wide, {}) == 24_000
    assert bound_of(cost, wide, {gpus: 24_000, count: 1}) == 7
    assert bound_of(victims, wide, {gpus: 24_000, count: 1, cost: 7}) == 3


@pytest.mark.parametrize("seed", range(60))
def test_never_above_the_optimum(seed: int) -> None:
    instance = gang_question(seed)
    tiers = tiers_of(instance)
    values, _ = best(instance)
    assert values is not None
    found = bounds(instance, tiers, values)
    assert all(bound <= value for bound, value in zip(found, values, strict=True)), found
