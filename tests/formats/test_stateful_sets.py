"""Pods of a StatefulSet behind one that is not ready: nobody would make them anew."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import node, noted, pod, read, thing
from tests.formats.test_units import LWS


def stateful(name: str = "web", **spec: Any) -> dict[str, Any]:
    """A StatefulSet with the uid by which :func:`web` names it."""
    found = thing("apps/v1", "StatefulSet", name, **spec)
    found["metadata"]["uid"] = f"StatefulSet/{name}"
    return found


def web(ordinal: int, *, on: str = "a", ready: bool = True, **fields: Any) -> dict[str, Any]:
    found = pod(f"web-{ordinal}", on=on, owner="StatefulSet/web", **fields)
    if on:
        found["status"]["conditions"] = [{"type": "Ready", "status": str(ready)}]
    return found


def moved(*objects: dict[str, Any], **options: Any) -> set[str]:
    """Names of the running pods that may be moved."""
    jobs = read(node("a"), *objects, **options).snapshot.jobs
    return {
        ref.name
        for job in jobs
        for podset in job.pod_sets
        for spot in podset.assignments
        for ref in spot.pods
        if job.movable and podset.movable is not False
    }


@pytest.mark.parametrize(
    "lower",
    [
        [web(0, on="")],
        [web(0, ready=False)],
        [web(0, phase="Succeeded")],
        [web(0, metadata={"deletionTimestamp": "2026-09-01T00:00:00Z"})],
        [],
    ],
    ids=["pending", "not-ready", "ended", "terminating", "missing"],
)
def test_a_pod_behind_an_ordinal_that_is_not_ready_stays(lower: list[dict[str, Any]]) -> None:
    assert moved(stateful(), *lower, web(1), web(2)).isdisjoint({"web-1", "web-2"})
    imported = read(node("a"), stateful(), *lower, web(1))
    assert "1 behind a lower ordinal" in noted(imported, "lower-ordinal)")


def test_the_lowest_that_is_not_ready_and_those_before_it_may_move() -> None:
    pods = [web(0), web(1, ready=False), web(2), web(10)]
    assert moved(stateful(), *pods) == {"web-0", "web-1"}
    assert moved(stateful(), *pods, disturb=["lower-ordinal"]) == {
        *("web-0", "web-1", "web-2", "web-10")
    }


def test_a_more_important_job_may_still_evict_a_pod_behind_another() -> None:
    (found,) = read(node("a"), stateful(), web(1)).snapshot.jobs
    assert (found.preemptible, found.movable) == (True, False)


def test_consent_to_evict_does_not_move_a_pod_behind_another() -> None:
    consent = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    assert moved(stateful(), web(1, annotations=consent)) == set()


def test_a_set_that_makes_its_pods_in_any_order_lets_them_move() -> None:
    pods = [web(0, ready=False), web(2)]
    assert moved(stateful(podManagementPolicy="Parallel"), *pods) == {"web-0", "web-2"}


def test_ordinals_begin_where_the_set_says_else_with_the_lowest_that_is_there() -> None:
    assert moved(stateful(ordinals={"start": 3}), web(3), web(4)) == {"web-3", "web-4"}
    assert moved(stateful(), web(3), web(4)) == set()
    assert moved(web(3), web(4), web(6)) == {"web-3", "web-4"}


def test_a_lower_ordinal_on_a_node_that_is_not_in_the_input_counts() -> None:
    assert moved(stateful(), web(0, on="elsewhere"), web(1)) == {"web-1"}


def test_sets_of_the_same_name_in_other_namespaces_are_others() -> None:
    assert moved(web(0, ready=False, namespace="other"), web(1), web(2)) == {
        *("web-0", "web-1", "web-2")
    }


def test_pods_that_are_made_anew_together_wait_for_no_ordinal() -> None:
    labels = {f"{LWS}/name": "web", f"{LWS}/group-index": "0"}
    assert moved(web(1, ready=False, labels=labels), web(2, labels=labels)) == {"web-1", "web-2"}
