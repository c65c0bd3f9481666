"""How each gang scheduler's own words become one of our jobs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.schema.jobs import Job
from tests.formats.cluster_objects import job, node, noted, pod, read, thing

RACK = "cloud.provider.com/topology-rack"
NODES = [node("a", {RACK: "r1"}), node("b", {RACK: "r2"})]


def only(*objects: dict[str, Any]) -> Job:
    return read(*NODES, *objects).pending.jobs[0]


def test_native_groups_carry_topology_disruption_mode_and_priority() -> None:
    group = thing(
        "scheduling.k8s.io/v1beta1",
        "PodGroup",
        "g",
        schedulingPolicy={"gang": {"minCount": 2}},
        schedulingConstraints={"topology": [{"key": RACK}]},
        disruptionMode={"all": {}},
        priority=7,
    )
    pods = [pod(f"p{i}", schedulingGroup={"podGroupName": "g"}) for i in range(3)]
    found = only(group, *pods)
    assert (found.priority, found.disruption_mode) == (7, "all")
    assert found.topology_request is not None
    assert found.topology_request.required == "rack"
    assert (found.pod_sets[0].count, found.pod_sets[0].min_count) == (3, 2)


def test_of_several_levels_of_a_native_group_the_finest_holds_it_and_unknown_ones_are_told() -> (
    None
):
    zone = "topology.kubernetes.io/zone"
    nodes = [node(f"n{i}", {zone: "z", RACK: f"r{i % 2}"}) for i in range(4)]
    pod_of_it = pod("p", schedulingGroup={"podGroupName": "g"})
    for keys, level in (
        ([zone, RACK], "rack"),
        ([RACK, zone], "rack"),
        ([RACK, "kubernetes.io/hostname"], "hostname"),
        (["example.org/row", zone], "zone"),
    ):
        constraints = {"topology": [{"key": key} for key in keys]}
        spec = {"schedulingPolicy": {"gang": {"minCount": 1}}, "schedulingConstraints": constraints}
        group = thing("scheduling.k8s.io/v1beta1", "PodGroup", "g", **spec)
        imported = read(*nodes, group, pod_of_it)
        request = imported.pending.jobs[0].topology_request
        assert request is not None
        assert request.required == level
        told = [line for line in imported.notes if "example.org/row of default/p" in line]
        assert bool(told) == ("example.org/row" in keys)


def test_a_native_group_without_gang_policy_lets_every_pod_stand_for_itself() -> None:
    group = thing("scheduling.k8s.io/v1beta1", "PodGroup", "g", schedulingPolicy={"basic": {}})
    found = only(group, pod("p", schedulingGroup={"podGroupName": "g"}))
    assert found.pod_sets[0].min_count == 0


def member(name: str, group: str, replica: str = "") -> dict[str, Any]:
    ref = {"name": "w", "podGroup": group} | ({"podGroupReplicaKey": replica} if replica else {})
    return pod(name, workloadRef=ref)


def test_each_replica_of_a_pod_group_of_a_workload_is_a_gang() -> None:
    groups = [
        {"name": "g", "policy": {"gang": {"minCount": 2}}},
        {"name": "free", "policy": {"basic": {}}},
    ]
    workload = thing("scheduling.k8s.io/v1alpha1", "Workload", "w", podGroups=groups)
    pods = [member(f"{key}{i}", "g", key) for key in ("x", "y") for i in range(3)]
    jobs = read(*NODES, workload, *pods, member("f", "free")).pending.jobs
    minima = {item.name: item.pod_sets[0].min_count for item in jobs}
    assert minima == {"w.g.x": 2, "w.g.y": 2, "w.free": 0}


def test_a_gang_whose_workload_is_missing_starts_all_or_nothing() -> None:
    found = read(*NODES, member("p", "g"), member("q", "g"))
    assert [item.pod_sets[0].min_count for item in found.pending.jobs] == [None]
    assert "default/w.g" in noted(found, "Workload is not in the input")


def test_kai_sub_groups_become_pod_sets_with_their_own_minimum_and_level() -> None:
    near = {"requiredTopologyLevel": RACK}
    group = thing(
        "scheduling.run.ai/v2alpha2",
        "PodGroup",
        "g",
        minMember=3,
        topologyConstraint={"preferredTopologyLevel": RACK},
        subGroups=[
            {"name": "leader", "minMember": 1},
            {"name": "worker", "minMember": 2, "topologyConstraint": near},
        ],
    )
    roles = ["leader", "worker", "worker", "worker"]
    pods = [
        pod(
            f"p{i}",
            annotations={"pod-group-name": "g"},
            labels={"kai.scheduler/subgroup-name": role},
        )
        for i, role in enumerate(roles)
    ]
    found = only(group, *pods)
    assert found.min_count == 3
    assert [(s.name, s.count, s.min_count) for s in found.pod_sets] == [
        ("leader", 1, 1),
        ("worker", 3, 2),
    ]
    assert found.topology_request is not None
    assert found.topology_request.preferred == "rack"
    assert found.pod_sets[1].topology_request is not None
    assert found.pod_sets[1].topology_request.required == "rack"


@pytest.mark.parametrize(
    ("priority", "preemptibility", "preemptible"),
    [
        (50, None, True),
        (100, None, False),
        (100, "preemptible", True),
        (50, "non-preemptible", False),
    ],
)
def test_kai_spares_what_it_calls_a_build(
    priority: int, preemptibility: str | None, preemptible: bool
) -> None:
    more = {"preemptibility": preemptibility} if preemptibility else {}
    group = thing("scheduling.run.ai/v2alpha2", "PodGroup", "g", minMember=1, **more)
    found = only(group, pod("p", annotations={"pod-group-name": "g"}, priority=priority))
    assert (found.preemptible, found.movable) == (preemptible, preemptible)


def test_other_schedulers_do_not_know_that_threshold() -> None:
    assert only(pod("p", priority=100)).preemptible


@pytest.mark.parametrize(("mode", "field"), [("hard", "required"), ("soft", "preferred")])
def test_volcano_tiers_become_levels(mode: str, field: str) -> None:
    members = [{"type": "Node", "selector": {"regexMatch": {"pattern": "^[ab]$"}}}]
    tree = thing("topology.volcano.sh/v1alpha1", "HyperNode", "h", "", tier=1, members=members)
    network = {"mode": mode, "highestTierAllowed": 1}
    group = thing(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        "g",
        minMember=2,
        minTaskMember={"ps": 1},
        networkTopology=network,
    )
    pods = [
        pod(
            f"p{i}",
            annotations={"scheduling.k8s.io/group-name": "g", "volcano.sh/task-spec": task},
        )
        for i, task in enumerate(["ps", "worker", "worker"])
    ]
    found = only(tree, group, *pods)
    assert found.topology_request is not None
    assert getattr(found.topology_request, field) == "tier-1"
    assert found.min_count == 2
    assert [(s.name, s.min_count) for s in found.pod_sets] == [("ps", 1), ("worker", None)]


def test_volcano_tiers_without_hypernodes_are_left_out_with_a_word() -> None:
    network = {"mode": "hard", "highestTierAllowed": 2}
    group = thing(
        "scheduling.volcano.sh/v1beta1", "PodGroup", "g", minMember=1, networkTopology=network
    )
    imported = read(group, pod("p", annotations={"scheduling.k8s.io/group-name": "g"}))
    assert imported.pending.jobs[0].topology_request is None
    assert "tier 2" in noted(imported, "network tiers")


def test_kueue_annotations_ask_for_levels_and_slices_and_queues_lead_to_quota() -> None:
    objects = [
        thing("kueue.x-k8s.io/v1beta2", "LocalQueue", "local", clusterQueue="cq"),
        thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", "cq", "", cohortName="all"),
    ]
    pods = [
        pod(
            f"p{i}",
            owner="Job/train",
            labels={"kueue.x-k8s.io/queue-name": "local"},
            annotations={
                "kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname",
                "kueue.x-k8s.io/podset-slice-required-topology": RACK,
                "kueue.x-k8s.io/podset-slice-size": "2",
            },
        )
        for i in range(4)
    ]
    found = only(*objects, *pods)
    request = found.pod_sets[0].topology_request
    assert found.queue_name == "cq"
    assert found.pod_sets[0].min_count is None  # all or nothing
    assert request is not None
    # The node itself is a level as soon as a job asks for it.
    assert (request.required, request.pod_set_slice_required_topology) == ("hostname", "rack")
    assert request.pod_set_slice_size == 2


def test_a_kueue_pod_group_waits_for_its_total_count() -> None:
    def member(i: int) -> dict[str, Any]:
        return pod(
            f"p{i}",
            owner="",
            labels={"kueue.x-k8s.io/pod-group-name": "g"},
            annotations={"kueue.x-k8s.io/pod-group-total-count": "3"},
        )

    short = read(member(0), member(1))
    assert short.pending.jobs == ()
    assert "default/g: 2 of 3 pods" in noted(short, "lack pods")
    assert only(member(0), member(1), member(2)).pod_sets[0].min_count == 3


def test_koordinator_gangs_say_their_minimum_on_the_pods() -> None:
    prefix = "gang.scheduling.koordinator.sh"
    pods = [
        pod(f"p{i}", annotations={f"{prefix}/name": "g", f"{prefix}/min-available": "2"})
        for i in range(3)
    ]
    found = only(*pods)
    assert (found.name, found.pod_sets[0].count, found.pod_sets[0].min_count) == ("g", 3, 2)


def test_pods_that_ended_well_count_towards_their_gang() -> None:
    group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", minMember=3)
    label = {"scheduling.x-k8s.io/pod-group": "g"}
    pods = [
        pod("done", labels=label, phase="Succeeded"),
        *(pod(f"p{i}", labels=label) for i in (0, 1)),
    ]
    assert only(group, *pods).pod_sets[0].min_count == 2


def test_a_gang_without_its_group_object_starts_all_or_nothing() -> None:
    imported = read(*(pod(f"p{i}", labels={"scheduling.x-k8s.io/pod-group": "g"}) for i in (0, 1)))
    assert imported.pending.jobs[0].pod_sets[0].min_count is None
    assert "default/g" in noted(imported, "PodGroup is not in the input")


def test_running_and_pending_members_of_a_gang_are_one_running_job() -> None:
    group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", minMember=2)
    label = {"scheduling.x-k8s.io/pod-group": "g"}
    pods = [
        pod("p0", on="a", labels=label),
        pod("p1", on="b", labels=label),
        pod("p2", labels=label),
    ]
    imported = read(*NODES, group, *pods)
    assert imported.pending.jobs == ()
    podset = job(imported.snapshot.jobs, "g").pod_sets[0]
    assert (podset.count, [a.node for a in podset.assignments]) == (3, ["a", "b"])
    assert [ref.name for ref in podset.pods] == ["p2"]


def test_groups_of_one_name_stay_apart() -> None:
    jobs = read(
        pod("p0", owner="Job/same"),
        pod("p1", owner="StatefulSet/same"),
        pod("p2", owner="Job/same", namespace="other"),
    ).pending.jobs
    assert [(item.namespace, item.name) for item in jobs] == [
        ("default", "same"),
        ("default", "same-2"),
        ("other", "same"),
    ]


def test_what_is_not_read_of_gangs_that_are_made_of_others_is_noted() -> None:
    """Subgroups of Volcano's and KAI's, and Koordinator's groups of gangs."""
    volcano = thing(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        "v",
        minMember=1,
        subGroupPolicy=[{"name": "s"}],
    )
    subgroups = [{"name": "above"}, {"name": "below", "parent": "above", "minMember": 1}]
    kai = thing("scheduling.run.ai/v2alpha2", "PodGroup", "k", subGroups=subgroups)
    groups = json.dumps(["default/g", "default/h"])
    told = {"name": "g", "min-available": "1", "groups": groups}
    pods = [
        pod("v", annotations={"scheduling.k8s.io/group-name": "v"}),
        pod("k", annotations={"pod-group-name": "k"}),
        pod("g", annotations={f"gang.scheduling.koordinator.sh/{k}": v for k, v in told.items()}),
    ]
    notes = read(node("a"), volcano, kai, *pods).notes
    for text, name in (
        ("subgroups of gangs (subGroupPolicy, partitionPolicy) are not read", "v"),
        ("subgroups of subgroups (parent, minSubGroup) are not read", "k"),
        ("gangs of groups of gangs start each by itself here", "g"),
    ):
        assert [n for n in notes if n.startswith(text) and n.endswith(f"1 (default/{name})")]
    told["groups"] = json.dumps(["default/g"])
    pods[2]["metadata"]["annotations"] = {
        f"gang.scheduling.koordinator.sh/{key}": word for key, word in told.items()
    }
    assert not [n for n in read(node("a"), *pods[2:]).notes if "groups of gangs" in n]
