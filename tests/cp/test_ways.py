"""Gangs packed in all ways in which others may make room, and the moves that this takes."""

from __future__ import annotations

import random
from typing import Any

import pytest
from ortools.sat.python.cp_model import LinearExprT

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.relaxed.hints import Aim
from kantopt.cp.relaxed.towards import LATER, Best, Towards
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import bounds, measure
from tests.cp.test_domain_bounds import proved
from tests.oracle import best
from tests.verify.world import job, node, placed, pods, podset_of, question

SEEDS = 24
OBJECTIVES: list[Any] = [
    {"unplaced": {"by": "priority", "unit": "gpu"}},
    "evictions",
    "domains_crossed",
    "moves",
    "excess_groups",
]
WISH = {"topologyRequest": {"preferred": "rack"}, "priority": 2}
WHOLE = {"disruptionMode": "all", "movable": False, "priority": 1}
"""A gang that runs: it goes as a whole or stays where it is."""


def machine(name: str) -> Any:
    return node(name, cpu=8, gpu=2, rack=f"z/{name[0]}")


def crowd(seed: int) -> Instance:
    """Racks of nodes of two GPUs, gangs of alike size that run, pods that may move, and gangs."""
    rng = random.Random(seed)
    names = [f"{rack}{n}" for rack in "abc" for n in range(rng.randint(1, 2))]
    free = rng.sample(names, len(names))
    jobs = []
    for i in range(rng.randint(0, 2)):
        on, free = free[:1], free[1:]
        if rng.random() < 0.4:
            on, free = on + free[:1], free[1:]
        jobs.append(job(f"run{i}", pods(count=len(on), cpu=0, gpu=2, on=on), **WHOLE))
    for i in range(rng.randint(1, 4) if free else 0):
        single = pods(count=1, cpu=0, gpu=1, on=[free[i // 2 % len(free)]])
        jobs.append(job(f"one{i}", single, movable=True, priority=rng.choice((1, 3, 3))))
    for i in range(rng.randint(1, 2)):
        jobs.append(job(f"wait{i}", pods(count=rng.randint(2, 3), cpu=0, gpu=2), **WISH))
    return question([machine(name) for name in names], jobs, objectives=OBJECTIVES)


def test_bounds_are_below_the_optimum() -> None:
    met = 0
    for seed in range(SEEDS):
        instance = crowd(seed)
        value, placement = best(instance)
        assert value is not None
        assert placement is not None
        found = proved(instance, placement, value)
        assert all(low <= v for low, v in zip(found, value, strict=True)), f"seed {seed}"
        met += found == value and value[-2] > 0
    assert met > 2


def test_bounds_hold_for_a_plan_that_is_better_above_than_what_was_locked() -> None:
    """It evicts somebody for more GPUs: what was proved of plans that evict nobody is not of it."""
    for seed in range(8):
        instance = crowd(seed)
        tiers = tiers_of(instance)
        value, placement = best(instance)
        assert value is not None
        assert placement is not None
        nothing = instance.current
        start = Best(nothing, measure(instance, nothing, tiers))
        for late in range(1, len(tiers)):
            told = _told(instance, start, Best(placement, value), late)
            assert all(low <= value[i] for i, low in told), (seed, late)


def _told(instance: Instance, before: Best, after: Best, late: int) -> list[tuple[int, int]]:
    """Return the bounds told after a better plan became known, which it does at some tier."""
    tiers = tiers_of(instance)
    now = before
    told: list[tuple[int, int]] = []

    def known(i: int) -> int:
        nonlocal now
        if i >= late:
            now = after
        return bounds(instance, tiers, now.values)[i]

    Towards(
        instance,
        tiers,
        Budget(Deadline(None), workers=2),
        known=known,
        bound=lambda i, low: told.append((i, low)) if now is after else None,
        aim=lambda _: None,
        best=lambda: now,
    ).run()
    return told


def last_three(jobs: list[Any], names: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Domains crossed, moves and excess groups at the optimum, and their bounds."""
    instance = question([machine(n) for n in names.split()], jobs, objectives=OBJECTIVES)
    value, placement = best(instance)
    assert value is not None
    assert placement is not None
    return value[-3:], proved(instance, placement, value)[-3:]


def test_of_two_alike_that_goes_which_leaves_the_better_racks() -> None:
    """Three nodes are wanted: a rack of three if the one goes, else one node of each of three."""
    names = "a0 a1 a2 b0 c0 d0"
    runs = [
        job("x", pods(count=3, cpu=0, gpu=2, on=["a0", "a1", "a2"]), **WHOLE),
        job("y", pods(count=3, cpu=0, gpu=2, on=["b0", "c0", "d0"]), **WHOLE),
    ]
    jobs = [*runs, job("w", pods(count=3, cpu=0, gpu=2), **WISH)]
    value, bound = last_three(jobs, names)
    assert value == bound
    assert value[0] == 0


def test_who_stays_crosses_what_nobody_else_can_have() -> None:
    """Either of two goes, each in two racks: the gang crosses in both ways."""
    names = "a0 a1 b0 b1"
    runs = [
        job("x", pods(count=2, cpu=0, gpu=2, on=["a0", "b0"]), **WHOLE),
        job("y", pods(count=2, cpu=0, gpu=2, on=["a1", "b1"]), **WHOLE),
    ]
    jobs = [*runs, job("w", pods(count=2, cpu=0, gpu=2), **WISH)]
    value, bound = last_three(jobs, names)
    assert value == bound
    assert value[0] == 1


def test_room_of_a_victim_brings_nobody_closer_who_may_not_evict_it() -> None:
    """A rack is left to a more important gang, which would be content with any nodes."""
    runs = pods(count=3, cpu=0, gpu=2, on=["a0", "a1", "a2"])
    jobs = [
        job("v", runs, **WHOLE | {"priority": 2}),
        job("w", pods(count=4, cpu=0, gpu=2), priority=3),
        job("l", pods(count=2, cpu=0, gpu=2), **WISH),
    ]
    value, bound = last_three(jobs, "a0 a1 a2 b0 c0 d0")
    assert value == bound
    assert value[0] == 1


def test_a_node_is_free_once_all_of_its_pods_have_moved() -> None:
    """Two nodes of a rack are wanted: two pods leave the one, and none would have to elsewhere."""
    names = "a0 a1 b0 c0"
    ones = [
        job(f"p{i}", pods(count=1, cpu=0, gpu=1, on=["a0"]), movable=True, priority=3)
        for i in range(2)
    ]
    jobs = [*ones, job("w", pods(count=2, cpu=0, gpu=2), **WISH)]
    value, bound = last_three(jobs, names)
    assert value == bound == (0, 2, 0)


def told_without_proof(
    monkeypatch: pytest.MonkeyPatch, instance: Instance, start: Placement
) -> tuple[dict[str, int], list[Aim]]:
    """Bounds by tier, and what is aimed at, where closeness is not asked about as a whole."""
    tiers, prove = tiers_of(instance), Towards._prove

    def proved_above(self: Towards, i: int, expr: LinearExprT) -> None:
        if tiers[i].metric not in LATER:
            prove(self, i, expr)

    monkeypatch.setattr(Towards, "_prove", proved_above)
    values = measure(instance, start, tiers)
    found = list(bounds(instance, tiers, values))
    aims: list[Aim] = []
    Towards(
        instance,
        tiers,
        Budget(Deadline(None), workers=2),
        known=lambda i: found[i],
        bound=found.__setitem__,
        aim=lambda aim: bool(aims.append(aim)),
        best=lambda: Best(start, values),
    ).run()
    return {tier.name: low for tier, low in zip(tiers, found, strict=True)}, aims


def test_who_moves_in_is_a_reason_to_go_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    """The gang has a rack for itself where one moves into the room of the victim."""
    jobs = [
        job("m", pods(cpu=0, gpu=1, on=["a0"]), movable=True, priority=3),
        job("x", pods(count=2, cpu=0, gpu=2, on=["b0", "c0"]), **WHOLE),
        job("y", pods(cpu=0, gpu=2, on=["d0"]), movable=False, priority=3),
        job("w", pods(count=3, cpu=0, gpu=2), **WISH),
    ]
    names = "a0 a1 a2 b0 c0 d0"
    instance = question([machine(n) for n in names.split()], jobs, objectives=OBJECTIVES)
    start = placed(instance, x=[], w=["a1", "a2", "b0"])
    monkeypatch.setattr(Towards, "_is_beyond", lambda *_: False)
    _, aims = told_without_proof(monkeypatch, instance, start)
    whole = [{"a0"}, {"a1", "a2"}]
    assert whole in [_where(instance, aim, "w") for aim in aims]


def _where(instance: Instance, aim: Aim, name: str) -> list[set[str]]:
    """Nodes of each class in which an aim has pods of a job."""
    return [
        {instance.nodes[n].name for n in aim.classes[c]}
        for podsets, _, counts in aim.kinds
        for c, pods in counts.items()
        if pods and podset_of(instance, name) in podsets
    ]


def test_a_way_is_worse_than_its_packing_where_who_must_move_has_no_room(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One stands in the rack that the gang would have for itself, and fits nowhere else."""
    jobs = [
        job("m", pods(cpu=6, gpu=1, on=["a0"]), movable=True, priority=3),
        job("y", pods(cpu=4, gpu=1, on=["d0"]), movable=False, priority=3),
        job("w", pods(count=2, cpu=0, gpu=2), **WISH),
    ]
    small = node("b0", cpu=4, gpu=2, rack="z/b")
    nodes = [machine("a0"), machine("a1"), small, machine("d0")]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    start = placed(instance, w=["a1", "b0"])
    assert best(instance)[0] == measure(instance, start, tiers_of(instance))
    told, _ = told_without_proof(monkeypatch, instance, start)
    assert told["domains_crossed"] == 1
