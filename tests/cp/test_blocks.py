"""What stays beside gangs that are whole in domains: nothing legal is cut off, and parts are."""

from __future__ import annotations

import random
from typing import Any

import pytest
from ortools.linear_solver import pywraplp
from ortools.sat.python.cp_model import CpModel

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.linear import linear_program
from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.tiers import expression
from kantopt.cp.solver import SOLVED, solver_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.strategy import DEFAULT_PORTFOLIO
from kantopt.verify.rules import check
from tests.campaign import some
from tests.placements import random_placement
from tests.search.helpers import built
from tests.solved import solved
from tests.verify.world import job, node, placed, pods, question

OBJECTIVES: list[Any] = ["unplaced", "evictions", "moves"]
REQUIRED = {"required": "rack"}
SLICES = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}


def drawn(rng: random.Random) -> Instance:
    """Racks of a few nodes with pods that may move, go or neither; gangs wait for whole racks.

    Of some gangs a part is enough.
    """
    nodes, free = [], {}
    for rack in "abc"[: rng.randint(2, 3)]:
        for n in range(rng.randint(2, 4)):
            nodes.append(node(f"{rack}{n}", cpu=9, gpu=2, rack=f"t/{rack}"))
            free[f"{rack}{n}"] = 2
    jobs = []
    for k in range(rng.randint(1, len(nodes))):
        gpus = rng.randint(1, 2)
        places = [name for name, room in free.items() if room >= gpus]
        if places:
            place = rng.choice(places)
            free[place] -= gpus
            kind = {"priority": rng.choice((0, 0, 9)), "movable": rng.random() < 0.7}
            jobs.append(job(f"run-{k}", pods(gpu=gpus, on=[place]), **kind))
    for k in range(rng.randint(1, 3)):
        close = rng.choice((REQUIRED, SLICES))
        count = rng.choice((2, 4)) if close is SLICES else rng.randint(1, 4)
        first = rng.randint(1, count)
        # Often a role must be close by itself as well.
        twice = {"topologyRequest": rng.choice((REQUIRED, SLICES))} if first % 2 == 0 else {}
        roles = [pods(count=first, gpu=rng.randint(1, 2), **twice)]
        if first < count:
            roles.append(pods(name="others", count=count - first, gpu=rng.randint(1, 2)))
        least = rng.choice((count, count, rng.randint(1, count)))
        jobs.append(job(f"gang-{k}", *roles, priority=5, minCount=least, topologyRequest=close))
    return question(nodes, jobs, objectives=OBJECTIVES)


def admits(m: DomainRelaxation, cp: CpModel, placement: Placement) -> bool:
    """Whether a copy of a relaxation's model has the counts of a placement, and what arrives."""
    fixed = cp.clone()
    for kind in m.kinds.pods:
        standing = m.classes.standing(kind)
        spots = [(spot, k) for s in kind.podsets for spot, k in placement.podsets[s].items()]
        for c, count in m.at[kind.index].items():
            there = sum(k for spot, k in spots if m.classes.class_of[spot.node] == c)
            fixed.add(count == there)
            if c in m.arrived[kind.index]:
                fixed.add(m.arrived[kind.index][c] == max(0, there - standing.get(c, 0)))
    return solver_of(10.0).solve(fixed) in SOLVED


@pytest.mark.parametrize("block", some(range(4)))
def test_no_legal_placement_is_cut_off(block: int) -> None:
    cuts = legal = 0
    for seed in range(block, 80, 4):
        rng = random.Random(seed)
        instance = drawn(rng)
        m = DomainRelaxation(instance, tiers_of(instance))
        cp = m.cp.clone()
        m.add_rounding(cp)
        cuts += len(cp.proto.constraints) - len(m.cp.proto.constraints)
        placements = [random_placement(rng, instance) for _ in range(12)]
        placements += [built(instance, each, relocate=True) for each in DEFAULT_PORTFOLIO]
        best = solved(instance, tiers_of(instance), budget=Budget(Deadline.within(1.0)))
        placements += [best.placement or instance.current]
        for placement in placements:
            if check(instance, placement):
                continue
            legal += 1
            assert admits(m, cp, placement), (seed, placement)
    assert cuts > 20
    assert legal > 20


