"""What is required beyond the levels and slices that are read leaves pods alone, and is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.schema.jobs import PodSet
from tests.formats.cluster_objects import Object, node, noted, pod, read, thing

KUEUE = "kueue.x-k8s.io/v1beta2"
NODES = [node(f"n{i}", {"block": f"b{i // 2}", "rack": f"r{i}"}) for i in range(4)]
LEVELS = thing(KUEUE, "Topology", "main", "", levels=[{"nodeLabel": n} for n in ("block", "rack")])
ONE: list[Any] = [{"topology": "block", "size": 2}]
TWO: list[Any] = [*ONE, {"topology": "rack", "size": "1"}]


def asks(how: str, **request: Any) -> PodSet:
    """The pod set of a job that waits with a topology request, of its Workload or of its pods."""
    pods: list[Object] = []
    if how == "workload":
        template = {"spec": pod("t")["spec"]}
        podset = {"name": "main", "count": 4, "template": template, "topologyRequest": request}
        pods.append(thing(KUEUE, "Workload", "w", podSets=[podset], queueName="lq"))
    else:
        names = {
            "required": "podset-required-topology",
            "podsetSliceRequiredTopologyConstraints": (
                "podset-slice-required-topology-constraints"
            ),
        }
        annotations = {
            f"kueue.x-k8s.io/{names[key]}": value if key == "required" else json.dumps(value)
            for key, value in request.items()
        }
        labels = {"kueue.x-k8s.io/queue-name": "lq"}
        common: dict[str, Any] = {"annotations": annotations, "labels": labels}
        pods += [pod(f"p{i}", owner="Job/w", **common) for i in range(4)]
    (only,) = read(*NODES, LEVELS, *pods).pending.jobs[0].pod_sets
    return only


def slices(found: PodSet) -> tuple[str | None, int | None] | None:
    asked = found.topology_request
    if asked is None:
        return None
    return asked.pod_set_slice_required_topology, asked.pod_set_slice_size


@pytest.mark.parametrize("how", ["workload", "pods"])
@pytest.mark.parametrize(
    ("layers", "outer", "alone"),
    [
        (ONE, ("block", 2), False),
        (TWO, ("block", 2), True),
        ([{"topology": "block", "sizes": [1, 3]}], None, True),
        (["block"], None, True),
    ],
)
def test_of_slices_on_several_levels_the_outermost_are_read_and_the_pods_left_alone(
    how: str, layers: list[Any], outer: tuple[str, int] | None, alone: bool
) -> None:
    if how == "workload" and layers == ["block"]:
        layers = [{"topology": "block"}]
    found = asks(how, podsetSliceRequiredTopologyConstraints=layers)
    assert slices(found) == outer
    assert found.not_modelled == (("constraints",) if alone else ())


@pytest.mark.parametrize("how", ["workload", "pods"])
def test_who_requires_a_level_that_the_topology_lacks_is_left_alone(how: str) -> None:
    assert asks(how, required="rack").not_modelled == ()
    assert asks(how, required="kubernetes.io/hostname").not_modelled == ()
    lost = asks(how, required="nvlink")
    assert lost.topology_request is None
    assert lost.not_modelled == ("constraints",)


def test_who_prefers_a_level_that_the_topology_lacks_is_planned_without() -> None:
    annotations = {"kueue.x-k8s.io/podset-preferred-topology": "nvlink"}
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    imported = read(*NODES, LEVELS, pod("p", owner="Job/w", annotations=annotations, labels=labels))
    assert imported.pending.jobs[0].pod_sets[0].not_modelled == ()
    assert noted(imported, "levels that jobs ask for and the topology lacks")
