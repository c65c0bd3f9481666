"""How long a job's plan of least disturbance is looked for."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from kantopt import shares
from kantopt.clock import Deadline
from kantopt.cp.reach import least_disturbance
from kantopt.planning.explain.verdict import climb
from kantopt.problem.derived.focus import focused
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


@pytest.mark.parametrize(("victims", "least"), [(300, True), (3_000_000, False)])
def test_evictions_of_any_cost_come_before_moves(victims: int, least: bool) -> None:
    jobs = [
        job("r", pods(count=victims, on=["a"] * victims, minCount=1), disruptionCost=10_000_000),
        job("new", pods(cpu=51), priority=5),
    ]
    nodes = [node("a", cpu=victims), node("b", cpu=50)]
    merged = question(nodes, jobs, rules={"priority": "counts"}, required=["new"])
    found, fewest = least_disturbance(merged, decide._DISTURBANCE, Deadline.within(20.0))
    assert found.placement is not None
    assert decide._cost(merged, found.placement, decide._DISTURBANCE) == (10_000_000, 50)
    assert fewest is least


def test_while_more_may_be_asked_it_is_said_what_is_not_decided() -> None:
    full = job("r", pods(gpu=8, on=["n"]))
    instance = question([node("n", gpu=8)], [full, job("j", pods(gpu=8), priority=9)])
    first, second, *_ = climb(focused(instance, 1), 1, Deadline.within(60))
    assert [each.verdict.message for each in (first, second)] == [
        "OPEN: it does not fit as it stands; whether it fits after moves or after evictions was "
        "not decided in time (--time-limit).",
        "OPEN: it does not fit even after moves; whether it fits after evictions was not decided "
        "in time (--time-limit).",
    ]
