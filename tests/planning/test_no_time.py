"""Reading took all the time: a small question has a look all the same, a large one says so."""

from __future__ import annotations

import itertools

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import make_plan
from kantopt.planning.solving.options import Options
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
