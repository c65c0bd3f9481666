"""The search tier by tier: where it starts, and that it never ends worse."""

from __future__ import annotations

import pytest
from ortools.sat.python import cp_model

from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.solve import Budget
from kantopt.problem.tiers import tiers_of
from kantopt.search.construct import construct
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.generate import random_instance
from tests.questions import hard_question, model
from tests.solved import solved

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
    start = construct(instance, Deadline(None), Strategy.BEST_FIT)
    tiers = tiers_of(instance)
    for work in (0.01, 0.05, 0.2):
        budget = Budget(Deadline(None), workers=1, work=work)
        outcome = solved(instance, tiers, start, budget)
        assert outcome.placement is not None
        assert measure(instance, outcome.placement, tiers) <= measure(instance, start, tiers)


def test_where_work_is_counted_no_thread_stops_another() -> None:
    counted = Budget(Deadline(None), workers=4, work=0.1)
    assert counted.threads == 1
    assert {"num_workers=1", "interleave_search=true"} <= set(counted.parameters())
    assert Budget(Deadline(None), workers=4).threads == 4
