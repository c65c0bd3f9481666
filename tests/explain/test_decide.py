"""How long a job's plan of least disturbance is looked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kantopt import shares
from kantopt.clock import Deadline
from kantopt.search.explain import decide
from kantopt.search.explain.decide import Decision
from tests.verify.world import job, node, placed, pods, question


@pytest.mark.parametrize(
    ("moved", "share"), [(1, shares.LESS_DISTURBANCE), (9, shares.LEAST_DISTURBANCE)]
)
def test_a_plan_that_disturbs_many_has_as_long_a_look_as_none(
    monkeypatch: pytest.MonkeyPatch, moved: int, share: tuple[float, float, float]
) -> None:
    asked: list[float] = []

    def look(_: object, __: object, deadline: Deadline) -> object:
        asked.append(deadline.remaining())
        return SimpleNamespace(placement=None, impossible=False), False

    monkeypatch.setattr(decide, "least_disturbance", look)
    jobs = [job("r", pods(count=10, on=["a"] * 10)), job("new", pods())]
    instance = question([node(name, cpu=10) for name in "ab"], jobs)
    plan = placed(instance, r=["b"] * moved + ["a"] * (10 - moved), new=["a"])
    decide._merged(instance, 1, Decision(plan), Deadline.within(8.0))
    least, part, most = share
    assert asked == [pytest.approx(min(most, max(least, part * 8.0)), abs=0.3)]
