"""Reading took all the time: a small question has a look all the same, a large one says so."""

from __future__ import annotations

import itertools
import os
import signal

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.solving.messages import search_task
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.solver_process import NO_TIME, SolverProcess
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound
from tests.planning.test_plan import PODS_FIRST, job, node
from tests.questions import model, question


def test_no_time_at_all_is_still_enough_for_a_look_at_a_small_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "kantopt.planning.solving.run.SMALL", 60.0
    )  # whatever else the machine does
    monkeypatch.setattr("kantopt.shares.LEAST", 30.0)
    asked = question([node("a", 4)], [], [job("j", 2)])
    result = make_plan(asked, model(*PODS_FIRST), Options(), Deadline(0.0))
    assert result.plan.summary.placed_pods == 1
    assert "reading took all the time: the search had 30.0 s more" in result.plan.warnings


def test_a_question_is_small_though_the_machine_is_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count()  # a second passes whenever it is looked at, whoever works
    monkeypatch.setattr("kantopt.planning.solving.run.elapsed", lambda: float(next(clock)))
    monkeypatch.setattr("kantopt.shares.LEAST", 30.0)
    asked = question([node("a", 4)], [], [job("j", 2)])
    result = make_plan(asked, model(*PODS_FIRST), Options(), Deadline(0.0))
    assert result.plan.summary.placed_pods == 1


def test_of_a_large_question_no_time_at_all_means_the_null_plan_which_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kantopt.planning.solving.run.SMALL", 0.0)  # as if judging took its time
    asked = question([node("a", 4)], [], [job("j", 2)])
    result = make_plan(asked, model(*PODS_FIRST), Options(), Deadline(0.0))
    assert result.plan.solver.status == "UNKNOWN"
    assert not result.plan.summary.changes
    assert result.plan.unplaced[0].rule == "not examined"
    assert {tier.status for tier in result.plan.objectives} == {"UNKNOWN"}


def stopped_solver(search: Instance, *, proved: bool) -> list[str]:
    """Warnings of a solver's process that never came to speak, by whether all is proved without."""
    process = SolverProcess()
    os.kill(process.pid or 0, signal.SIGSTOP)
    tiers = tiers_of(search)
    incumbent = Incumbent(search, tiers, search.current)
    with process:
        process.begin(search_task(incumbent, Options(), Deadline.within(30.0), 1, ()), incumbent)
        values = incumbent.values
        for tier in range(len(tiers) if proved else 0):
            bound = Bound(tier, values[tier], tuple(values[:tier]), "cp-sat")
            incumbent.prove(bound, "somebody else")
        assert incumbent.optimal == proved
    return process.warnings


@pytest.mark.parametrize("proved", [True, False])
def test_it_was_not_time_that_the_exact_search_lacked_where_all_is_proved_before_it_speaks(
    proved: bool,
) -> None:
    asked = question([node("a", 4)], [], [job("j", 2)]).instance(model(*PODS_FIRST))
    assert stopped_solver(asked, proved=proved) == ([] if proved else [NO_TIME])
