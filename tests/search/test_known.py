"""Searches that go on from a placement by themselves know what others have proved of it."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.cp.descent import Descent
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.chains import chain
from kantopt.search.chains.improve import improve
from kantopt.search.chains.packing import Packing
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound
from kantopt.search.techniques import disruption_columns, neighbourhoods
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.search.helpers import Told
from tests.verify.world import job, node, placed, pods, question

OBJECTIVES = [{"unplaced": {"unit": "pod"}}, "evictions", "moves"]


def one_too_many() -> tuple[Instance, Placement]:
    """Nodes of 3, 3 and 8 hold six pods of 2 and not the seventh, whatever all cores would hold.

    Nothing that arithmetic says. Where the search begins, the one that runs has moved in vain.
    """
    nodes = [node("a", cpu=3), node("b", cpu=3), node("c", cpu=8)]
    waiting = [job(f"w{i}", pods(cpu=2)) for i in range(6)]
    running = job("r", pods(cpu=2, on=["c"]))
    instance = question(nodes, [running, *waiting], objectives=OBJECTIVES)
    start = placed(instance, r=["a"], w0=["b"], w1=["c"], w2=["c"], w3=["c"], w4=["c"])
    assert check(instance, start) == []
    assert measure(instance, start, tiers_of(instance)) == (1, 0, 1)
    return instance, start


def told_of() -> Told:
    instance, start = one_too_many()
    return Told(instance, start=start)


def test_neighbourhoods_do_not_look_for_less_than_is_proved(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk, asked = told_of().desk, []

    def descend(*args: Any, **_: Any) -> Descent:
        asked.append(args[4])
        return Descent(None, closed=True)

    assert desk.incumbent.floors == (0, 0, 0)
    desk.proved(0, 1, (), "cp-sat")
    monkeypatch.setattr(neighbourhoods, "descend", descend)
    neighbourhoods.nearby(desk, Deadline.within(0.2))
    assert set(asked) == {(1, 0, 0)}


def test_columns_do_not_look_for_less_than_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, known = told_of().desk, []
    monkeypatch.setattr(
        disruption_columns, "least_disruption", lambda best, *_: known.append(best.known)
    )
    disruption_columns.disruption(desk, Deadline.within(1.0))
    assert known == [desk.incumbent.known]


@pytest.mark.parametrize("proved", [False, True])
def test_chains_try_for_those_who_wait_only_while_more_may_be_placed(
    proved: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance, start = one_too_many()
    best, tried = Incumbent(instance, tiers_of(instance), start), []
    if proved:
        best.prove(Bound(0, 1, (), "cp-sat"))

    def put(packing: Packing, g: int, noise: float) -> bool:
        tried.append(packing.key[1])
        return before(packing, g, noise)

    before = chain.put
    monkeypatch.setattr(chain, "put", put)
    improve(best, Deadline(1.0, deterministic=True), patience=40)
    assert best.values == (1, 0, 0)
    assert tried
    assert (min(tried) == 1) != proved, "one is left out, and another try is in vain"
