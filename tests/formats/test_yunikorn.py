"""Task groups of YuniKorn's: gangs, the placeholders that hold their room, and who is spared."""

from __future__ import annotations

import json

import pytest

from tests.formats.cluster_objects import Object, node, noted, pod, read, thing

YUNIKORN = "yunikorn.apache.org"
GROUPS = json.dumps([{"name": "driver", "minMember": 1}, {"name": "worker", "minMember": 3}])


def member(name: str, role: str, on: str = "", cpu: int = 8, **annotations: str) -> Object:
    """A pod of application ``app``."""
    told = {"task-group-name": role, "task-groups": GROUPS} | annotations
    return pod(
        name,
        on=on,
        labels={"applicationId": "app"},
        annotations={f"{YUNIKORN}/{key}": value for key, value in told.items()},
        requests={"cpu": str(cpu)},
        schedulerName="yunikorn",
    )


def placeholder(name: str, role: str, on: str = "", cpu: int = 8) -> Object:
    return member(name, role, on, cpu, placeholder="true")


NODES = [node(name) for name in "abcd"]
REAL = [member("d", "driver"), *(member(f"w{i}", "worker") for i in range(4))]


def test_task_groups_of_an_application_start_together() -> None:
    imported = read(*NODES, *REAL)
    (found,) = imported.pending.jobs
    assert (found.name, found.min_count) == ("app", 4)
    roles = {item.name: (item.count, item.min_count) for item in found.pod_sets}
    assert roles == {"driver": (1, 1), "worker": (4, 3)}
    assert "default/app" in noted(imported, "starts in part once it has waited")
    assert noted(imported, "whose queues (quotas").endswith("5 (default/d, ...)")


def test_a_hard_gang_is_not_said_to_start_in_part() -> None:
    hard = {"schedulingPolicyParameters": "placeholderTimeoutInSeconds=9 gangSchedulingStyle=Hard"}
    pods = [member("d", "driver", **hard), *REAL[1:]]
    assert not any("in part" in line for line in read(*NODES, *pods).notes)


def test_the_annotation_names_an_application_before_labels_do() -> None:
    imported = read(*NODES, *(member(f"w{i}", "worker", **{"app-id": "other"}) for i in range(4)))
    assert [job.name for job in imported.pending.jobs] == ["other"]


def test_pods_that_wait_take_the_room_of_their_placeholders() -> None:
    held = [placeholder("hd", "driver", "a"), placeholder("h0", "worker", "b")]
    imported = read(*NODES, *REAL, *held, placeholder("h1", "worker"))
    (found,) = imported.snapshot.jobs
    assert imported.pending.jobs == ()
    where = {item.name: [spot.node for spot in item.assignments] for item in found.pod_sets}
    assert where == {"driver": ["a"], "worker": ["b"], "worker-2": []}
    assert sum(item.count for item in found.pod_sets) == len(REAL)
    assert all("reserved" in item.stays for item in found.pod_sets if item.assignments)
    assert noted(imported, "placeholders of YuniKorn's hold").endswith("2 (default/d on a, ...)")


def test_placeholders_of_pods_that_are_yet_to_be_made_ask_for_their_room() -> None:
    held = [placeholder(f"h{i}", "worker") for i in range(3)]
    (found,) = read(*NODES, REAL[0], *held).pending.jobs
    roles = {item.name: (item.count, item.min_count) for item in found.pod_sets}
    assert roles == {"driver": (1, 1), "worker": (3, 3)}


def test_of_several_placeholders_a_pod_takes_one_that_is_large_enough() -> None:
    held = [placeholder("h0", "worker", "a", cpu=4), placeholder("h1", "worker", "b")]
    (found,) = read(*NODES, *REAL[1:2], *held).snapshot.jobs
    where = {item.name: [spot.node for spot in item.assignments] for item in found.pod_sets}
    assert where == {"worker": ["b"], "worker-2": ["a"]}, "that of nobody's stays"


def test_task_groups_that_nobody_can_read_make_no_gang() -> None:
    deep = member("d", "driver", **{"task-groups": "[" * 100_000})
    assert [job.name for job in read(*NODES, deep).pending.jobs] == ["app"]


def test_a_pod_takes_no_room_that_is_too_small() -> None:
    held = [placeholder("h", "worker", "a", cpu=4)]
    imported = read(*NODES, *REAL, *held)
    assert not any("placeholders of YuniKorn's hold" in line for line in imported.notes)


@pytest.mark.parametrize(
    ("of_class", "own", "spared"),
    [("false", "", True), ("true", "", False), ("false", "true", False), ("", "false", True)],
)
def test_whom_yunikorn_takes_room_from_last_is_left_alone(
    of_class: str, own: str, spared: bool
) -> None:
    key = f"{YUNIKORN}/allow-preemption"
    priority = {**thing("scheduling.k8s.io/v1", "PriorityClass", "low", ""), "value": 3}
    priority["metadata"] = {"name": "low", "annotations": {key: of_class} if of_class else {}}
    annotations = {key: own} if own else {}
    for scheduler in ("yunikorn", "default-scheduler"):
        runs = pod(
            "p",
            on="a",
            annotations=annotations,
            priorityClassName="low",
            schedulerName=scheduler,
        )
        (found,) = read(*NODES, priority, runs).snapshot.jobs
        assert found.preemptible == (not spared or scheduler != "yunikorn")
