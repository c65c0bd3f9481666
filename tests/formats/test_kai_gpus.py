"""Parts of GPUs and MIG devices count against limits of KAI's queues."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object, node, noted, pod, read, thing

MIG = "nvidia.com/mig-3g.40gb"


def queue(name: str, limit: int, **spec: Any) -> Object:
    resources = {"gpu": {"limit": limit}}
    return thing("scheduling.run.ai/v2", "Queue", name, "", resources=resources, **spec)


def held_by(*pods: Object, queues: tuple[Object, ...] = (queue("q", 4),)) -> dict[str, Any]:
    found = read(node("a"), *queues, *pods).snapshot.queues
    return {item.name: row.held for item in found for row in item.resources}


def runs(name: str, annotations: Object | None = None, queue: str = "q", **requests: str) -> Object:
    labels = {"kai.scheduler/queue": queue}
    return pod(name, on="a", labels=labels, annotations=annotations, requests=requests)


@pytest.mark.parametrize(
    ("annotations", "requests", "held"),
    [
        ({"gpu-fraction": "0.5"}, {}, 1),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "4"}, {}, 2),
        ({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "1.5"}, {}, 1),
        ({}, {MIG: "2"}, 6),
        ({}, {"nvidia.com/gpu": "2"}, 0),
        ({"gpu-fraction": "half"}, {}, 0),
    ],
)
def test_what_runs_by_other_names_is_held(annotations: Object, requests: Any, held: int) -> None:
    assert held_by(runs("p", annotations, **requests)) == {"q": held}


def test_parts_are_added_up_before_they_are_rounded_and_the_group_names_the_queue() -> None:
    half = {"gpu-fraction": "0.5", "pod-group-name": "g"}
    group = thing("scheduling.run.ai/v2alpha2", "PodGroup", "g", minMember=1, queue="q")
    pods = [runs(f"p{i}", half, "other") for i in range(4)]
    assert held_by(group, *pods) == {"q": 2}


def test_below_a_queue_with_a_limit_each_holds_its_own() -> None:
    tree = (queue("org", 8), queue("q", 4, parentQueue="org"), queue("r", -1, parentQueue="org"))
    pods = [runs("p", **{MIG: "1"}), runs("s", queue="r", **{MIG: "1"})]
    assert held_by(*pods, queues=tree) == {"org": 0, "q": 3, "r": 3}


def test_what_waits_and_what_only_its_gpu_tells_is_noted() -> None:
    waits = pod("w", labels={"kai.scheduler/queue": "q"}, requests={MIG: "1"})
    imported = read(node("a"), queue("q", 4), waits, runs("m", {"gpu-memory": "2000"}))
    assert noted(imported, "held against no limits").endswith("1 (default/w)")
    assert noted(imported, "pods with gpu-memory").endswith("1 (default/m)")
    assert imported.snapshot.queues[0].resources[0].held == 0
