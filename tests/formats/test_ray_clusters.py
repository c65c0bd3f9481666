"""A Ray cluster ends with its head, and bears the loss of workers."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.build import build_instance
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model
from kantopt.verify.rules import check
from tests.formats.cluster_objects import node, pod, read, thing


def ray(kind: str, name: str, on: str = "a", **more: Any) -> dict[str, Any]:
    labels = {"ray.io/node-type": kind, "ray.io/cluster": "r"}
    return pod(name, on=on, owner="RayCluster/r", labels=labels, **more)


def cluster(*, on: str = "a") -> list[dict[str, Any]]:
    return [ray("head", "r-head"), *(ray("worker", f"r-w{i}", on) for i in range(2))]


def least(found: Job) -> dict[int, int | None]:
    """Least pods by number of pods, for each pod set."""
    return {podset.count: podset.min_count for podset in found.pod_sets}


def test_a_ray_cluster_goes_with_its_head_and_bears_the_loss_of_workers() -> None:
    snapshot = read(node("a"), *cluster()).snapshot
    (found,) = snapshot.jobs
    assert (least(found), found.disruption_mode) == ({1: 1, 2: 0}, "single")
    model = Model(api_version=API_VERSION, kind="Model", objectives=("unplaced",))
    instance = build_instance(snapshot, (), model)
    head, workers = sorted(instance.jobs[0].podsets, key=lambda s: instance.podsets[s].count)
    none: dict[int, dict[Any, int]] = {}
    for gone, wrong in (((head,), True), ((workers,), False), ((head, workers), False)):
        final = instance.current.replace(dict.fromkeys(gone, none))
        found_wrong = [v for v in check(instance, final) if v.rule.value == "gang"]
        assert bool(found_wrong) is wrong


@pytest.mark.parametrize("disturb", [(), ("group",)])
def test_a_head_like_its_workers_is_still_told_from_them(disturb: tuple[str, ...]) -> None:
    (found,) = read(node("a"), *cluster(), disturb=disturb).snapshot.jobs
    assert least(found) == {1: 1, 2: 0}


def test_a_head_whose_state_is_kept_elsewhere_may_be_evicted_alone() -> None:
    for told in (
        thing("ray.io/v1", "RayCluster", "r", gcsFaultToleranceOptions={}),
        {
            **thing("ray.io/v1", "RayCluster", "r"),
            "metadata": {
                "name": "r",
                "namespace": "default",
                "annotations": {"ray.io/ft-enabled": "True"},
            },
        },
    ):
        (found,) = read(node("a"), told, *cluster()).snapshot.jobs
        assert set(least(found).values()) == {0}
    tolerant = {"ray.io/ft-enabled": "true"}
    (found,) = read(node("a"), ray("head", "r-head", annotations=tolerant)).snapshot.jobs
    assert (found.movable, set(least(found).values())) == (False, {0})


def test_workers_that_wait_start_with_their_head() -> None:
    (found,) = read(node("a"), *cluster(on="")).snapshot.jobs
    assert least(found) == {1: 1, 2: 0}


def test_workers_that_run_without_their_head_still_go_one_by_one() -> None:
    workers = [ray("worker", f"r-w{i}") for i in range(2)]
    (found,) = read(node("a"), ray("head", "r-head", on=""), *workers).snapshot.jobs
    assert least(found) == {1: 0, 2: 0}
