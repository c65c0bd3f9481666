"""What all good plans have in common: gangs that are alike, and victims of which as many go."""

from __future__ import annotations

import random
from typing import Any

from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import GangRelaxation
from kantopt.cp.relaxed.settled import Settled, settle
from kantopt.cp.relaxed.tiers import expression
from kantopt.cp.relaxed.towards import LATER
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from tests.cp.test_domain_bounds import proved
from tests.oracle import best
from tests.verify.world import job, node, pods, question

SEEDS = 24
BY_GPUS: list[Any] = [{"unplaced": {"by": "priority", "unit": "gpu"}}, "evictions"]
CLOSE: list[Any] = ["domains_crossed", "moves"]


def crowd(seed: int) -> Instance:
    """Racks of one to three nodes, gangs of few sizes that run, and others that wait."""
    rng = random.Random(seed)
    nodes: list[Any] = []
    for rack in "abc":
        nodes += [
            node(f"{rack}{n}", cpu=1, rack=f"z/{rack}", gpu=1) for n in range(rng.randint(1, 3))
        ]
    free = [each["name"] for each in nodes]
    rng.shuffle(free)
    jobs = []
    whole = {"disruptionMode": "all", "movable": False, "priority": 1}
    for i in range(rng.randint(0, 3)):
        size = rng.randint(1, 2)
        on, free = free[:size], free[size:]
        if len(on) == size:
            jobs.append(job(f"run{i}", pods(count=size, gpu=1, on=on), **whole))
    wish = {"topologyRequest": {"preferred": "rack"}, "priority": 2}
    for i in range(rng.randint(2, 4)):
        jobs.append(job(f"wait{i}", pods(count=rng.randint(2, 3), gpu=1), **wish))
    return question(nodes, jobs, objectives=[*BY_GPUS, *CLOSE])


def settled(instance: Instance, placement: Placement, values: tuple[int, ...]) -> Settled:
    tiers = tiers_of(instance)
    m = GangRelaxation(instance, tiers)
    for tier, value in zip(tiers, values, strict=True):
        if tier.metric in LATER:
            break
        expr = expression(m, tier)
        if expr is not None and not isinstance(expr, int):
            m.cp.add(expr <= value)
    return settle(m, placement, Deadline(None))


def test_bounds_are_below_the_optimum() -> None:
    """Whatever is settled about gangs that are alike: the optimum may place others of them."""
    met = 0
    for seed in range(SEEDS):
        instance = crowd(seed)
        value, placement = best(instance)
        assert value is not None
        assert placement is not None
        found = proved(instance, placement, value)
        assert all(low <= v for low, v in zip(found, value, strict=True)), f"seed {seed}"
        met += found == value and value[-2] > 0
    assert met > 1


def test_which_of_the_alike_is_as_in_the_plan() -> None:
    """Six free nodes, four gangs of two: three are placed, and those of the plan are named."""
    racks = [node(f"{r}{n}", cpu=1, rack=f"z/{r}", gpu=1) for r in "ab" for n in range(3)]
    wish = {"topologyRequest": {"preferred": "rack"}}
    gangs = [job(name, pods(count=2, gpu=1), **wish) for name in "wxyz"]
    instance = question(racks, gangs, objectives=[*BY_GPUS, *CLOSE])
    value, placement = best(instance)
    assert value is not None
    assert placement is not None
    found = settled(instance, placement, value)
    placed = {j for j, number in found.satisfied.items() if number}
    assert len(found.satisfied) == 4
    assert placed == {
        job.index for job in instance.jobs if any(placement.placed(s) for s in job.podsets)
    }
    assert len(placed) == 3


def test_gangs_that_differ_in_what_they_ask_for_are_not_exchanged() -> None:
    """One of two gangs goes into two nodes: which one is open where one of them must be close."""
    racks = [node(f"a{n}", cpu=1, rack="z/a", gpu=1) for n in range(2)]
    near, far = ({"topologyRequest": {kind: "rack"}} for kind in ("required", "preferred"))
    jobs = [job("x", pods(count=2, gpu=1), **near), job("y", pods(count=2, gpu=1), **far)]
    instance = question(racks, jobs, objectives=[*BY_GPUS, *CLOSE])
    value, placement = best(instance)
    assert value is not None
    assert placement is not None
    assert not settled(instance, placement, value).satisfied


def test_how_many_of_alike_victims_go() -> None:
    """Either of two gangs that run makes room for the one that waits."""
    racks = [node(f"{r}{n}", cpu=1, rack=f"z/{r}", gpu=1) for r in "ab" for n in range(2)]
    whole = {"disruptionMode": "all", "movable": False, "priority": 1}
    runs = [job(r, pods(count=2, gpu=1, on=[f"{r}0", f"{r}1"]), **whole) for r in "ab"]
    jobs = [*runs, job("x", pods(count=2, gpu=1), priority=2)]
    instance = question(racks, jobs, objectives=[*BY_GPUS, *CLOSE])
    value, placement = best(instance)
    assert value is not None
    assert placement is not None
    found = settled(instance, placement, value)
    assert not found.victims
    assert [number for _, number in found.gone] == [1]
    goes = [sorted(way.victims.values()) for way in found.ways()]
    assert goes == [[0, 1], [0, 1]]


def test_what_is_known_of_some_of_the_alike_leaves_fewer_ways() -> None:
    """Two of four go, of which one certainly and one certainly not."""
    found = Settled({0: 1, 3: 0}, {}, {}, gone=(((0, 1, 2, 3), 2),))
    assert [way.victims for way in found.ways()] == [
        {0: 1, 3: 0, 1: 1, 2: 0},
        {0: 1, 3: 0, 1: 0, 2: 1},
    ]


def test_too_many_ways_stay_open() -> None:
    found = Settled({}, {}, {}, gone=((tuple(range(12)), 6),))
    assert found.ways() == [found]
