"""Deadlines: when they are over, and what a repeatable run heeds."""

from __future__ import annotations

import signal
import time

import pytest

from kantopt import clock
from kantopt.clock import Deadline, Reserve, Stop, elapsed
from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from scripts.bench.priority_matters import Cell, documents


def test_time_counts_from_the_start_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    assert elapsed() > 0
    monkeypatch.setattr(clock, "_START", time.monotonic() - 100.0)
    assert Deadline(100.0).over()
    assert 0 < Deadline(1000.0).remaining() < 900
    assert not Deadline(None).over()


def test_a_signal_ends_every_deadline_that_carries_the_wish() -> None:
    stop = Stop()
    deadlines = [Deadline(None, stop=stop), Deadline(1e6, True, stop), Deadline(1e6, stop=stop)]
    assert not any(deadline.less(5.0).over() for deadline in deadlines)
    stop.signal = signal.SIGTERM
    assert all(deadline.less(5.0).over() for deadline in deadlines)


def test_work_is_counted_from_the_limit_that_was_asked_for() -> None:
    shorter = Deadline(10.0).less(2.0).less(3.0)
    assert (shorter.at, shorter.asked) == (5.0, 10.0)
    assert Deadline(None).less(2.0).asked is None


def test_a_limit_that_counts_from_now_asks_for_the_same_work_at_any_hour() -> None:
    limit = Deadline.within(30.0, deterministic=True)
    assert (limit.deterministic, limit.asked, limit.less(1.0).asked) == (True, 30.0, 30.0)
    assert 29.0 < limit.remaining() <= 30.0


def test_a_step_gets_no_more_seconds_than_there_are() -> None:
    deadline = Deadline.within(100.0)
    assert 5.0 < deadline.at_most(10.0).remaining() <= 10.0
    assert deadline.at_most(1000.0) == deadline.less(0.0)
    assert Deadline(None).at_most(10.0).at is None


def test_what_one_does_not_use_of_its_share_is_for_those_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(clock, "elapsed", lambda: now)
    shares = []
    for step, share in Deadline(90.0).dealt([30.0, 10.0, 5.0]):
        shares.append(share.remaining())
        now += step
    assert shares == pytest.approx([30.0, 30.0, 50.0])


def test_what_is_kept_for_later_may_change_while_a_deadline_leaves_it() -> None:
    reserve = Reserve(20.0)
    deadline = Deadline.within(100.0).leaving(reserve)
    half = deadline.share(0.5)
    assert 79.0 < deadline.remaining() <= 80.0
    assert 39.0 < half.remaining() <= 40.0
    reserve.seconds = 70.0
    assert 29.0 < deadline.remaining() <= 30.0
    assert half.over()
    assert 49.0 < half.at_least(50.0).remaining() <= 50.0
    assert not Deadline(None).leaving(reserve).over()


@pytest.mark.parametrize("deterministic", [False, True])
def test_only_a_wish_cuts_a_repeatable_run(deterministic: bool) -> None:
    assert not Deadline(None, deterministic).cuts()
    assert Deadline(0.0, deterministic).cuts() is not deterministic
    assert Deadline(None, deterministic, Stop(signal.SIGINT)).cuts()


def test_construction_heeds_a_signal_in_a_repeatable_run_too() -> None:
    made = documents(Cell(4, 4, 2, 105), 7)
    instance = build_instance(made.snapshot, made.pending, load_model("placement-first"))
    late = construct(instance, Deadline(0.0, deterministic=True), How(Strategy.BEST_FIT))
    assert late != instance.current
    stopped = construct(
        instance,
        Deadline(None, deterministic=True, stop=Stop(signal.SIGINT)),
        How(Strategy.BEST_FIT),
    )
    assert stopped == instance.current
