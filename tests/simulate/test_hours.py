"""Rounds of defragmentation, and their waves, within the hours of a policy's window."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.simulate.carried import deeds_of
from tests.simulate.worlds import job, policy, simulated, snapshot, trace


def test_rounds_keep_to_their_hours() -> None:
    how = policy(
        placement={"strategy": "least-allocated"},
        defragmentation={"period": "1h", "timeLimit": "2s", "window": "22:00-06:00"},
    )
    course = trace(job("a", 36_000, 86_400, 2), job("b", 36_000, 86_400, 2))
    history = simulated(snapshot(8, 8), course, how)
    assert next(each.end // 1000 for each in history.stays) == 22 * 3600 + 2


def test_no_wave_of_moves_is_made_once_its_hours_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(*asked: Any) -> list[Any]:
        return [[deed] for wave in deeds_of(*asked) for deed in wave]

    monkeypatch.setattr("kantopt.simulate.planned.deeds_of", one_by_one)
    how = policy(
        placement={"strategy": "least-allocated"},
        defragmentation={
            **{"period": "1h", "timeLimit": "2s", "waveTime": "10m"},
            "window": "01:00-01:10",
        },
    )
    course = trace(*(job(name, 0, 86_400 + 10, 2) for name in "abcd"))
    history = simulated(snapshot(8, 8, 8, 8), course, how)
    moved = [each.end // 1000 for each in history.stays if each.reason == "moved"]
    assert moved == [3602, 86_400 + 3602][: len(moved)]
    assert moved
