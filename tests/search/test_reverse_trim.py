"""Victims in the order of queue managers: a set with none too many, not the smallest one."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search import offer, portfolio
from kantopt.search.construct import How
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.strategy import Strategy
from tests.search.helpers import FOREVER, built, where
from tests.verify.world import Document, job, node, pods, podset_of, question

TRIM = Strategy.REVERSE_TRIM


def running(name: str, on: list[str], cpu: int, since: int = 0, **more: Any) -> Document:
    start = f"2026-01-01T00:{since:02}:00Z"
    podset = pods(count=len(on), cpu=cpu, minCount=0, on=on)
    return job(name, podset, startTime=start, **{"priority": 1, **more})


def test_victims_go_the_least_important_first_then_the_latest_started() -> None:
    jobs = [
        running("old", ["a"], 2, since=10),
        running("late", ["b"], 2, since=20),
        running("dear", ["c"], 2, since=30, priority=2),
        job("j", pods(cpu=2), priority=9),
    ]
    instance = question([node(name, cpu=2) for name in "abc"], jobs)
    placement = built(instance, TRIM)
    assert where(instance, placement, "late") == {}
    assert where(instance, placement, "j") == {"b": 1}


def test_those_that_are_not_needed_come_back() -> None:
    """Small pods go first and free too little; the large one alone is enough: they return."""
    jobs = [
        running("small", ["a", "a"], 1, since=30),
        running("large", ["b"], 4, since=10),
        job("j", pods(cpu=4), priority=9),
    ]
    instance = question([node("a", cpu=3), node("b", cpu=4)], jobs)
    placement = built(instance, TRIM)
    assert where(instance, placement, "small") == {"a": 2}
    assert where(instance, placement, "large") == {}


def test_what_is_left_may_be_more_than_was_necessary() -> None:
    """Four latecomers on one node make the room; the one old pod on the other would have too."""
    jobs = [
        running("four", ["a"] * 4, 1, since=30),
        running("one", ["b"], 4, since=10),
        job("j", pods(cpu=4), priority=9),
    ]
    instance = question([node("a", cpu=4), node("b", cpu=4)], jobs)
    assert where(instance, built(instance, TRIM), "four") == {}
    assert where(instance, built(instance), "one") == {}


def test_gangs_go_whole_and_nobody_goes_in_vain() -> None:
    gang = job("gang", pods(count=2, cpu=2, on=["a", "b"]), priority=1)
    asked = [gang, job("j", pods(cpu=2), priority=9)]
    instance = question([node("a", cpu=2), node("b", cpu=2)], asked)
    assert where(instance, built(instance, TRIM), "gang") == {}
    asked = [gang, job("j", pods(cpu=3), priority=9)]
    instance = question([node("a", cpu=2), node("b", cpu=2)], asked)
    assert built(instance, TRIM) == instance.current


def test_nothing_is_moved() -> None:
    jobs = [running("r", ["a"], 2), job("j", pods(cpu=4), priority=9)]
    instance = question([node("a", cpu=4), node("b", cpu=3)], jobs)
    placement = built(instance, TRIM, relocate=True)
    assert where(instance, placement, "r") == {}
    assert where(instance, placement, "j") == {"a": 1}


def test_a_plan_that_it_finds_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [
        running("one", ["a"], 2),
        running("two", ["b", "b"], 1),
        job("j", pods(cpu=2), priority=9),
    ]
    instance = question([node("a", cpu=2), node("b", cpu=2)], jobs)
    one, two, pending = (podset_of(instance, name) for name in ("one", "two", "j"))
    frugal = instance.current.replace({one: {}, pending: {Spot(0): 1}})
    dear = instance.current.replace({two: {}, pending: {Spot(1): 1}})

    def construct(_: Instance, __: Deadline, how: How) -> Placement:
        return frugal if how.strategy is TRIM else dear

    for module in (offer, portfolio):
        monkeypatch.setattr(module, "construct", construct)
    tiers = tiers_of(instance)
    best = Incumbent(instance, tiers, instance.current)
    portfolio.run_portfolio(best, FOREVER, ())
    assert best.placement is frugal
    assert best.tally.of("reverse-trim").plans == 1
