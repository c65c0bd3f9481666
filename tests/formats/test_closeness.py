"""What is required beyond the levels and slices that are read leaves pods alone, and is counted."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.schema.jobs import Job, PodSet
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


def in_group(version: str, labels: dict[str, str], told: dict[str, str], **spec: Any) -> Job:
    """A job that waits, a gang of one pod, on nodes whose labels are no known levels."""
    group = thing(version, "PodGroup", "g", minMember=1, **spec)
    ours = {} if labels or told else {"schedulingGroup": {"podGroupName": "g"}}
    member = pod("p", labels=labels, annotations=told, **ours)
    return read(*NODES, group, member).pending.jobs[0]


def native(*keys: str) -> Job:
    constraints = {"topology": [{"key": key} for key in keys]}
    return in_group("scheduling.k8s.io/v1beta1", {}, {}, schedulingConstraints=constraints)


def alone(job: Job) -> bool:
    return "constraints" in job.pod_sets[0].not_modelled


@pytest.mark.parametrize(
    ("keys", "required"),
    [(["rack"], "rack"), (["block"], "block"), (["rack", "block"], "rack")],
)
def test_a_node_label_that_a_native_group_names_is_a_level(keys: list[str], required: str) -> None:
    found = native(*keys)
    assert not alone(found)
    assert found.topology_request is not None
    assert found.topology_request.required == required


def test_labels_of_native_groups_that_do_not_nest_are_no_level() -> None:
    across = {"n0": "x", "n1": "y", "n2": "x", "n3": "y"}
    nodes = [node(f"n{i}", {"block": f"b{i // 2}", "row": across[f"n{i}"]}) for i in range(4)]
    for keys, level in ((["block", "row"], "block"), (["row"], "row"), (["none"], None)):
        constraints = {"topology": [{"key": key} for key in keys]}
        version = "scheduling.k8s.io/v1beta1"
        group = thing(version, "PodGroup", "g", schedulingConstraints=constraints)
        imported = read(*nodes, group, pod("p", schedulingGroup={"podGroupName": "g"}))
        assert [item.name for item in imported.snapshot.topology.levels] == [level] * bool(level)
        assert alone(imported.pending.jobs[0]) == (keys != ["row"])
        if keys != ["row"]:
            assert f"{keys[-1]} of default/p" in noted(imported, "the topology lacks")


def test_a_label_of_a_native_group_parts_no_domain_of_the_levels_that_there_are() -> None:
    zone, hall = "topology.kubernetes.io/zone", "example.com/hall"
    nodes = [node(f"n{i}", {zone: f"z{i // 4}", hall: f"h{i // 2}"}) for i in range(8)]
    group = thing(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        "g",
        schedulingConstraints={"topology": [{"key": hall}]},
    )
    member = pod("p", schedulingGroup={"podGroupName": "g"})
    for bare, levels in ((None, ["zone", "hall"]), (node("bare", {hall: "h9"}), ["zone"])):
        imported = read(*nodes, *filter(None, [bare]), group, member)
        assert [item.name for item in imported.snapshot.topology.levels] == levels
        assert alone(imported.pending.jobs[0]) == (bare is not None)


@pytest.mark.parametrize("mode", ["hard", "soft"])
def test_hard_tiers_without_hypernodes_leave_a_job_of_volcanos_alone(mode: str) -> None:
    network = {"mode": mode, "highestTierAllowed": 1}
    told = {"scheduling.k8s.io/group-name": "g"}
    job = in_group("scheduling.volcano.sh/v1beta1", {}, told, networkTopology=network)
    assert alone(job) == (mode == "hard")


@pytest.mark.parametrize("strategy", ["MustGather", "PreferGather"])
def test_layers_that_no_network_has_leave_a_job_alone_that_must_gather(strategy: str) -> None:
    spec = {"gatherStrategy": [{"layer": "Spine", "strategy": strategy}]}
    told = {"gang.scheduling.koordinator.sh/network-topology-spec": json.dumps(spec)}
    labels = {"pod-group.scheduling.sigs.k8s.io": "g"}
    job = in_group("scheduling.sigs.k8s.io/v1alpha1", labels, told)
    assert alone(job) == (strategy == "MustGather")
