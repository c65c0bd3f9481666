"""Metrics over time of histories made by hand, and what holds of all."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kantopt.simulate.figures import measure
from kantopt.simulate.history import History, PlanRecord, Stay
from kantopt.simulate.metrics.catalogue import GROUPS
from kantopt.simulate.metrics.gpu_time import Parts, gpu_time
from kantopt.simulate.metrics.slowdown import bounded_slowdown
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.window import Window
from tests.simulate.histories import drawn, job, sample

NAMES = {name for group in GROUPS for name in group.metrics}


def values(
    history: History, begin: int = 0, end: int | None = None
) -> dict[tuple[str, str], Value]:
    found = measure(Window(history, begin, end), every=10)
    by_name = {(value.metric, value.scope): value for value in found}
    assert len(by_name) == len(found)
    assert {value.metric for value in found} <= NAMES
    return by_name


def busy() -> History:
    """100 ms: 4 of 16 GPUs are bound, then all of 8 that are healthy, then none of 16."""
    return History(
        "p",
        "t",
        horizon=100,
        capacity=16_000,
        samples=[
            sample(
                0,
                reserved=4000,
                running=3000,
                fragmented=1,
                stranded=4000,
                lost_quota=1000,
                lost_topology=2000,
                lost_fragmentation=3000,
                lost_waiting=4000,
                largest_gang=8000,
            ),
            sample(50, healthy=8000, nodes=1, reserved=8000, running=8000),
            sample(80, largest_gang=16_000),
        ],
    )


def test_allocation_is_of_healthy_gpus_and_occupancy_of_all() -> None:
    found = values(busy())
    assert found["gar_mean", ""].value == pytest.approx((50 * 4 / 16 + 30 * 1 + 20 * 0) / 100)
    assert found["gar_median", ""].value == 0.25  # five times 1/4, three 1, two 0
    assert found["sor_reserved", ""].value == pytest.approx((50 * 4 + 30 * 8) / (100 * 16))
    assert found["sor_running", ""].value == pytest.approx((50 * 3 + 30 * 8) / (70 * 16 + 30 * 8))


def test_fragmentation_is_of_healthy_nodes() -> None:
    found = values(busy())
    assert found["gfr_mean", ""].value == pytest.approx(0.5 * 50 / 100)
    assert found["gfr_median", ""].value == 0.25
    assert found["stranded_mean", ""].value == 2000
    assert found["largest_gang_mean", ""].value == (50 * 8000 + 20 * 16_000) / 100
    assert found["largest_gang_min", ""].value == 0


def test_gpu_time_goes_where_the_samples_say() -> None:
    measured = {value.metric: value.value for value in gpu_time(Window(busy(), 40, 90))}
    found = {name: value for name, value in measured.items() if name.endswith("_time")}
    assert measured["running_share"] == (10 * 3000 + 30 * 8000) / (50 * 16_000)
    assert found == {
        "capacity_time": 50 * 16_000,
        "running_time": 10 * 3000 + 30 * 8000,
        "restarting_time": 10 * 1000,
        "idle_time": 10 * 2000 + 10 * 16_000,
        "waiting_time": 10 * 4000,
        "fragmentation_time": 10 * 3000,
        "topology_time": 10 * 2000,
        "quota_time": 10 * 1000,
        "failed_time": 30 * 8000,
    }


@given(st.integers(0, 10**6), st.integers(0, 40_000), st.integers(1, 500_000))
def test_the_parts_of_gpu_time_add_up_to_all_of_it(seed: int, begin: int, length: int) -> None:
    window = Window(drawn(seed, jobs=8), begin, begin + length)
    found = {value.metric: value.value for value in gpu_time(window)}
    assert all(isinstance(value, int) for name, value in found.items() if name.endswith("_time"))
    assert found["capacity_time"] == window.history.capacity * window.length
    assert sum(found[f"{part}_time"] for part in Parts._fields) == found["capacity_time"]


@given(st.integers(0, 10**6))
def test_bound_gpu_time_is_that_of_the_stays(seed: int) -> None:
    history = drawn(seed, jobs=8)
    found = values(history)
    stays = sum(stay.gpus * (stay.end - stay.begin) for stay in history.stays)
    working = sum(stay.gpus * (stay.end - stay.working) for stay in history.stays)
    reserved = found["running_time", ""].value + found["restarting_time", ""].value
    assert (reserved, found["running_time", ""].value) == (stays, working)
    whole = history.capacity * history.horizon
    assert found["sor_reserved", ""].value == pytest.approx(stays / whole)
    used = [value.value for (name, _), value in found.items() if name == "share_used"]
    assert sum(used) == pytest.approx(stays / whole)
    entitled = [value.value for (name, _), value in found.items() if name == "share_entitled"]
    assert sum(entitled) <= 1 + 1e-9


def with_jobs(*jobs: dict[str, object], horizon: int = 1_000_000) -> History:
    records = [job(f"n/{i}", **given) for i, given in enumerate(jobs)]
    return History("p", "t", horizon, 16_000, records, [], [sample()])


def test_waiting_counts_those_that_still_wait_by_size() -> None:
    found = values(
        with_jobs(
            {"gpus": 8000, "arrival": 0, "started": 100},
            {"gpus": 8000, "arrival": 50, "started": 350},
            {"gpus": 8000, "arrival": 999_900},
            {"gpus": 500, "started": 0},
            {"gpus": 8000, "refused": "no node has so many"},
        )
    )
    eight = {name: value for (name, scope), value in found.items() if scope == "8"}
    assert eight["wait_jobs"].value == 3
    assert eight["wait_censored"].value == 1
    # One of three ends at 100, where another is censored; the last one of all ends at 300.
    assert eight["wait_p50"] == Value("wait_p50", 300, "8")
    assert eight["wait_mean"].value == pytest.approx(100 + 200 * 2 / 3)
    assert eight["wait_max"] == Value("wait_max", 300, "8", at_least=True)
    assert found["wait_p99", "1"].value == 0
    assert found["wait_jobs", "all"].value == 4
    assert found["jobs_refused", ""].value == 1


def test_who_starts_after_the_end_of_the_window_waits_at_its_end() -> None:
    found = values(with_jobs({"arrival": 10, "started": 90}), end=60)
    assert found["wait_censored", "all"].value == 1
    assert found["wait_p50", "all"] == Value("wait_p50", 50, "all", at_least=True)
    assert found["jobs_started", ""].value == 0


def test_closeness_is_over_the_fewest_and_of_several_pods() -> None:
    placed = {"gpus": 16_000, "pods": 2, "started": 5, "least_nodes": 2, "least_groups": 1}
    found = values(
        with_jobs(
            {**placed, "nodes": 2, "groups": 1},
            {**placed, "nodes": 3, "groups": 2},
            {**placed, "nodes": 3, "groups": 1},
            {**placed, "nodes": 9, "pods": 1},
            {**placed, "nodes": 9, "started": None},
        )
    )
    assert found["d_node_jobs", "9-63"].value == 3
    assert found["d_node_p50", "9-63"].value == 1.5
    assert found["d_node_at_one", "9-63"].value == pytest.approx(1 / 3)
    assert found["d_group_max", "all"].value == 2
    assert found["d_group_at_one", "all"].value == pytest.approx(2 / 3)


def test_slowdown_takes_short_jobs_for_longer_ones() -> None:
    assert bounded_slowdown(job(arrival=1000, ended=31_000, duration=20_000)) == 1.5
    assert bounded_slowdown(job(ended=30_000, duration=1)) == 3
    assert bounded_slowdown(job(ended=2000, duration=1000)) == 1
    with pytest.raises(ValueError, match="is not done"):
        bounded_slowdown(job())
    found = values(with_jobs({"ended": 120_000}, {"ended": None}, {"ended": 60_000}))
    assert found["slowdown_mean", "all"].value == 1.5
    assert found["slowdown_unfinished", "1"].value == 1


def test_disturbances_are_those_of_jobs_of_the_window() -> None:
    told = with_jobs(
        {"evictions": 9, "lost": 9, "moves": 9},
        {"arrival": 20, "evictions": 2, "lost": 50, "moves": 4, "backfilled": True},
    )
    told.stays = [Stay(i, 30, 30, 40, 1000, "failed") for i in (0, 1)]
    found = values(told, begin=10)
    names = ("jobs_arrived", "jobs_backfilled", "evictions", "failures", "moved_pods", "lost_time")
    assert [found[name, ""].value for name in names] == [1, 1, 2, 1, 4, 50]


def test_plans_are_those_of_the_window_and_some_are_proved() -> None:
    history = busy()
    assert not values(history).keys() & {("plans_made", ""), ("plans_proved", "")}
    history.plans = [PlanRecord(at, at < 60) for at in range(0, 100, 20)]
    found = values(history, begin=40)
    assert found["plans_made", ""].value == 3
    assert found["plans_proved", ""].value == pytest.approx(1 / 3)
