"""Quota and topology: where they come from, and what is left out of them."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.errors import BadDataError
from tests.formats.cluster_objects import job, node, noted, pod, read, thing

KUEUE = "kueue.x-k8s.io/v1beta2"
HYPER = "topology.volcano.sh/v1alpha1"


def cluster_queue(name: str, *flavors: dict[str, str]) -> dict[str, Any]:
    """A queue with one resource, GPUs, in each of its flavors."""
    listed = [
        {"name": f"f{i}", "resources": [{"name": "nvidia.com/gpu", **limits}]}
        for i, limits in enumerate(flavors)
    ]
    return thing(KUEUE, "ClusterQueue", name, "", resourceGroups=[{"flavors": listed}])


def test_flavors_of_a_queue_are_added_up_and_one_without_limit_leaves_none() -> None:
    first = {"nominalQuota": "8", "borrowingLimit": "4", "lendingLimit": "2"}
    second = {"nominalQuota": "16", "lendingLimit": "1"}
    imported = read(cluster_queue("q", first, second))
    (quota,) = imported.snapshot.queues[0].resources
    assert (quota.nominal_quota, quota.borrowing_limit, quota.lending_limit) == (24, None, 3)
    assert "(nvidia.com/gpu of q)" in noted(imported, "several flavors")


def test_a_queue_of_kai_protects_the_young_as_the_nearest_above_it_says() -> None:
    version = "scheduling.run.ai/v2"
    queues = [
        thing(version, "Queue", "top", "", preemptMinRuntime="1h"),
        thing(version, "Queue", "middle", "", parentQueue="top", preemptMinRuntime="10m0s"),
        thing(version, "Queue", "low", "", parentQueue="middle"),
        thing(version, "Queue", "alone", "", parentQueue="alone"),
    ]
    found = {queue.name: queue.min_runtime for queue in read(*queues).snapshot.queues}
    assert found == {"top": "3600s", "middle": "600s", "low": "600s", "alone": None}
    with pytest.raises(BadDataError, match="preemptMinRuntime"):
        read(thing(version, "Queue", "q", "", preemptMinRuntime="long"))


def test_volcano_capability_is_a_quota_and_its_shares_are_left_out() -> None:
    version = "scheduling.volcano.sh/v1beta1"
    spec = {"capability": {"cpu": "10", "memory": "1Gi"}, "deserved": {"cpu": "5"}}
    imported = read(thing(version, "Queue", "q", "", **spec))
    quotas = {item.name: item.nominal_quota for item in imported.snapshot.queues[0].resources}
    assert quotas == {"cpu": 10, "memory": "1Gi"}
    assert "(q)" in noted(imported, "deserved")


@pytest.mark.parametrize(
    ("priority", "wish", "quota", "noticed"),
    [
        (100, "", 8, 1),
        (99, "", 8, 0),
        (99, "non-preemptible", 0, 1),
        (100, "preemptible", 8, 0),
        (100, "", -1, 0),
    ],
)
def test_that_kai_holds_lasting_jobs_to_quotas_is_noted(
    priority: int, wish: str, quota: int, noticed: int
) -> None:
    queue = thing("scheduling.run.ai/v2", "Queue", "q", "", resources={"gpu": {"quota": quota}})
    labels = {"kai.scheduler/queue": "q"}
    if wish:
        labels["kai.scheduler/preemptibility"] = wish
    waits = pod("p", labels=labels, schedulerName="kai-scheduler", priority=priority)
    text = "jobs that KAI starts only within their queue's quota: here its limit counts"
    assert read(node("a"), queue, waits).notes.count(f"{text}: 1 (default/app)") == noticed


@pytest.mark.parametrize(("state", "noticed"), [("Open", 0), ("Closed", 1), ("Closing", 1)])
def test_a_queue_of_volcano_that_is_closed_is_noted(state: str, noticed: int) -> None:
    queue = thing("scheduling.volcano.sh/v1beta1", "Queue", "q", "")
    notes = read(node("a"), {**queue, "status": {"state": state}}).notes
    assert notes.count("queues that are stopped take jobs all the same here: 1 (q)") == noticed


def test_weights_of_fair_shares_are_read_and_are_1_by_default() -> None:
    def weight(version: str, kind: str, **spec: Any) -> str | int:
        (queue,) = read(thing(version, kind, "q", "", **spec)).snapshot.queues
        return queue.weight

    assert weight(KUEUE, "ClusterQueue", fairSharing={"weight": "750m"}) == "750m"
    assert weight(KUEUE, "ClusterQueue", fairSharing={"weight": 3}) == 3
    assert weight(KUEUE, "ClusterQueue") == 1
    assert weight("scheduling.volcano.sh/v1beta1", "Queue", weight=4) == 4
    with pytest.raises(BadDataError, match="weight"):
        weight("scheduling.volcano.sh/v1beta1", "Queue", weight=0)


def test_two_queues_of_one_name_are_one_and_the_second_is_named() -> None:
    other = thing("scheduling.run.ai/v2", "Queue", "q", "", parentQueue="far")
    imported = read(cluster_queue("q", {"nominalQuota": "1"}), other)
    assert [item.name for item in imported.snapshot.queues] == ["q"]
    assert imported.snapshot.queues[0].resources[0].nominal_quota == 1
    assert "(q)" in noted(imported, "that another queue has")
    assert "(far of q)" in noted(imported, "set no limit")


def test_a_queue_that_nobody_described_sets_no_quota() -> None:
    label = {"kueue.x-k8s.io/queue-name": "ghost"}
    imported = read(cluster_queue("q", {"nominalQuota": "1"}), pod("p", labels=label))
    assert imported.pending.jobs[0].queue_name == ""
    assert "(ghost)" in noted(imported, "not in the input set no quota")
    # Without any queue in the input the name is kept: a document given beside it may know it.
    assert read(pod("p", labels=label)).pending.jobs[0].queue_name == "ghost"


def test_a_limit_that_is_no_number_is_an_error() -> None:
    resources = {"cpu": {"limit": "many"}}
    with pytest.raises(BadDataError, match=r"items\[0\].spec.resources.cpu.limit.*a number"):
        read(thing("scheduling.run.ai/v2", "Queue", "q", "", resources=resources))


def topology(group: str, name: str, *levels: dict[str, str]) -> dict[str, Any]:
    return thing(group, "Topology", name, "", levels=list(levels))


def test_of_several_topologies_the_one_of_most_nodes_is_taken() -> None:
    offers = [
        topology(KUEUE, "few", {"nodeLabel": "x/pod"}),
        topology(KUEUE, "many", {"nodeLabel": "x/rack"}),
    ]
    nodes = [node("a", {"x/rack": "1", "x/pod": "1"}), node("b", {"x/rack": "1"})]
    imported = read(*offers, *nodes)
    assert [level.name for level in imported.snapshot.topology.levels] == ["rack"]
    assert "(x/pod)" in noted(imported, "topologies beside")


def test_levels_are_known_by_alias_and_by_label_and_unknown_ones_are_named() -> None:
    tree = topology("kai.scheduler/v1alpha1", "t", {"nodeLabel": "x/rack", "alias": "shelf"})
    pods = []
    for level in ("shelf", "x/rack", "x/nowhere"):
        group = level.rpartition("/")[2]
        wish = {
            "pod-group-name": group,
            "kai.scheduler/topology-required-placement": level,
        }
        pods.append(pod(f"p-{group}", annotations=wish))
    imported = read(tree, node("a", {"x/rack": "1"}), *pods)
    requests = {item.name: item.topology_request for item in imported.pending.jobs}
    assert requests["shelf"] is not None
    assert requests["shelf"].required == "shelf"
    assert requests["rack"] == requests["shelf"]
    assert requests["nowhere"] is None
    assert "x/nowhere of default/p-nowhere" in noted(imported, "topology lacks")


def test_levels_of_one_ending_keep_their_whole_labels() -> None:
    levels = read(node("a"), levels=["x/rack", "y/rack"]).snapshot.topology.levels
    assert [level.name for level in levels] == ["rack", "y/rack"]


def test_slices_that_leave_a_rest_are_left_out() -> None:
    wish = {
        "kueue.x-k8s.io/workload": "w",
        "kueue.x-k8s.io/podset-slice-required-topology": "rack",
        "kueue.x-k8s.io/podset-slice-size": "2",
    }
    imported = read(*(pod(f"p{i}", annotations=wish) for i in range(3)), levels=["x/rack"])
    assert imported.pending.jobs[0].pod_sets[0].topology_request is None
    assert "3 pods in slices of 2" in noted(imported, "slices")


def test_unlike_pods_of_one_kueue_role_keep_close_as_a_whole() -> None:
    wish = {
        "kueue.x-k8s.io/workload": "w",
        "kueue.x-k8s.io/podset-required-topology": "rack",
    }
    pods = [pod(f"p{i}", annotations=wish, requests={"cpu": str(i + 1)}) for i in range(2)]
    found = job(read(*pods, levels=["x/rack"]).pending.jobs, "w")
    assert found.topology_request is not None
    assert found.topology_request.required == "rack"
    assert [item.topology_request for item in found.pod_sets] == [None, None]


def hypernode(name: str, tier: int, selector: dict[str, Any], **more: Any) -> dict[str, Any]:
    members = [{"type": "Node", "selector": selector}]
    return thing(HYPER, "HyperNode", name, "", tier=tier, members=members, **more)


def test_hypernodes_choose_nodes_by_label_too_and_tiers_have_names() -> None:
    selector = {"labelMatch": {"matchLabels": {"leaf": "1"}}}
    group = thing(
        "scheduling.volcano.sh/v1beta1",
        "PodGroup",
        "g",
        minMember=1,
        networkTopology={"highestTierName": "leaf"},
    )
    member = pod("p", annotations={"scheduling.k8s.io/group-name": "g"})
    tree = hypernode("s1", 1, selector, tierName="leaf")
    imported = read(tree, group, member, node("a", {"leaf": "1"}), node("b"))
    request = imported.pending.jobs[0].topology_request
    assert request is not None
    assert request.required == "tier-1"
    assert ": 1 (b)" in noted(imported, "in no tier-1")


def test_a_node_in_two_hypernodes_of_a_tier_is_no_tree() -> None:
    everyone = {"regexMatch": {"pattern": ".*"}}
    imported = read(hypernode("s1", 1, everyone), hypernode("s2", 1, everyone), node("a"))
    assert imported.snapshot.topology.levels == ()
    assert noted(imported, "HyperNodes").endswith(": 2")


def test_a_broken_pattern_of_a_hypernode_is_an_error() -> None:
    with pytest.raises(BadDataError, match="a regular expression"):
        read(hypernode("s1", 1, {"regexMatch": {"pattern": "("}}), node("a"))


@pytest.mark.parametrize(
    ("operator", "values"),
    [("In", []), ("Exists", ["x"]), ("Gt", ["1", "2"]), ("Lt", []), ("Near", ["x"])],
)
def test_requirements_whose_values_do_not_suit_are_errors(operator: str, values: list[str]) -> None:
    term = {"matchExpressions": [{"key": "k", "operator": operator, "values": values}]}
    terms = {"nodeSelectorTerms": [term]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    with pytest.raises(BadDataError, match=r"matchExpressions\[0\]"):
        read(pod("p", affinity=affinity))


def test_what_is_not_modelled_is_said_once_with_its_count() -> None:
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    anti = {
        "topologyKey": "z",
        "labelSelector": {},
        "namespaceSelector": {"matchLabels": {"team": "a"}},
    }
    spread = {
        "maxSkew": 1,
        "topologyKey": "z",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "nodeTaintsPolicy": "Honor",
    }
    subject = pod(
        "p",
        annotations={"gpu-fraction": "0.5"},
        volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}],
        affinity={"podAntiAffinity": {required: [anti]}},
        topologySpreadConstraints=[spread],
        tolerations=[{"key": "k", "operator": "Gt", "value": "3"}],
    )
    extra = thing("v1", "ConfigMap", "d")
    fetched = thing("apps/v1", "Deployment", "d")
    imported = read(subject, pod("q", namespace="b"), extra, extra, fetched)
    for words in ("namespaces are not in the input", "compare numbers"):
        assert ": 1" in noted(imported, words)
    podset = imported.pending.jobs[0].pod_sets[0]
    assert podset.not_modelled == ("claims", "gpu-shares")
    assert noted(imported, "no use for").endswith(": 2 (ConfigMap, ...)")
    term = imported.pending.jobs[0].pod_sets[0].pod_anti_affinity[0]
    assert term.namespaces == ("b", "default")
    policies = imported.pending.jobs[0].pod_sets[0].topology_spread_constraints[0]
    assert (policies.node_affinity_policy, policies.node_taints_policy) == ("Honor", "Honor")


def test_gang_members_of_several_priorities_are_given_the_highest() -> None:
    label = {"scheduling.x-k8s.io/pod-group": "g"}
    group = thing("scheduling.x-k8s.io/v1alpha1", "PodGroup", "g", minMember=1)
    imported = read(group, *(pod(f"p{i}", labels=label, priority=i) for i in (3, 9)))
    assert imported.pending.jobs[0].priority == 9
    assert "several priorities" in noted(imported, "gangs of pods")


def test_a_kueue_workload_object_gives_its_roles_their_minimum_and_level() -> None:
    roles = [
        {"name": "driver", "count": 1},
        {"name": "worker", "count": 3, "minCount": 2, "topologyRequest": {"required": "rack"}},
    ]
    workload = thing(KUEUE, "Workload", "w", podSets=roles, priority=11)
    workload["status"] = {"admission": {"clusterQueue": "q"}}
    pods = [
        pod(
            f"p{i}",
            labels={"kueue.x-k8s.io/podset": role},
            annotations={"kueue.x-k8s.io/workload": "w"},
        )
        for i, role in enumerate(["driver", "worker", "worker", "worker"])
    ]
    found = read(workload, *pods, levels=["x/rack"]).pending.jobs[0]
    assert (found.priority, found.min_count) == (11, 3)
    assert [(item.name, item.min_count) for item in found.pod_sets] == [
        ("driver", 1),
        ("worker", 2),
    ]
    assert found.pod_sets[1].topology_request is not None
