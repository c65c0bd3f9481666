"""What the owners of pods let go: Jobs by their backoffLimit, StatefulSets one pod at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from kantopt.formats.kubernetes.namespaces import Namespaces
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod, read_pod
from kantopt.formats.kubernetes.restarts import Restarts
from kantopt.formats.kubernetes.stateful_sets import StatefulSets
from kantopt.formats.notes import Notes
from tests.formats.cluster_objects import node, noted, pod, read, thing

IGNORED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


def by_condition(action: str) -> dict[str, Any]:
    return {"action": action, "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}


def by_code(operator: str, code: int) -> dict[str, Any]:
    return {"action": "FailJob", "onExitCodes": {"operator": operator, "values": [code]}}


def owner(version: str, kind: str, status: dict[str, Any] | None = None, **spec: Any) -> Any:
    """An owner of that kind, with the uid by which :func:`pods` name it."""
    found = thing(version, kind, "o", **spec)
    found["metadata"]["uid"] = f"{kind}/o"
    return {**found, "status": status or {}}


def pods(kind: str, count: int) -> list[Any]:
    return [pod(f"p{i}", on="a", owner=f"{kind}/o") for i in range(count)]


@pytest.mark.parametrize(
    ("moves", "status", "spec"),
    [
        (6, {}, {}),
        (3, {}, {"backoffLimit": 3}),
        (1, {"failed": 2}, {"backoffLimit": 3}),
        (0, {"failed": 9}, {"backoffLimit": 3}),
        (None, {}, {"backoffLimit": 3, "podFailurePolicy": IGNORED}),
        (3, {}, {"backoffLimit": 3, "podFailurePolicy": {"rules": [{"action": "Count"}]}}),
        (0, {}, {"podFailurePolicy": {"rules": [by_condition("FailJob")]}}),
        (0, {}, {"podFailurePolicy": {"rules": [by_code("NotIn", 0), by_condition("Ignore")]}}),
        (0, {}, {"podFailurePolicy": {"rules": [by_code("In", 143), by_condition("Ignore")]}}),
        (None, {}, {"podFailurePolicy": {"rules": [by_code("In", 42), by_condition("Ignore")]}}),
        (6, {}, {"podFailurePolicy": {"rules": [by_condition("Count"), by_condition("Ignore")]}}),
        (
            0,
            {},
            {"backoffLimitPerIndex": 2, "podFailurePolicy": {"rules": [by_condition("FailIndex")]}},
        ),
        (None, {}, {"backoffLimitPerIndex": 1}),
        (0, {}, {"backoffLimitPerIndex": 0, "backoffLimit": 5}),
        (5, {}, {"backoffLimitPerIndex": 1, "backoffLimit": 5}),
    ],
)
def test_a_job_lets_as_many_pods_go_as_may_yet_fail(
    moves: int | None, status: dict[str, Any], spec: dict[str, Any]
) -> None:
    found = read(node("a"), owner("batch/v1", "Job", status, **spec), *pods("Job", 2))
    (job,) = found.snapshot.jobs
    assert job.max_moves == moves
    told = [line for line in found.notes if "--disturb backoff-limit" in line]
    assert bool(told) == (moves is not None and moves < 2)


def test_an_index_that_has_failed_as_often_as_it_may_keeps_the_pods_of_its_job() -> None:
    failed = {"batch.kubernetes.io/job-index-failure-count": "1"}
    for limit, moves in ((1, 0), (2, None)):
        made = owner("batch/v1", "Job", backoffLimitPerIndex=limit)
        second = pod("p1", on="a", owner="Job/o", annotations=failed)
        (job,) = read(node("a"), made, *pods("Job", 1), second).snapshot.jobs
        assert job.max_moves == moves


def test_a_job_that_the_input_does_not_show_bears_six_failures() -> None:
    (job,) = read(node("a"), *pods("Job", 7)).snapshot.jobs
    assert job.max_moves == 6


@pytest.mark.parametrize(
    ("at_once", "count", "spec"),
    [
        (1, 2, {}),
        (1, 2, {"podManagementPolicy": "OrderedReady"}),
        (None, 2, {"podManagementPolicy": "Parallel"}),
        (None, 1, {}),
    ],
)
def test_a_stateful_set_in_order_lets_one_pod_go_at_a_time(
    at_once: int | None, count: int, spec: dict[str, Any]
) -> None:
    found = read(node("a"), owner("apps/v1", "StatefulSet", **spec), *pods("StatefulSet", count))
    (job,) = found.snapshot.jobs
    assert job.max_moves_at_once == at_once
    if at_once:
        assert noted(found, "OrderedReady") == (
            "of 1 job only one pod may move at a time (OrderedReady) (--disturb ordered-ready)"
        )


def test_both_can_be_lifted() -> None:
    lifted = ["backoff-limit", "ordered-ready"]
    (job,) = read(node("a"), *pods("Job", 7), disturb=lifted).snapshot.jobs
    assert job.max_moves is None
    (job,) = read(node("a"), *pods("StatefulSet", 2), disturb=lifted).snapshot.jobs
    assert job.max_moves_at_once is None


def test_pods_of_many_owners_are_looked_through_as_often_as_those_of_one() -> None:
    class Counted(list[Pod]):
        looks = 0

        def __iter__(self) -> Iterator[Pod]:
            self.looks += 1
            return super().__iter__()

    def looks(owners: int) -> int:
        made = [pod(f"p{i}", on="a", owner=f"Job/o{i % owners}") for i in range(40)]
        objects = Objects(made, "dump.json")
        found = [read_pod(each, Namespaces((), {}), Notes()) for each in objects.pods()]
        pods = Counted(found)
        Restarts(objects, StatefulSets(objects), ()).of(pods)
        return pods.looks

    assert looks(40) == looks(1)