def test_a_slice_is_as_wide_as_its_smallest_pods() -> None:
    """Two small ones are a slice beside the one that runs; two large ones have a rack."""
    nodes = [node(f"{rack}{n}", cpu=9, gpu=2, rack=f"t/{rack}") for rack in "ab" for n in range(2)]
    roles = pods(name="small", count=2, gpu=1), pods(name="large", count=2, gpu=2)
    gang = job("gang", *roles, minCount=4, topologyRequest=SLICES)
    instance = question(nodes, [job("run", pods(gpu=1, on=["a0"])), gang], objectives=OBJECTIVES)
    where = {"run": ["a0"], "gang/small": ["a0", "a1"], "gang/large": ["b0", "b1"]}
    beside = placed(instance, **where)
    assert not check(instance, beside)
    m = DomainRelaxation(instance, tiers_of(instance))
    cp = m.cp.clone()
    m.add_rounding(cp)
    assert len(cp.proto.constraints) > len(m.cp.proto.constraints)
    assert admits(m, cp, beside)


def test_who_comes_from_elsewhere_stays_beside_nobody() -> None:
    """One of five GPUs is taken: three pods that run in another rack have room beside it."""
    nodes = [node(rack, cpu=9, gpu=5, rack=f"t/{rack}") for rack in "ab"]
    running = [job(f"run-{n}", pods(gpu=1, on=["abbb"[n]])) for n in range(4)]
    gang = job("gang", pods(count=3, gpu=1), minCount=3, topologyRequest=REQUIRED)
    instance = question(nodes, [*running, gang], objectives=OBJECTIVES)
    moved = placed(instance, **{f"run-{n}": ["a"] for n in range(4)})
    assert not check(instance, moved)
    m = DomainRelaxation(instance, tiers_of(instance))
    cp = m.cp.clone()
    m.add_rounding(cp)
    assert len(cp.proto.constraints) > len(m.cp.proto.constraints)
    assert admits(m, cp, moved)


@pytest.mark.parametrize("twice", [REQUIRED, SLICES, {**REQUIRED, **SLICES}])
def test_a_gang_that_must_be_close_in_two_ways_comes_once(twice: dict[str, Any]) -> None:
    """One of four nodes is taken: a gang of two has room beside it, two of them have not."""
    nodes = [node(f"a{n}", cpu=9, gpu=1, rack="t/a") for n in range(4)]
    gang = pods(count=2, gpu=1, topologyRequest=twice)
    jobs = [
        job("run", pods(gpu=1, on=["a0"])),
        job("gang", gang, minCount=2, topologyRequest=REQUIRED),
    ]
    instance = question([*nodes, node("b", gpu=1, rack="t/b")], jobs, objectives=OBJECTIVES)
    beside = placed(instance, gang=["a1", "a2"])
    assert not check(instance, beside)
    m = DomainRelaxation(instance, tiers_of(instance))
    cp = m.cp.clone()
    m.add_rounding(cp)
    assert admits(m, cp, beside)


def least_in_parts(cp: CpModel) -> float:
    """Least of an objective where numbers need not be whole."""
    program = linear_program(cp)
    assert program is not None
    solver = pywraplp.Solver.CreateSolver("GLOP")
    variables = [solver.NumVar(low, high, "") for low, high in program.bounds]
    for row in program.rows:
        total = solver.Sum([variables[i] * k for i, k in row.terms.items()])
        if row.low is not None:
            solver.Add(total >= row.low)
        if row.high is not None:
            solver.Add(total <= row.high)
    solver.Minimize(solver.Sum([variables[i] * k for i, k in program.costs.items()]))
    assert solver.Solve() == pywraplp.Solver.OPTIMAL
    found: float = solver.Objective().Value()
    return found


@pytest.mark.parametrize("close", [REQUIRED, {**SLICES, "podSetSliceSize": 4}])
def test_parts_of_a_gang_do_not_fill_the_gaps_of_racks(close: dict[str, Any]) -> None:
    """Three, two and one of six nodes are free: a gang of four takes one move, its parts none."""
    nodes = [node(f"{r}{n}", cpu=9, gpu=1, rack=f"t/{r}") for r in "abc" for n in range(6)]
    standing = {"a": 3, "b": 4, "c": 5}
    jobs = [
        job(f"{r}{n}", pods(gpu=1, on=[f"{r}{n}"])) for r, k in standing.items() for n in range(k)
    ]
    gang = pods(count=4, gpu=1, topologyRequest=close)
    instance = question(nodes, [*jobs, job("gang", gang, minCount=4)], objectives=OBJECTIVES)
    tiers = tiers_of(instance)
    m = DomainRelaxation(instance, tiers)
    unplaced, moves = (expression(m, tiers[i]) for i in (0, -1))
    assert unplaced is not None
    assert moves is not None
    for rounded, least in ((False, 0), (True, 1)):
        cp = m.cp.clone()
        if rounded:
            m.add_rounding(cp)
        cp.add(unplaced == 0)
        cp.minimize(moves)
        assert least_in_parts(cp) == pytest.approx(least)
