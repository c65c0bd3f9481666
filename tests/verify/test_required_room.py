"""Evictions without which a job that must be placed has no GPUs."""

from __future__ import annotations

import random

import pytest

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds
from tests.oracle import best
from tests.verify.world import Document, job, node, pods, question

BY_PODS: Document = {"evictions": {"by": "all", "unit": "pod"}}
ORDERS = (
    ["evictions", BY_PODS, "moves", "unplaced"],
    [BY_PODS, "unplaced"],
    ["moves", {"evictions": {"by": "all"}}, "unplaced"],
    ["evictions", BY_PODS, "lost_gpu_seconds", "unplaced"],
    ["lost_gpu_seconds", "evictions", "unplaced"],
)


def found(instance: Instance) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bounds and optimum of all tiers."""
    value, _ = best(instance)
    assert value is not None
    return tuple(bounds(instance, tiers_of(instance), value)), value


def test_as_many_go_as_hold_what_a_required_job_lacks() -> None:
    """It asks for four GPUs and one is free where pods may go: the cheap ones give two, then one.

    What is free on a node that is cordoned helps nobody.
    """
    nodes = [node("a", gpu=4, cpu=9), node("shut", gpu=4, cpu=9, unschedulable=True)]
    jobs = [
        job("dear", pods(gpu=1, on=["a"], disruptionCost=5), priority=1),
        job("cheap", pods(gpu=2, on=["a"]), priority=1),
        job("new", pods(gpu=4), priority=9),
    ]
    instance = question(nodes, jobs, objectives=ORDERS[0], required=["new"])
    least, value = found(instance)
    assert least == value
    assert [x for x in value if x][:2] == [6, 2]


def test_what_others_give_at_the_values_above_is_not_asked_of_the_next() -> None:
    """The tier of a higher priority is at the value of one victim, so the lower gives the rest."""
    nodes = [node("a", gpu=4, cpu=9), node("b", gpu=4, cpu=9)]
    jobs = [
        job("high", pods(gpu=4, on=["a"], preemptible=False), priority=2),
        job("mine", pods(count=2, gpu=2, on=["b", "b"]), priority=1),
        job("new", pods(gpu=4), priority=9),
    ]
    least, value = found(question(nodes, jobs, objectives=ORDERS[0], required=["new"]))
    assert least == value
    assert 2 in value


def test_as_much_work_is_lost_as_those_had_done_who_hold_what_a_required_job_lacks() -> None:
    """Two of three pods go: those that began last, and none of the priority of which none goes."""
    jobs = [
        *(
            job(f"r{k}", pods(gpu=1, on=["a"], startTime=f"2026-01-01T00:{k}0:00Z"), priority=1)
            for k in (1, 3, 5)
        ),
        job("high", pods(gpu=1, on=["a"], startTime="2026-01-01T00:59:59Z"), priority=2),
        job("new", pods(gpu=2), priority=9),
    ]
    instance = question([node("a", gpu=4, cpu=9)], jobs, objectives=ORDERS[3], required=["new"])
    least, value = found(instance)
    assert least == value
    assert 600 + 1800 in value


@pytest.mark.parametrize("seed", range(40))
def test_no_bound_is_above_what_brute_force_finds(seed: int) -> None:
    rng = random.Random(seed)
    rooms = {f"n{i}": rng.choice((2, 4)) for i in range(3)}
    shut = rng.choice(("", "n2"))
    nodes = [
        node(name, cpu=20, gpu=room, **({"unschedulable": True} if name == shut else {}))
        for name, room in rooms.items()
    ]
    jobs = [job("new", pods(count=rng.choice((1, 2)), gpu=2, cpu=1), priority=5)]
    for k in range(3):
        gpus = rng.choice((0, 1, 2))
        on = [name for name in rooms if rooms[name] >= gpus and rng.random() < 0.7]
        for name in on:
            rooms[name] -= gpus
        cost = rng.choice((0, 1, 1, 2))
        mode = rng.choice(("single", "all"))
        began = f"2026-01-01T00:{rng.randrange(10, 60)}:00Z"
        role = pods(count=len(on), cpu=1, gpu=gpus, on=on, disruptionCost=cost, startTime=began)
        if on:
            jobs.append(job(f"r{k}", role, priority=rng.choice((1, 2, 9)), disruptionMode=mode))
    instance = question(nodes, jobs, objectives=ORDERS[seed % len(ORDERS)], required=["new"])
    value, _ = best(instance)
    if value is not None:
        least = bounds(instance, tiers_of(instance), value)
        assert all(a <= b for a, b in zip(least, value, strict=True)), (least, value)
