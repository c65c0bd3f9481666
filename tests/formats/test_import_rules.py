"""The twelve rules on which it depends whether a plan matches the cluster, one test each."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.topology import find_levels
from tests.formats.cluster_objects import job, node, noted, pod, read, thing

BLOCK, RACK = "cloud.provider.com/topology-block", "cloud.provider.com/topology-rack"


def test_every_bound_pod_that_has_not_ended_keeps_its_room() -> None:
    held = [
        pod("agent-1", on="a", owner="DaemonSet/agent"),
        pod("proxy-a", on="a", owner="Node/a", annotations={"kubernetes.io/config.mirror": "x"}),
        pod("lab", on="a", schedulerName="somebody-elses"),
        pod("leaving", on="a", metadata={"deletionTimestamp": "2026-09-01T02:59:00Z"}),
        pod("starting", on="a", phase="Pending"),
    ]
    gone = [pod("done", on="a", phase="Succeeded"), pod("broken", on="a", phase="Failed")]
    imported = read(node("a"), *held, *gone)
    names = {
        ref.name
        for item in imported.snapshot.jobs
        for podset in item.pod_sets
        for assignment in podset.assignments
        for ref in assignment.pods
    }
    assert names == {"agent-1", "proxy-a", "lab", "leaving", "starting"}
    # Nothing is subtracted from the node: the pods above are what takes its room.
    assert imported.snapshot.nodes[0].allocatable["cpu"] == 8
    assert noted(imported, "have ended").endswith(": 2")
    assert "default/leaving" in noted(imported, "pods that are terminating")


def test_requests_are_those_of_the_hungriest_moment_of_a_pod() -> None:
    sidecar = {"restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
    init = {"resources": {"requests": {"cpu": "5"}}}
    imported = read(pod("p", initContainers=[sidecar, init], overhead={"cpu": "250m"}))
    # 5 of the init container beside the sidecar's 1 beat the 1 + 1 that run for good.
    assert imported.pending.jobs[0].pod_sets[0].requests["cpu"] == "6250m"


def test_every_pod_takes_one_of_the_pods_a_node_can_hold() -> None:
    imported = read(node("a"), pod("p", on="a", requests={}))
    assert imported.snapshot.nodes[0].allocatable["pods"] == 110
    assert imported.snapshot.jobs[0].pod_sets[0].requests == {"pods": 1}


def test_cordoned_and_unready_nodes_keep_their_pods_and_say_what_they_are() -> None:
    cordoned, unready, silent = node("cordoned"), node("unready"), node("silent")
    cordoned["spec"]["unschedulable"] = True
    unready["status"]["conditions"] = [{"type": "Ready", "status": "Unknown"}]
    pods = [pod(f"p{i}", on=name) for i, name in enumerate(("cordoned", "unready"))]
    snapshot = read(cordoned, unready, silent, *pods).snapshot
    assert [(item.unschedulable, item.ready) for item in snapshot.nodes] == [
        (True, True),
        (False, False),
        (False, True),
    ]
    assert [item.node for item in snapshot.jobs[0].pod_sets[0].assignments] == [
        "cordoned",
        "unready",
    ]


def test_racks_of_one_name_in_two_blocks_stay_two_racks() -> None:
    labels = [{BLOCK: f"b{i}", RACK: "rack-1"} for i in (1, 2)]
    levels = read(node("a", labels[0]), node("b", labels[1])).snapshot.topology.levels
    # The path of levels makes a domain; a rack without its block above it would be one domain.
    assert [level.name for level in levels] == ["block", "rack"]


def hypernode(name: str, tier: int, kind: str, *members: str) -> dict[str, object]:
    chosen = [{"type": kind, "selector": {"exactMatch": {"name": item}}} for item in members]
    return thing("topology.volcano.sh/v1alpha1", "HyperNode", name, "", tier=tier, members=chosen)


TREE = {"a": ("b1", "r1"), "b": ("b1", "r2"), "c": ("b2", "r3")}
"""One physical tree: two racks in the first block, one in the second."""


@pytest.mark.parametrize("source", ["kueue", "kai", "volcano", "topograph", "labels"])
def test_every_source_of_topology_gives_the_same_tree_coarse_to_fine(source: str) -> None:
    block, rack = BLOCK, RACK
    extra: list[dict[str, object]] = []
    if source in ("kueue", "kai"):
        block, rack = "x/block", "x/rack"
        group = "kueue.x-k8s.io/v1beta2" if source == "kueue" else "kai.scheduler/v1alpha1"
        levels = [{"nodeLabel": block}, {"nodeLabel": rack}]
        extra = [thing(group, "Topology", "t", "", levels=levels)]
    elif source == "topograph":
        block, rack = "fabric.topograph.run/tier-1", "fabric.topograph.run/tier-0"
    elif source == "volcano":
        extra = [
            hypernode("r1", 1, "Node", "a"),
            hypernode("r2", 1, "Node", "b"),
            hypernode("r3", 1, "Node", "c"),
            hypernode("b1", 2, "HyperNode", "r1", "r2"),
            hypernode("b2", 2, "HyperNode", "r3"),
        ]
    nodes = [
        node(name, {} if source == "volcano" else {block: path[0], rack: path[1]})
        for name, path in TREE.items()
    ]
    snapshot = read(*nodes, *extra).snapshot
    found = [level.node_label for level in snapshot.topology.levels]
    paths = {n.name: tuple(n.labels[label] for label in found) for n in snapshot.nodes}
    assert paths == TREE


def test_four_kinds_called_pod_group_are_told_apart_by_their_api_group() -> None:
    groups = [
        thing(
            "scheduling.k8s.io/v1beta1",
            "PodGroup",
            "g",
            schedulingPolicy={"gang": {"minCount": 1}},
        ),
        thing("scheduling.run.ai/v2alpha2", "PodGroup", "g", minMember=2),
        thing("scheduling.volcano.sh/v1beta1", "PodGroup", "g", minMember=3),
        thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", minMember=4),
    ]
    references: list[dict[str, Any]] = [
        {"schedulingGroup": {"podGroupName": "g"}},
        {"annotations": {"pod-group-name": "g"}},
        {"annotations": {"scheduling.k8s.io/group-name": "g"}},
        {"labels": {"scheduling.x-k8s.io/pod-group": "g"}},
    ]
    pods = [
        pod(f"p{k}-{i}", **reference) for k, reference in enumerate(references) for i in range(5)
    ]
    jobs = read(*groups, *pods).pending.jobs
    assert [item.pod_sets[0].min_count for item in jobs] == [1, 2, 3, 4]
    assert [item.pod_sets[0].count for item in jobs] == [5, 5, 5, 5]


def test_priority_is_a_number_and_that_of_the_group_beats_that_of_its_pods() -> None:
    classes = [
        {**thing("scheduling.k8s.io/v1", "PriorityClass", name, ""), "value": value}
        for name, value in (("low", 10), ("high", 1000))
    ]
    group = thing("scheduling.run.ai/v2alpha2", "PodGroup", "g", minMember=1)
    group["spec"]["priorityClassName"] = "high"
    gang = pod("g-0", annotations={"pod-group-name": "g"}, priority=10, priorityClassName="low")
    # The class says 10, but the number was set when the pod was made and is what counts.
    plain = pod("p", owner="ReplicaSet/plain", priority=77, priorityClassName="low")
    jobs = read(*classes, group, gang, plain).pending.jobs
    assert job(jobs, "g").priority == 1000
    assert job(jobs, "plain").priority == 77


def test_units_are_read_exactly_and_kai_memory_is_decimal_megabytes() -> None:
    resources = {"memory": {"limit": 1}, "cpu": {"limit": 1500}, "gpu": {"limit": 2.0}}
    queue = thing("scheduling.run.ai/v2", "Queue", "q", "", resources=resources)
    machine = node("a", memory="1000M", cpu="7910m")
    snapshot = read(machine, queue, pod("p", on="a", requests={"memory": "1.5Gi"})).snapshot
    quotas = {item.name: item.nominal_quota for item in snapshot.queues[0].resources}
    assert quotas == {"memory": 10**6, "cpu": "1500m", "nvidia.com/gpu": 2}
    offered = snapshot.nodes[0].allocatable
    assert (offered["memory"], offered["cpu"]) == (10**9, "7910m")
    assert snapshot.jobs[0].pod_sets[0].requests["memory"] == "1536Mi"


def test_what_a_node_offers_and_what_a_pod_asks_for_is_rounded_up_as_kubernetes_does() -> None:
    subject = pod("p", on="a", requests={"memory": "1500m", "cpu": "100u"})
    snapshot = read(node("a", memory="2500m", cpu="1000100u"), subject).snapshot
    offered, asked = snapshot.nodes[0].allocatable, snapshot.jobs[0].pod_sets[0].requests
    assert (offered["memory"], offered["cpu"]) == (3, "1001m")
    assert (asked["memory"], asked["cpu"]) == (2, "1m")


def test_gated_pods_wait_only_when_asked_for_and_patterns_narrow_what_is_pending() -> None:
    gates = [{"name": "example.org/hold"}]
    objects = [
        pod("free-0", owner="ReplicaSet/free"),
        pod("held-0", owner="ReplicaSet/held", schedulingGates=gates),
        pod("other-0", owner="ReplicaSet/other", namespace="b"),
    ]
    imported = read(*objects)
    assert [item.name for item in imported.pending.jobs] == ["free", "other"]
    assert "default/held-0" in noted(imported, "scheduling gates")
    assert [item.name for item in read(*objects, gated=True).pending.jobs] == [
        "free",
        "held",
        "other",
    ]
    narrowed = read(*objects, pending=["default/*"])
    assert [item.name for item in narrowed.pending.jobs] == ["free"]
    assert "b/other" in noted(narrowed, "not asked for")
    by_pod = read(*objects, pending=["b/other-0"])
    assert [item.name for item in by_pod.pending.jobs] == ["other"]


def test_suspended_kueue_workloads_wait_without_any_pod() -> None:
    container = {"name": "c", "resources": {"requests": {"cpu": "2"}}}
    podset = {"name": "worker", "count": 3, "template": {"spec": {"containers": [container]}}}
    waiting = thing("kueue.x-k8s.io/v1beta2", "Workload", "w", podSets=[podset], priority=5)
    admitted = thing("kueue.x-k8s.io/v1beta2", "Workload", "v", podSets=[podset])
    admitted["status"] = {"admission": {"clusterQueue": "q"}}
    finished = thing("kueue.x-k8s.io/v1beta2", "Workload", "u", podSets=[podset])
    finished["status"] = {"conditions": [{"type": "Finished", "status": "True"}]}
    jobs = read(waiting, admitted, finished).pending.jobs
    assert [(item.name, item.priority) for item in jobs] == [("w", 5), ("v", 0)]
    assert jobs[0].pod_sets[0].count == 3
    assert jobs[0].pod_sets[0].requests["cpu"] == 2


def test_unknown_resources_stay_and_are_named_once_and_claims_are_told() -> None:
    wants = {"example.org/fpga": "1"}
    objects = [pod(f"p{i}", requests=wants) for i in range(3)]
    claimed = pod("c", on="a", owner="ReplicaSet/c", resourceClaims=[{"name": "gpu"}])
    imported = read(node("a"), *objects, claimed)
    assert imported.pending.jobs[0].pod_sets[0].requests["example.org/fpga"] == 1
    assert ": 3 " in noted(imported, "example.org/fpga")
    (claims,) = job(imported.snapshot.jobs, "c").pod_sets
    assert claims.not_modelled == ("resource-claims",)


def test_nodes_without_the_label_of_a_level_are_counted() -> None:
    inside = node("in", {BLOCK: "b1", RACK: "r1"})
    imported = read(inside, node("out-1"), node("out-2", {RACK: "r9"}), levels=[BLOCK, RACK])
    # The second has a rack label but no block, so its path to a rack is broken: told once.
    assert noted(imported, "in no block").endswith("or a finer level: 2 (out-1, ...)")
    assert not any("in no rack" in line for line in imported.notes)


def test_a_guessed_level_never_takes_nodes_out_of_finer_ones() -> None:
    nodes = [node("a", {BLOCK: "b1", RACK: "r1"}), node("b", {RACK: "r2"})]
    objects = Objects([], "x")
    views = read(*nodes).snapshot.nodes
    found = find_levels(objects, views, ())
    assert [level.name for level in found.topology.levels] == ["rack"]
    assert any(BLOCK in line for line in objects.notes.lines())


def test_each_pattern_matches_something_that_is_pending() -> None:
    objects = [node("a"), pod("runs", on="a", namespace="b"), pod("waits")]
    assert len(read(*objects, pending=["default/waits"]).pending.jobs) == 1
    for pattern in ("nothing/*", "b/*"):
        said = rf"^--pending {re.escape(pattern)}: no pending pod or job matches$"
        with pytest.raises(UsageError, match=said):
            read(*objects, pending=["default/waits", pattern])


@pytest.mark.parametrize("pattern", ["held/p", "held/app", "held/*"])
def test_a_pattern_that_only_gated_pods_match_says_how_they_count(pattern: str) -> None:
    held = pod("p", namespace="held", schedulingGates=[{"name": "g"}])
    said = "only what is held back by scheduling gates and left out: it counts with --gated$"
    with pytest.raises(UsageError, match=said):
        read(node("a"), held, pending=[pattern])
    assert len(read(node("a"), held, pending=[pattern], gated=True).pending.jobs) == 1


def test_an_input_without_nodes_is_told_where_they_come_from() -> None:
    first = read(pod("p")).notes[0]
    assert first.startswith("the input has no nodes: kubectl get nodes,pods,")
    assert not any("no nodes" in note for note in read(node("a"), pod("p")).notes)


def test_nodes_without_any_pod_are_most_likely_half_of_the_input() -> None:
    (note,) = read(node("a")).notes
    assert note.startswith("the input has no pods, so every node counts as empty: kubectl get ")


def test_a_dump_without_disruption_budgets_says_so_where_pods_run() -> None:
    said = "the input has no disruption budgets: if the cluster has any, add pdb to kubectl get"
    nodes, running = node("n"), pod("p", on="n")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "team"},
        "spec": {"selector": {}},
    }
    assert said in read(nodes, running).notes
    assert said not in read(nodes, running, budget).notes
    assert said not in read(nodes, pod("p")).notes


def test_an_input_without_anything_is_told_the_same() -> None:
    (note,) = read().notes
    assert note.startswith("the input has no nodes")


def test_a_priority_class_that_is_needed_and_missing_is_named() -> None:
    unknown = pod("p", priorityClassName="gold")
    assert "default/p" in noted(read(node("a"), unknown), "priority class gold")
    numbered = pod("p", priorityClassName="gold", priority=5)
    assert not any("gold" in line for line in read(node("a"), numbered).notes)


def test_rack_and_block_under_the_name_of_kubernetes_are_levels() -> None:
    block, rack = "topology.kubernetes.io/block", "topology.kubernetes.io/rack"
    imported = read(*(node(f"n{i}", {block: "b", rack: f"r{i // 2}"}) for i in range(4)))
    levels = {level.name: level.node_label for level in imported.snapshot.topology.levels}
    assert list(levels.items()) == [("block", block), ("rack", rack)]


def test_labels_that_look_like_a_topology_and_make_no_level_are_told() -> None:
    imported = read(node("a", {"dc.example.com/rack-name": "r1", "team": "blockers"}), node("b"))
    assert imported.snapshot.topology.levels == ()
    assert noted(imported, "look like a topology").endswith(": 1 (dc.example.com/rack-name)")


def test_a_priority_class_that_is_not_there_is_told_with_the_one_that_is_meant() -> None:
    prod = thing("scheduling.k8s.io/v1", "PriorityClass", "prod", "", value=5)
    prod["value"] = prod["spec"]["value"]
    imported = read(node("a"), prod, pod("p", priorityClassName="prodd"))
    assert "count as 0 (did you mean prod?)" in noted(imported, "priority class")


def test_a_gang_keeps_its_name_beside_a_member_that_terminates() -> None:
    label = {"scheduling.x-k8s.io/pod-group": "g"}
    group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", minMember=1)
    going = {"metadata": {"deletionTimestamp": "2026-01-01"}}
    pods = [
        pod(f"g-{i}", on="a", owner="Job/g", labels=label, **(going if i == 0 else {}))
        for i in range(3)
    ]
    found = {item.name: item.pod_sets[0] for item in read(node("a"), group, *pods).snapshot.jobs}
    assert {name: podset.count for name, podset in found.items()} == {"g": 2, "g-terminating": 1}


def test_a_job_is_not_numbered_so_as_a_pod_is_called() -> None:
    pods = [pod(f"web-{i}", on="a", owner="StatefulSet/web", priority=i % 2) for i in range(4)]
    names = [item.name for item in read(node("a"), *pods).snapshot.jobs]
    assert names == ["web", "web-4"]


def test_quotas_of_namespaces_are_said_not_to_be_read() -> None:
    quota = thing("v1", "ResourceQuota", "q", hard={"requests.nvidia.com/gpu": "8"})
    limits = thing("v1", "LimitRange", "l", limits=[])
    found = read(node("a"), quota, limits)
    assert noted(found, "quotas of namespaces are not read").endswith(": 1 (ResourceQuota)")
    assert noted(found, "has no use for").endswith(": 1 (LimitRange)")
