"""Nodes as Koordinator sees them: what is kept of them for nobody, and its network of layers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.schema.snapshot import HOSTNAME
from tests.formats.cluster_objects import Object, node, noted, pod, read, thing

KEPT = "node.koordinator.sh/reservation"


def keeping(told: Any) -> Object:
    made = node("a")
    made["metadata"]["annotations"] = {KEPT: told if isinstance(told, str) else json.dumps(told)}
    return made


@pytest.mark.parametrize(
    ("told", "cpu", "memory"),
    [
        ({"resources": {"cpu": "2", "memory": "2Gi"}}, 6, 30),
        ({"resources": {"cpu": "500m"}, "applyPolicy": "Default"}, "7500m", 32),
        ({"resources": {"cpu": "1"}, "reservedCPUs": "0-1,7"}, 5, 32),
        ({"resources": {"cpu": "2"}, "applyPolicy": "ReservedCPUsOnly"}, 8, 32),
        ({"resources": {"cpu": "20"}}, 0, 32),
        ({"resources": {"cpu": 1.5}}, "6500m", 32),
    ],
)
def test_room_that_is_kept_for_no_pod_is_not_offered(told: Object, cpu: Any, memory: int) -> None:
    imported = read(keeping(told))
    offered = imported.snapshot.nodes[0].allocatable
    assert (offered["cpu"], offered["memory"]) == (cpu, f"{memory}Gi")
    assert any("keeps room" in line for line in imported.notes) == (offered["cpu"] != 8)


@pytest.mark.parametrize(
    "told",
    [
        "{",
        "[]",
        "[" * 100_000,
        {"resources": {"cpu": "x"}},
        {"resources": {"cpu": None}},
        {"resources": {"cpu": [1]}},
        {"reservedCPUs": "a"},
    ],
)
def test_what_nobody_can_read_keeps_nothing_and_is_noted(told: Any) -> None:
    imported = read(keeping(told))
    assert imported.snapshot.nodes[0].allocatable["cpu"] == 8
    assert noted(imported, "nobody can read").endswith("1 (a)")


SPEC = "gang.scheduling.koordinator.sh/network-topology-spec"
NETWORK = thing(
    "scheduling.koordinator.sh/v1alpha1",
    "ClusterNetworkTopology",
    "default",
    "",
    networkTopologySpec=[
        {"topologyLayer": "NodeTopologyLayer", "parentTopologyLayer": "Block"},
        {"topologyLayer": "Block", "parentTopologyLayer": "Spine", "labelKey": ["x/block"]},
        {"topologyLayer": "Spine", "labelKey": ["x/spine"]},
    ],
)
NODES = [node(name, {"x/spine": "s", "x/block": name}) for name in "ab"]


def gathered(*layers: tuple[str, str], on_pods: bool = False) -> list[Object]:
    spec = {"gatherStrategy": [{"layer": name, "strategy": how} for name, how in layers]}
    told = {SPEC: json.dumps(spec)}
    group = thing("scheduling.sigs.k8s.io/v1alpha1", "PodGroup", "g", minMember=2)
    group["metadata"]["annotations"] = {} if on_pods else told
    labels = {"pod-group.scheduling.sigs.k8s.io": "g"}
    annotations = told if on_pods else {}
    pods = [pod(f"p{i}", labels=labels, annotations=annotations) for i in range(2)]
    return [group, *pods]


@pytest.mark.parametrize("on_pods", [False, True], ids=["group", "pods"])
@pytest.mark.parametrize(
    ("layers", "required", "preferred"),
    [
        ([("Spine", "MustGather")], "Spine", None),
        ([("Spine", "MustGather"), ("Block", "MustGather")], "Block", None),
        ([("Block", "PreferGather"), ("Spine", "MustGather")], "Spine", "Block"),
        ([("Block", "PreferGather"), ("Spine", "PreferGather")], None, "Block"),
        ([("NodeTopologyLayer", "MustGather")], "hostname", None),
    ],
)
def test_layers_that_gather_a_gang_are_levels(
    layers: list[tuple[str, str]], required: str | None, preferred: str | None, on_pods: bool
) -> None:
    imported = read(*NODES, NETWORK, *gathered(*layers, on_pods=on_pods))
    names = [item.name for item in imported.snapshot.topology.levels]
    assert names[:2] == ["Spine", "Block"]
    request = imported.pending.jobs[0].topology_request
    assert request is not None
    assert (request.required, request.preferred) == (required, preferred)


def test_a_gang_by_annotations_alone_is_gathered_too() -> None:
    spec = {"gatherStrategy": [{"layer": "Spine", "strategy": "MustGather"}]}
    told = {"gang.scheduling.koordinator.sh/name": "g", SPEC: json.dumps(spec)}
    request = read(*NODES, NETWORK, pod("p", annotations=told)).pending.jobs[0].topology_request
    assert request is not None
    assert request.required == "Spine"


@pytest.mark.parametrize("spec", ["{", "[]", "{}", '{"topologyLayers": ["Spine"]}'])
def test_a_spec_that_says_nothing_known_is_noted(spec: str) -> None:
    told = {"gang.scheduling.koordinator.sh/name": "g", SPEC: spec}
    imported = read(*NODES, NETWORK, pod("p", annotations=told))
    assert "default/g" in noted(imported, "says nothing that is known")


def test_layers_that_no_network_has_are_noted() -> None:
    imported = read(node("a", {HOSTNAME: "a"}), *gathered(("Spine", "MustGather")))
    assert "Spine of default/p0" in noted(imported, "the topology lacks")
