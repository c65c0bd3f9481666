"""Fair shares over time: cases by hand, and a sweep millisecond by millisecond."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.simulate.history import History, Stay
from kantopt.simulate.metrics.owners import owners
from kantopt.simulate.metrics.window import Window
from tests.simulate.histories import drawn, job, sample


def shares(
    history: History, begin: int = 0, weights: dict[str, int] | None = None
) -> dict[tuple[str, str], float]:
    window = Window(history, begin)
    found = owners(window, lambda each: each.user, weights or {})
    return {(value.metric, value.scope): value.value for value in found}


def two() -> History:
    """Ann has 12 of 16 GPUs; Bob wants 8 from 40 on and has 4 from 60 on; Ann ends at 80."""
    return History(
        "p",
        "t",
        100,
        16_000,
        [
            job("n/a", user="ann", gpus=12_000, started=0, ended=80),
            job("n/b", user="bob", gpus=4000, arrival=40, started=60),
            job("n/c", user="bob", gpus=4000, arrival=40),
        ],
        [Stay(0, 0, 0, 80, 12_000, "finished"), Stay(1, 60, 60, 100, 4000, "horizon")],
        [
            sample(0, reserved=12_000),
            sample(60, reserved=16_000),
            sample(80, reserved=4000),
        ],
    )


def test_each_has_a_share_of_what_all_who_want_something_are_entitled_to() -> None:
    found = shares(two())
    whole = 16_000 * 100
    assert found["share_used", "ann"] == pytest.approx(80 * 12_000 / whole)
    assert found["share_used", "bob"] == pytest.approx(40 * 4000 / whole)
    # Alone Ann is entitled to all that she wants, 12; with Bob to half of 16.
    assert found["share_entitled", "ann"] == pytest.approx((40 * 12_000 + 40 * 8000) / whole)
    assert found["share_entitled", "bob"] == pytest.approx(60 * 8000 / whole)
    assert found["shortfall_max", "ann"] == 0
    assert found["shortfall_max", "bob"] == 8000
    assert found["shortfall_mean", "bob"] == pytest.approx((20 * 8000 + 40 * 4000) / 100)


def test_weights_and_the_window_count() -> None:
    assert shares(two(), weights={"ann": 3})["shortfall_max", "bob"] == 4000
    later = shares(two(), begin=90)
    assert ("share_used", "ann") not in later
    assert later["shortfall_max", "bob"] == 4000


def test_what_jobs_of_the_snapshot_hold_nobody_is_entitled_to() -> None:
    told = two()
    told.samples = [sample(0, reserved=12_000, healthy=14_000), sample(60, reserved=16_000)]
    told.samples[1:] = [sample(60, reserved=16_000), sample(80, reserved=12_000)]
    # From 80 on 8 of 16 are held by others; Bob has 4, and is entitled to the 8 that are left.
    assert shares(told, begin=80)["shortfall_max", "bob"] == 4000
    told.samples[-1] = sample(80, reserved=13_000)
    assert shares(told, begin=80)["shortfall_max", "bob"] == 3000


@given(st.integers(0, 10**6), st.dictionaries(st.sampled_from("abc"), st.integers(1, 3)))
def test_the_sweep_is_the_sum_over_all_moments(seed: int, weights: dict[str, int]) -> None:
    history = drawn(seed, jobs=6)
    window = Window(history)
    marks = {span.begin for span in window.spans} | {window.end}
    for record in history.jobs:
        marks |= {record.arrival, record.ended or 0}
    for stay in history.stays:
        marks |= {stay.begin, stay.end}
    times = sorted(marks)
    short = dict.fromkeys("abc", 0)
    most = dict.fromkeys("abc", 0)
    for at, until in pairwise(times):
        now = next(s.sample for s in window.spans if s.begin <= at < s.end)
        used, demand = dict.fromkeys("abc", 0), dict.fromkeys("abc", 0)
        for stay in history.stays:
            if stay.begin <= at < stay.end:
                used[history.jobs[stay.job].user] += stay.gpus
        for record in history.jobs:
            if record.arrival <= at and (record.ended is None or at < record.ended):
                demand[record.user] += record.gpus
        total = sum(weights.get(o, 1) for o in "abc" if demand[o]) or 1
        free = now.healthy - now.reserved + sum(used.values())
        for o in "abc":
            entitled = min(demand[o], weights.get(o, 1) * free // total)
            lack = max(0, entitled - used[o])
            short[o] += lack * (until - at)
            most[o] = max(most[o], lack)
    found = shares(history, weights=weights)
    for o in "abc":
        assert found.get(("shortfall_max", o), 0) == most[o]
        assert found.get(("shortfall_mean", o), 0) == pytest.approx(short[o] / window.length)
