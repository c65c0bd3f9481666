"""Pods that have run for too short a time are not preemptible."""

from __future__ import annotations

import pytest

from kantopt.schema.duration import duration_seconds
from tests.verify.world import Document, job, node, pods, question


def preemptible(
    *, started: str = "00:50:00", queue: Document | None = None, **more: object
) -> bool:
    """Whether a job may be evicted at 01:00; ``limits`` are the model's."""
    limits = more.pop("limits", None)
    running = job("r", pods(on=["a"]), startTime=f"2026-01-01T{started}Z", queueName="q", **more)
    instance = question(
        [node("a")],
        [running],
        limits=limits,
        queues=[{"name": "q", **(queue or {})}],
    )
    return instance.podsets[0].preemptible


def test_a_pod_may_be_evicted_once_it_has_run_for_as_long_as_it_should() -> None:
    assert not preemptible(minRuntime="10m1s")
    assert preemptible(minRuntime="10m")
    assert preemptible()
    assert not preemptible(started="02:00:00", minRuntime="1s")


def test_the_job_says_it_before_the_queue_and_the_queue_before_the_model() -> None:
    hour, none = {"minRuntime": "1h"}, {"minRuntime": "0s"}
    assert not preemptible(queue=hour)
    assert not preemptible(limits={"minRuntime": "1h"})
    assert preemptible(queue=none, limits={"minRuntime": "1h"})
    assert preemptible(queue=hour, **none)


def test_without_a_start_nobody_is_young() -> None:
    running = job("r", pods(on=["a"]), minRuntime="1h")
    assert question([node("a")], [running]).podsets[0].preemptible


def test_pods_that_are_nominated_have_run_for_no_time() -> None:
    sets = pods("old", gpu=1, on=["a"]), pods("new", gpu=1, on=["a"], nominated=True)
    running = job("r", *sets, startTime="2026-01-01T00:50:00Z", minRuntime="1h")
    instance = question([node("a", gpu=2)], [running], objectives=["lost_gpu_seconds"])
    told = [(item.preemptible, item.lost_gpu_seconds) for item in instance.podsets]
    assert told == [(False, 600), (True, 0)]


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("1h30m", 5400), ("2d", 172_800)])
def test_durations_are_read_in_seconds(text: str, seconds: int) -> None:
    assert duration_seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "10", "1.5h", "m", "-5m"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a duration"):
        duration_seconds(text)
