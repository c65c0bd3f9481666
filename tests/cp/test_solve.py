"""The search tier by tier: where it starts, and that it never ends worse."""

from __future__ import annotations

from typing import Any

import pytest
from ortools.sat.python import cp_model

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp import solve
from kantopt.cp.model import PlacementModel
from kantopt.cp.solve import solve_tiers
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.generate import random_instance
from tests.questions import hard_question, model, question
from tests.solved import solved
from tests.verify import world

PODS_FIRST = model({"unplaced": {"unit": "pod"}}, "evictions", "moves")


@pytest.mark.parametrize("seed", range(20))
def test_the_solver_starts_from_the_placement_it_is_given(seed: int) -> None:
    instance = random_instance(seed)
    if check(instance, instance.current):
        pytest.skip("a required job is missing")
    built = PlacementModel(instance)
    for tier in tiers_of(instance):
        built.cp.minimize(built.expression(tier))
    built.hint(instance.current)
    solver = cp_model.CpSolver()
    solver.parameters.log_search_progress = True
    solver.parameters.log_to_stdout = False
    solver.parameters.num_workers = 1
    lines: list[str] = []
    solver.log_callback = lines.append
    solver.solve(built.cp)
    log = "\n".join(lines)
    trivial = "problem was solved during presolve" in log.lower() or "#Done" not in log
    assert trivial or "The solution hint is complete and is feasible." in log


def test_a_search_cut_short_is_no_worse_than_its_start() -> None:
    instance = hard_question().instance(PODS_FIRST)
    start = construct(instance, Deadline(None), How(Strategy.BEST_FIT))
    tiers = tiers_of(instance)
    for work in (0.01, 0.05, 0.2):
        budget = Budget(Deadline(None), workers=1, work=work)
        outcome = solved(instance, tiers, start, budget)
        assert outcome.placement is not None
        assert measure(instance, outcome.placement, tiers) <= measure(instance, start, tiers)


def test_where_work_is_counted_no_thread_stops_another() -> None:
    counted = Budget(Deadline(None), workers=4, work=0.1)
    assert counted.threads == 1
    assert Budget(Deadline(None), workers=4).threads == 4


@pytest.mark.parametrize(("most", "solves"), [(1_000, 1), (1, 2)])
def test_two_tiers_that_are_open_are_minimised_in_one_solve_if_the_second_has_few_values(
    monkeypatch: pytest.MonkeyPatch, most: int, solves: int
) -> None:
    """The gang is over two racks, and somebody has moved for nothing."""
    nodes = [world.node(f"{rack}{k}", cpu=8, rack=f"x/{rack}") for rack in "ab" for k in range(2)]
    close = world.pods(count=2, cpu=4, topologyRequest={"preferred": "rack"})
    jobs = [world.job("gang", close), world.job("runs", world.pods(cpu=1, on=["a0"]))]
    instance = world.question(nodes, jobs, objectives=["moves", "domains_crossed"])
    start = world.placed(instance, gang=["a0", "b0"], runs=["b1"])
    asked: list[cp_model.CpModel] = []

    class Counted(cp_model.CpSolver):
        def solve(self, cp: cp_model.CpModel, told: Any = None) -> Any:
            asked.append(cp)
            return super().solve(cp, told)

    monkeypatch.setattr(solve, "solver_of", lambda *_, **__: Counted())
    monkeypatch.setattr(solve, "_FEW_VALUES", most)
    outcome = solved(instance, tiers_of(instance), start)
    assert outcome.bounds == (0, 0)
    assert outcome.placement is not None
    assert measure(instance, outcome.placement, tiers_of(instance)) == (0, 0)
    assert len(asked) == solves


def _spared(*objectives: str) -> Instance:
    """Who runs could be evicted to leave its node empty, but its room is nobody's need."""
    nodes = [world.node("a", cpu=4), world.node("b", cpu=8)]
    jobs = [
        world.job("runs", world.pods(cpu=4, on=["a"]), priority=0),
        world.job("waits", world.pods(cpu=8), priority=5),
    ]
    return world.question(nodes, jobs, objectives=objectives)


def test_lazy_constraints_are_added_once_a_placement_breaks_them() -> None:
    instance = _spared("unplaced", "nodes_in_use")
    lazy = PlacementModel(instance, lazy=True)
    tiers = tiers_of(instance)
    best = Incumbent(instance, tiers, instance.current)
    assert lazy.lazy
    few = len(lazy.cp.proto.constraints)
    solve_tiers(lazy, Budget(Deadline(None), workers=1), best, closed=best.closed)
    assert not check(instance, best.placement)
    assert best.values == solved(instance, tiers).bounds
    assert best.optimal
    assert not lazy.lazy
    assert len(lazy.cp.proto.constraints) > few


def test_lazy_constraints_stay_out_where_as_few_as_can_be_are_evicted() -> None:
    instance = _spared("unplaced", "evictions", "nodes_in_use")
    lazy = PlacementModel(instance, lazy=True)
    best = Incumbent(instance, tiers_of(instance), world.placed(instance, waits=["b"]))
    solve_tiers(lazy, Budget(Deadline(None), workers=1), best, closed=best.closed)
    assert best.optimal
    assert lazy.lazy


class _Deaf(Incumbent):
    """Takes what comes from elsewhere, and nothing from the solver."""

    def offer(
        self, placement: Placement, by: str = "", *, legal: bool = False, as_good: bool = False
    ) -> bool:
        return False


def test_what_is_closed_holds_for_all_that_is_no_worse_than_its_locks() -> None:
    whole = {"podSets": [{"count": 1, "requests": {"cpu": "4"}}]}
    there = {"podSets": [{**whole["podSets"][0], "assignments": [{"node": "n", "count": 1}]}]}
    instance = question(
        [{"name": "n", "allocatable": {"cpu": "4"}}],
        [{"name": "runs", "priority": 0, **there}],
        [{"name": "waits", "priority": 5, **whole}],
    ).instance(model("unplaced", "evictions"))
    tiers = tiers_of(instance)
    better = Placement(({}, {Spot(0): 1}))
    values = [measure(instance, each, tiers) for each in (instance.current, better)]
    assert not check(instance, better)
    last = len(tiers) - 1
    assert values[1][:last] < values[0][:last], "it is better above"
    assert values[1][last] > values[0][last], "and worse below"

    incumbent = _Deaf(instance, tiers, instance.current)
    incumbent.prove(Bound(last, values[1][last], values[1][:last], "cp-sat"))
    news = iter([instance.current] * last + [better])
    closed: list[tuple[int, int, tuple[int, ...]]] = []
    solve_tiers(
        PlacementModel(instance),
        Budget(Deadline(None), workers=1),
        incumbent,
        closed=lambda *fact: closed.append(fact),
        refresh=lambda: incumbent.adopt(next(news)),
    )
    assert len(closed) == len(tiers)
    for tier, bound, locks in closed:
        for each in values:
            if all(value <= lock for value, lock in zip(each, locks, strict=False)):
                assert bound <= each[tier], (tier, bound, locks)
