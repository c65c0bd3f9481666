"""Loads drawn at random: what they came to, what they are drawn from, and what seeds repeat."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from math import sqrt
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.errors import UsageError
from kantopt.schema.base import API_VERSION
from kantopt.schema.consistency import check_snapshot, check_trace
from kantopt.schema.duration import duration_seconds
from kantopt.schema.gangs import GPU, gang_of
from kantopt.schema.snapshot import ClusterSnapshot, Node, NodeDevices
from kantopt.schema.trace import Trace, TraceJob
from kantopt.simulate.workload.acme import KALOS, PROFILES, SEREN, Profile
from kantopt.simulate.workload.arrivals import draw_arrivals
from kantopt.simulate.workload.cluster import Gpus, empty_cluster, gpus_of
from kantopt.simulate.workload.generate import MOST_JOBS, Load, draw_trace
from kantopt.simulate.workload.outages import draw_outages
from kantopt.simulate.workload.sizes import Sizes

DAY = 86_400
CLUSTER = Gpus(512, 8)


def gpus_in(job: TraceJob) -> int:
    return sum(podset.count * int(podset.requests[GPU]) for podset in job.pod_sets)


def offered_load(trace: Trace, gpus: int, seconds: int) -> float:
    work = sum(gpus_in(job) * duration_seconds(job.duration) for job in trace.jobs)
    return work / (gpus * seconds)


def drawn(load: Load, gpus: Gpus = CLUSTER, seed: int = 1) -> Trace:
    return draw_trace(load, gpus, [], "drawn", seed)


@settings(max_examples=20)
@given(
    st.sampled_from(sorted(PROFILES)),
    st.sampled_from([64, 512, 2048]),
    st.sampled_from([0.3, 0.9, 1.2]),
    st.integers(0, 10**6),
    st.sampled_from([0.0, 0.4]),
)
def test_the_offered_load_is_the_one_asked_for_to_half_a_percent(
    name: str, gpus: int, load: float, seed: int, inference: float
) -> None:
    asked = Load(PROFILES[name], load=load, seconds=3 * DAY, inference=inference)
    trace = drawn(asked, Gpus(gpus, 8), seed)
    found = offered_load(trace, gpus, 3 * DAY)
    assert found == pytest.approx(load, rel=0.005)
    assert f"offered load {found:.4f} " in trace.notes[1]
    arrivals = [duration_seconds(job.arrival) for job in trace.jobs]
    assert arrivals == sorted(arrivals)
    assert max(arrivals) < 3 * DAY
    assert max(gpus_in(job) for job in trace.jobs) <= gpus
    assert check_trace(trace, None, "x") == []


def test_with_a_number_of_jobs_the_span_follows_from_the_load() -> None:
    trace = drawn(Load(KALOS, load=0.8, jobs=300))
    span = int(trace.notes[1].split(" x ")[2].split(" s)")[0])
    assert len(trace.jobs) == 300
    assert offered_load(trace, 512, span) == pytest.approx(0.8, rel=1e-4)


def test_with_a_span_and_a_number_of_jobs_the_load_is_what_it_comes_to() -> None:
    trace = drawn(Load(SEREN, jobs=50, seconds=DAY))
    assert f"offered load {offered_load(trace, 512, DAY):.4f} " in trace.notes[1]


def test_the_same_seed_gives_the_same_trace_and_another_one_another() -> None:
    asked = Load(SEREN, load=0.5, seconds=DAY, users=3, priorities=((1, 1.0), (5, 2.0)))
    assert drawn(asked, seed=3) == drawn(asked, seed=3)
    assert drawn(asked, seed=3) != drawn(asked, seed=4)


def test_users_and_estimates_change_neither_sizes_nor_times() -> None:
    plain = drawn(Load(KALOS, load=0.5, seconds=DAY))
    rich = drawn(Load(KALOS, load=0.5, seconds=DAY, users=9, estimate_factor=3.0))
    for job, other in zip(plain.jobs, rich.jobs, strict=True):
        assert (job.arrival, job.duration, job.pod_sets) == (
            other.arrival,
            other.duration,
            other.pod_sets,
        )
        assert (job.user, job.estimate) == ("", None)
        assert other.estimate is not None
        seconds = duration_seconds(other.duration)
        assert seconds <= duration_seconds(other.estimate) <= 4 * seconds + 1
    assert len({job.user for job in rich.jobs}) > 1


def test_services_are_elastic_have_the_highest_priority_and_their_share_of_gpu_time() -> None:
    even = replace(SEREN, spread=0.5)  # of the usual times 20,000 jobs are too few for a mean
    asked = Load(even, jobs=20_000, load=1.0, inference=0.3, priorities=((1, 1.0), (7, 1.0)))
    trace = drawn(asked)
    services = [job for job in trace.jobs if job.namespace == "inference"]
    assert {job.priority for job in services} == {7}
    assert {job.pod_sets[0].min_count for job in services} == {1}
    assert {job.checkpoint_interval for job in services} == {"1s"}
    assert {job.priority for job in trace.jobs} == {1, 7}
    served, work = (
        sum(gpus_in(job) * duration_seconds(job.duration) for job in jobs)
        for jobs in (services, trace.jobs)
    )
    assert served / work == pytest.approx(0.3, abs=0.03)


def test_own_sizes_take_the_place_of_published_ones() -> None:
    trace = drawn(Load(KALOS, load=0.5, jobs=200, sizes=Sizes((3, 12), (1.0, 1.0))))
    assert {gpus_in(job) for job in trace.jobs} == {3, 12}
    assert "sizes: as asked for" in trace.notes


def test_own_sizes_that_are_larger_than_the_cluster_are_told_or_refused() -> None:
    sizes = Sizes((8, 4096), (3.0, 1.0))
    trace = drawn(Load(KALOS, load=0.5, jobs=50, sizes=sizes))
    assert {gpus_in(job) for job in trace.jobs} == {8}
    assert any("as asked for, without the 25.00% of more than" in note for note in trace.notes)
    with pytest.raises(UsageError, match="found 4096 GPUs at least, expected some of at most"):
        drawn(Load(KALOS, load=0.5, jobs=50, sizes=Sizes((4096,), (1.0,))))


def test_a_trace_of_more_than_a_million_jobs_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MOST_JOBS == 1_000_000
    monkeypatch.setattr("kantopt.simulate.workload.generate.MOST_JOBS", 100)
    with pytest.raises(UsageError, match="expected at most 100"):
        drawn(Load(SEREN, load=0.9, seconds=30 * DAY))


PUBLISHED = {"kalos": (26.77, 1259.689, 124.0), "seren": (5.68, 1414.335, 122.0)}
"""Mean GPUs, mean and median seconds of the jobs, to hold the tables against."""


@pytest.mark.parametrize(("profile", "size", "time"), [(KALOS, 0.01, 0.01), (SEREN, 0.2, 0.2)])
def test_tables_have_the_published_means(profile: Profile, size: float, time: float) -> None:
    """Of Seren, a hundredth of a percent at 1,024 GPUs is a tenth of a GPU of the mean."""
    sizes, (gpus_published, seconds_published, _) = profile.sizes(), PUBLISHED[profile.name]
    assert sizes.mean() == pytest.approx(gpus_published, rel=size)
    shares = [weight / sum(sizes.weights) for weight in sizes.weights]
    mean = sum(s * profile.mean_of(gpus) for s, gpus in zip(shares, sizes.gpus, strict=True))
    assert mean == pytest.approx(seconds_published, rel=time)


@pytest.mark.parametrize("profile", [KALOS, SEREN], ids=lambda profile: profile.name)
def test_run_times_drawn_have_the_mean_of_their_size_and_the_median_of_all(
    profile: Profile,
) -> None:
    rng = random.Random(5)
    often = [profile.draw(8, rng) for _ in range(100_000)]
    assert sum(often) / len(often) == pytest.approx(profile.mean_of(8), rel=0.05)
    sizes = profile.sizes()
    times = sorted(profile.draw(sizes.draw(rng), rng) for _ in range(50_000))
    assert times[25_000] == pytest.approx(PUBLISHED[profile.name][2], rel=0.05)


def test_a_cut_takes_nothing_from_the_mean() -> None:
    rng, short = random.Random(5), replace(SEREN, longest_seconds=5000)
    times = [short.draw(8, rng) for _ in range(50_000)]
    assert max(times) == 5000
    assert sum(times) / len(times) == pytest.approx(short.mean_of(8), rel=0.02)


@pytest.mark.data
@pytest.mark.parametrize("profile", [KALOS, SEREN], ids=lambda profile: profile.name)
def test_tables_are_those_of_the_published_picture(profile: Profile) -> None:
    if "KANTOPT_DATA" not in os.environ:
        pytest.skip("needs the Acme files: KANTOPT_DATA is not set")
    path = Path(os.environ["KANTOPT_DATA"]) / "acme" / "gpus_per_job_cdf.txt"
    lines = path.read_text(encoding="utf-8").splitlines()
    for k, what in ((1, "jobs"), (2, "GPU time")):
        start = f"CDF of {what} {profile.name.capitalize()} "
        line = next(line for line in lines if line.startswith(start))
        vertices = [tuple(map(float, word.split(":"))) for word in line[len(start) :].split()]
        total = 0.0
        for row, after in zip(profile.table, (*profile.table[1:], (10**9, 0.0, 0.0)), strict=True):
            total += row[k]
            # Steps of the picture lean by up to two GPUs.
            end = after[0] - (0.5 if after[0] < 300 else 2)
            below = max(percent for gpus, percent in vertices if gpus < end)
            assert total == pytest.approx(below, abs=0.011), row


def test_diurnal_jobs_come_in_the_afternoon() -> None:
    arrivals = draw_arrivals(20_000, 10 * DAY, "diurnal", random.Random(1))
    hours = [at % DAY // 3600 for at in arrivals]
    by_day, by_night = sum(11 <= h < 17 for h in hours), sum(h < 5 or h == 23 for h in hours)
    # The integral of 1 + 0.6 cos over six hours around its peak, and its trough.
    assert by_day / len(hours) == pytest.approx(0.25 + 0.6 * sqrt(2) / 2 / 3.14159, abs=0.01)
    assert by_night / len(hours) == pytest.approx(0.25 - 0.6 * sqrt(2) / 2 / 3.14159, abs=0.01)


def test_poisson_arrivals_are_even() -> None:
    arrivals = draw_arrivals(20_000, 10 * DAY, "poisson", random.Random(1))
    assert sum(at < DAY for at in arrivals) == pytest.approx(2000, abs=150)


def test_outages_of_a_node_do_not_overlap_and_have_their_share_of_the_time() -> None:
    names = [f"n{i}" for i in range(50)]
    outages = draw_outages(names, 100 * DAY, 9 * DAY, DAY, random.Random(2))
    down = 0
    until: dict[str, int] = {}
    for outage in outages:
        at, lasts = duration_seconds(outage.at), duration_seconds(outage.lasts)
        assert at > until.get(outage.node, -1)
        assert at < 100 * DAY
        until[outage.node] = at + lasts
        down += lasts
    assert down / (50 * 100 * DAY) == pytest.approx(0.1, abs=0.02)


def test_an_empty_cluster_is_sound_and_has_its_gpus_and_leaves() -> None:
    snapshot = empty_cluster(70, 8, 32, 2)
    assert check_snapshot(snapshot, "x") == []
    assert gpus_of(snapshot) == Gpus(560, 8)
    assert len({node.labels["leaf"] for node in snapshot.nodes}) == 3
    assert len({node.labels["block"] for node in snapshot.nodes}) == 2


def test_gpus_that_are_devices_are_asked_for_as_devices() -> None:
    one = NodeDevices(device_class="gpu", count=4, capacity={"gpu": 1})
    snapshot = ClusterSnapshot(
        api_version=API_VERSION, kind="ClusterSnapshot", nodes=(Node(name="n", devices=(one,)),)
    )
    gpus = gpus_of(snapshot)
    assert gpus == Gpus(4, 4, "gpu", "gpu")
    podset = gang_of(3, 4, gpus.resource, gpus.device_class)[0]
    assert (podset.devices[0].count, podset.devices[0].requests) == (3, {"gpu": 1})


def test_a_cluster_without_gpus_is_refused() -> None:
    snapshot = ClusterSnapshot(
        api_version=API_VERSION, kind="ClusterSnapshot", nodes=(Node(name="n"),)
    )
    with pytest.raises(UsageError, match="found no GPUs"):
        gpus_of(snapshot)
