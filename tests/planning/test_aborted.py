"""A solver that aborts of itself: told in one line, and tried again another way."""

from __future__ import annotations

import os

import pytest

from kantopt.planning.question import Question
from kantopt.search import schedule
from kantopt.search.engine.desk import Desk
from tests.planning.test_plan import PODS_FIRST, planned
from tests.questions import model, question

WORDS = "F0000 presolve.cc:1] Check failed: context_->VarToConstraints(var).empty()"


def _aborting(monkeypatch: pytest.MonkeyPatch, *, always: bool) -> None:
    plain = schedule.search

    def search(desk: Desk) -> bool:
        if always or not desk.budget.plain:
            os.write(2, f"{WORDS}\n*** stack trace ***\n".encode())
            os.abort()
        return plain(desk)

    monkeypatch.setattr(schedule, "search", search)


def _asked() -> Question:
    nodes = [{"name": f"n{i}", "allocatable": {"cpu": 3}} for i in range(4)]
    jobs = [
        {"name": f"j{i}", "podSets": [{"count": 1, "requests": {"cpu": 1 + i % 2}}]}
        for i in range(7)
    ]
    return question(nodes, [], jobs)


@pytest.mark.parametrize("always", [False, True])
def test_a_solver_that_aborts_is_tried_again_without_presolve_once(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], always: bool
) -> None:
    _aborting(monkeypatch, always=always)
    wanted = model(*PODS_FIRST, "nodes_in_use")
    plan = planned(_asked(), wanted, engine="exact").plan
    aborts = [text for text in plan.warnings if "SIGABRT" in text]
    assert len(aborts) == 1 + always
    assert f"(signal SIGABRT: {WORDS})" in aborts[0]
    assert "the exact search has begun anew without presolve" in plan.warnings
    assert plan.solver.status == ("FEASIBLE" if always else "OPTIMAL")
    assert plan.summary.placed_pods == 7
    assert capfd.readouterr().err == ""
