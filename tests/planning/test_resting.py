"""Chains beside CP-SAT where processors are short: they work for a while, and rest for longer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from kantopt.planning import together
from kantopt.problem.placement import Placement
from kantopt.search.schedule import CP_SAT, NEIGHBOURHOODS
from kantopt.shares import LONGEST_REST, RESTS


@pytest.mark.parametrize(
    ("at_work", "worked", "rests"),
    [
        (CP_SAT.name, 0.01, [0.01 * RESTS]),
        (CP_SAT.name, 9.0, [LONGEST_REST]),
        (NEIGHBOURHOODS.name, 0.01, []),
    ],
)
def test_chains_rest_for_longer_than_they_worked_while_cp_sat_is_at_work(
    at_work: str, worked: float, rests: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    now, slept = [5.0], list[float]()
    monkeypatch.setattr(together, "elapsed", lambda: now[0])
    monkeypatch.setattr(together, "sleep", slept.append)
    news = Placement(())
    process: Any = SimpleNamespace(by=at_work, look=lambda: news)
    look = together.resting(process)
    now[0] += worked
    assert look() is news
    assert slept == pytest.approx(rests)
    assert look() is news
    assert sum(slept) == pytest.approx(sum(rests))  # no work since
