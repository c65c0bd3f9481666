"""How near to a placement do moves come that have an order, and what equal pods can do for it."""

from __future__ import annotations

import pytest

from kantopt.problem.difference import difference
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.order.approach import approach, paired
from kantopt.search.order.sequence import sequence
from kantopt.search.slots.care import Caution
from kantopt.verify.metrics import measure
from tests.verify.world import Document, job, node, pods, put, question


def equal_pods_and_another() -> Instance:
    jobs: list[Document] = [
        job(name, pods(cpu=cpu, on=[on]), moveMode="live")
        for name, cpu, on in (("r", 3, "a"), ("s", 3, "b"), ("t", 4, "d"))
    ]
    return question([node(n) for n in "abcd"], jobs)


def test_equal_pods_change_parts_so_that_no_circle_is_left() -> None:
    instance = equal_pods_and_another()
    wanted = put(instance, {"r": ["c"], "s": ["d"], "t": ["b"]})
    better = paired(instance, wanted)
    assert better == put(instance, {"r": ["d"], "s": ["c"], "t": ["b"]})
    waves = sequence(instance, better)
    assert waves is not None
    assert not any(action.stopover for wave in waves for action in wave.actions)
    reached = approach(instance, wanted)
    assert reached.complete
    tiers = tiers_of(instance)
    assert measure(instance, reached.placement, tiers) == measure(instance, wanted, tiers)


def test_equal_pods_that_would_change_places_stay() -> None:
    instance = equal_pods_and_another()
    wanted = put(instance, {"r": ["b"], "s": ["a"], "t": ["c"]})
    assert paired(instance, wanted) == put(instance, {"t": ["c"]})


@pytest.mark.parametrize("limit", [2, 3, None])
def test_moves_for_stop_overs_beyond_the_limit_are_lacking(limit: int | None) -> None:
    jobs: list[Document] = [
        job(name, pods(cpu=cpu, on=[on]), moveMode="live")
        for name, cpu, on in (("r", 4, "a"), ("s", 3, "b"))
    ]
    limits = {} if limit is None else {"moves": limit}
    instance = question([node(n) for n in "abc"], jobs, limits=limits)
    wanted = put(instance, {"r": ["b"], "s": ["a"]})
    reached = approach(instance, wanted)
    assert not reached.stuck
    assert reached.lacking == (1 if limit == 2 else 0)
    assert (reached.placement == wanted) is reached.complete
    assert len(difference(instance, reached.placement).moves) <= 2
    assert sequence(instance, reached.placement) is not None


def test_what_has_no_room_is_left_undone() -> None:
    jobs: list[Document] = [
        job(name, pods(cpu=cpu, on=[on]), moveMode="live")
        for name, cpu, on in (("r", 4, "a"), ("s", 3, "b"), ("t", 1, "c"))
    ]
    instance = question([node(n) for n in "abc"], jobs)
    reached = approach(instance, put(instance, {"r": ["b"], "s": ["a"], "t": ["b"]}))
    assert not reached.complete
    assert sequence(instance, reached.placement) is not None


def test_what_needs_no_stop_over_is_told_before_any_is_looked_for() -> None:
    jobs: list[Document] = [
        job(name, pods(cpu=cpu, on=[on]), moveMode="live")
        for name, cpu, on in (("r", 4, "a"), ("s", 3, "b"), ("t", 1, "c"))
    ]
    instance = question([node(n) for n in "abcd"], jobs)
    told: list[Placement] = []
    wanted = put(instance, {"r": ["b"], "s": ["a"], "t": ["d"]})
    assert approach(instance, wanted, direct=told.append).complete
    assert told == [put(instance, {"t": ["d"]})]
    assert approach(instance, told[0], direct=told.append).complete
    assert len(told) == 1, "all is reached at once"


def test_choices_that_lead_nowhere_and_those_that_get_stuck_widen_the_next() -> None:
    jobs: list[Document] = [
        job(name, pods(cpu=cpu, on=[on]), moveMode="live")
        for name, cpu, on in (("r", 4, "a"), ("s", 3, "b"))
    ]
    instance = question([node(n) for n in "ab"], jobs)
    stuck = approach(instance, put(instance, {"r": ["b"], "s": ["a"]}))
    assert not stuck.complete
    for exact in (False, True):
        caution = Caution((), exact=exact)
        assert (caution.care.price({0: 10}) == 0) is exact
        first = caution.care.within
        caution.widen()
        assert caution.care.within == 2 * first
        caution.learn(stuck)
        assert caution.care.within == 4 * first
        assert caution.care.price({0: 10}) > 0, "where pods got stuck waiting has a price"
