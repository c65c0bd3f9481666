"""Cohorts with parents, flavors of nodes and pod sets that stay together: Kueue's own."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.formats.imported import Imported
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing

KUEUE = "kueue.x-k8s.io/v1beta2"
GPU = "nvidia.com/gpu"
Told = dict[str, Any]


def groups(*groups_: Told) -> list[Told]:
    """Resource groups: each a mapping of flavors to limits of GPUs."""
    return [
        {
            "coveredResources": [GPU],
            "flavors": [
                {"name": name, "resources": [{"name": GPU, **limits}]}
                for name, limits in group.items()
            ],
        }
        for group in groups_
    ]


def queue(name: str, cohort: str = "", **flavors: Told) -> Object:
    return thing(KUEUE, "ClusterQueue", name, "", cohortName=cohort, resourceGroups=groups(flavors))


def cohort(name: str, above: str = "", *rows: Told, key: str = "parentName") -> Object:
    return thing(KUEUE, "Cohort", name, "", **{key: above}, resourceGroups=groups(*rows))


def flavor(name: str, labels: Told, **more: Any) -> Object:
    return thing(KUEUE, "ResourceFlavor", name, "", nodeLabels=labels, **more)


def workload(name: str, to: str, gpus: int = 8, **spec: Any) -> Object:
    box = {"name": "c", "resources": {"requests": {GPU: str(gpus)}}}
    template = {"spec": {"containers": [box], **spec}}
    roles = [{"name": "main", "count": 1, "template": template}]
    return thing(KUEUE, "Workload", name, podSets=roles, queueName=to)


LOCAL = [thing(KUEUE, "LocalQueue", name, clusterQueue=name) for name in ("q", "one", "two")]
"""Queues that Workloads name, each called like that which it leads to."""


def quotas(imported: Imported) -> dict[str, tuple[str, list[tuple[str, str | int]]]]:
    """Cohort and rows of each queue."""
    return {
        item.name: (item.cohort, [(row.full_name, row.nominal_quota) for row in item.resources])
        for item in imported.snapshot.queues
    }


@pytest.mark.parametrize("key", ["parentName", "parent"])
def test_a_tree_of_cohorts_lends_as_its_root_does(key: str) -> None:
    tree = [cohort("low", "middle", key=key), cohort("middle", "top", key=key)]
    found = quotas(read(*tree, queue("q", "low", f={"nominalQuota": 8})))
    assert found == {"q": ("top", [(GPU, 8)])}


def test_what_a_cohort_owns_is_a_queue_that_nobody_uses() -> None:
    imported = read(
        cohort("top"),
        cohort("low", "top", {"f": {"nominalQuota": 4}}),
        queue("q", "low", f={"nominalQuota": 8}),
    )
    assert quotas(imported) == {"q": ("top", [(GPU, 8)]), "cohort-low": ("top", [(GPU, 4)])}


def test_limits_and_weights_of_cohorts_are_told_by_name() -> None:
    top = thing(KUEUE, "Cohort", "top", "", fairSharing={"weight": "2"})
    low = cohort("low", "top", {"f": {"nominalQuota": 4, "lendingLimit": 1}})
    imported = read(top, low, queue("q", "low", f={"nominalQuota": 8}))
    assert "(low)" in noted(imported, "borrow and lend are left out")
    assert "(top)" in noted(imported, "weights of cohorts")
    assert imported.snapshot.queues[1].resources[0].lending_limit is None


def test_cohorts_in_a_circle_lend_nothing_and_are_told() -> None:
    imported = read(
        cohort("a", "b"), cohort("b", "a", {"f": {"nominalQuota": 9}}), queue("q", "a", f={})
    )
    assert quotas(imported) == {"q": ("", [(GPU, 0)])}
    assert "in a circle" in noted(imported, "(a, ...)")


def test_a_name_that_is_taken_is_not_given_to_what_a_cohort_owns() -> None:
    pool = cohort("x", "", {"f": {"nominalQuota": 4}})
    found = quotas(read(pool, queue("cohort-x", "x", f={"nominalQuota": 8})))
    assert found == {"cohort-x": ("x", [(GPU, 8)]), "cohort-x-own": ("x", [(GPU, 4)])}


def test_jobs_that_wait_go_to_the_nodes_of_the_flavor_of_their_queue() -> None:
    taint = {"key": "gpu", "operator": "Exists"}
    imported = read(
        *LOCAL,
        flavor("h100", {"gpu": "h100"}, tolerations=[taint]),
        queue("q", h100={"nominalQuota": 8}),
        workload("w", "q"),
    )
    role = job(imported.pending.jobs, "w").pod_sets[0]
    assert role.node_selector == {"gpu": "h100"}
    assert [item.key for item in role.tolerations] == ["gpu"]
    # All have the same flavor, so no row needs to say of which nodes it is.
    assert quotas(imported) == {"q": ("", [(GPU, 8)])}


BOTH = [flavor("h100", {"gpu": "h100"}), flavor("a100", {"gpu": "a100"}), *LOCAL]


def test_queues_of_one_cohort_lend_each_other_what_is_of_the_same_flavor() -> None:
    imported = read(
        *BOTH,
        queue("a", "all", a100={"nominalQuota": 8}),
        queue("h", "all", h100={"nominalQuota": 16}),
    )
    assert quotas(imported) == {
        "a": ("all", [(f"{GPU} [gpu=a100]", 8)]),
        "h": ("all", [(f"{GPU} [gpu=h100]", 16)]),
    }


def test_flavors_of_a_queue_are_counted_apart_where_each_job_names_one() -> None:
    both = queue("q", h100={"nominalQuota": 8}, a100={"nominalQuota": 16})
    named = workload("w", "q", nodeSelector={"gpu": "a100"})
    imported = read(*BOTH, both, named)
    assert quotas(imported) == {"q": ("", [(f"{GPU} [gpu=h100]", 8), (f"{GPU} [gpu=a100]", 16)])}
    term = {"matchExpressions": [{"key": "gpu", "operator": "NotIn", "values": ["h100"]}]}
    terms = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    by_affinity = workload("w", "q", affinity={"nodeAffinity": terms})
    imported = read(*BOTH, both, by_affinity)
    assert len(imported.snapshot.queues[0].resources) == 2
    assert imported.pending.jobs[0].pod_sets[0].node_selector == {"gpu": "a100"}


def test_flavors_that_a_job_may_choose_from_are_added_up_and_both_are_named() -> None:
    both = queue("q", h100={"nominalQuota": 8}, a100={"nominalQuota": 16})
    imported = read(*BOTH, both, workload("w", "q"))
    assert quotas(imported) == {"q": ("", [(GPU, 24)])}
    assert f"({GPU} of q)" in noted(imported, "added up")
    assert "(default/w-main)" in noted(imported, "several flavors of their queue suit")
    terms = imported.pending.jobs[0].pod_sets[0].node_affinity
    assert [item.match_expressions[0].values for item in terms] == [("h100",), ("a100",)]


def test_a_flavor_whose_taints_a_job_does_not_tolerate_is_not_given_to_it() -> None:
    spot = flavor("a100", {"gpu": "a100"}, nodeTaints=[{"key": "spot", "effect": "NoSchedule"}])
    both = queue("q", h100={"nominalQuota": 8}, a100={"nominalQuota": 16})
    imported = read(BOTH[0], *LOCAL, spot, both, workload("w", "q"))
    assert imported.pending.jobs[0].pod_sets[0].node_selector == {"gpu": "h100"}


@pytest.mark.parametrize(
    ("asks", "given"),
    [
        ({"gpu": "h100"}, ("h100",)),
        ({"spot": "true"}, ("spot",)),
        ({"gpu": "a100"}, ()),
        ({"gpu": "h100", "spot": "true"}, ()),
        ({"zone": "z"}, ("h100", "plain", "spot")),
    ],
)
def test_a_flavor_without_a_label_that_others_have_is_none_for_who_asks_for_that(
    asks: Told, given: tuple[str, ...]
) -> None:
    """Kueue looks at the keys of all flavors of a group of resources, as it admits a job."""
    flavors = [BOTH[0], flavor("plain", {}), flavor("spot", {"spot": "true"})]
    limits = {name: {"nominalQuota": 8} for name in ("h100", "plain", "spot")}
    nodes = [node("h", {"gpu": "h100"}), node("a", {"gpu": "a100"}), node("s", {"spot": "true"})]
    imported = read(
        *LOCAL, *flavors, *nodes, queue("q", **limits), workload("w", "q", nodeSelector=asks)
    )
    if not given:
        assert imported.held_back == {"default/w": 1}
        assert noted(imported, "held back by flavors of their queue, none of which suits them")
    else:
        role = imported.pending.jobs[0].pod_sets[0]
        told = any("several flavors of their queue suit" in note for note in imported.notes)
        assert told is (len(given) > 1)
        assert role.node_selector == asks


def test_flavors_without_labels_of_their_own_are_told() -> None:
    imported = read(
        flavor("x", {}),
        queue("a", "all", x={"nominalQuota": 8}),
        queue("b", "all", y={"nominalQuota": 8}),
    )
    assert "(y)" in noted(imported, "flavors that are not in the input")
    assert f"({GPU} of a, ...)" in noted(imported, "lend and borrow across")


def test_a_plan_keeps_to_the_nodes_and_quotas_of_each_flavor() -> None:
    items = [
        *BOTH,
        node("h", {"gpu": "h100"}),
        node("a", {"gpu": "a100"}),
        node("b", {"gpu": "a100"}),
        queue("one", "all", h100={"nominalQuota": 8}),
        queue("two", "all", a100={"nominalQuota": 8}),
        *(workload(f"w{i}", "one") for i in range(2)),
        *(workload(f"v{i}", "two") for i in range(2)),
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    question = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    # One of each: what the other queue leaves of its flavor is no use to it.
    assert sorted((item.job[8], item.node) for item in plan.assignments) == [("v", "a"), ("w", "h")]


def test_a_flavor_whose_nodes_are_all_gone_hinders_no_plan() -> None:
    items = [
        *BOTH,
        node("h", {"gpu": "h100"}),
        queue("one", "all", h100={"nominalQuota": 8}),
        queue("two", "all", a100={"nominalQuota": 8}),
        *(workload(f"w{i}", "one") for i in range(2)),
        workload("v", "two"),
    ]
    imported = read(*items)
    assert noted(imported, "of which the input has no nodes").endswith("left out: 1 (a100)")
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    question = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(engine="fast", workers=1)
    plan = make_plan(question, load_model("mixed"), options, Deadline.within(30)).plan
    assert [item.node for item in plan.assignments] == ["h"]
    assert {item.job: item.rule for item in plan.unplaced}["default/v"] == "eligibility"


def roles(*requests: Told) -> Object:
    box = {"name": "c", "resources": {"requests": {GPU: "1"}}}
    sets = [
        {
            "name": f"r{i}",
            "count": 1 + i,
            "template": {"spec": {"containers": [box]}},
            "topologyRequest": request,
        }
        for i, request in enumerate(requests)
    ]
    return thing(KUEUE, "Workload", "w", podSets=sets, queueName="q")


def test_pod_sets_of_one_group_that_are_all_of_a_job_are_close_together() -> None:
    wish = {"required": "x/rack", "podSetGroupName": "g"}
    found = read(node("a"), roles(wish, wish), levels=["x/rack"]).pending.jobs[0]
    assert found.topology_request is not None
    assert found.topology_request.required == "rack"
    assert [item.topology_request for item in found.pod_sets] == [None, None]


@pytest.mark.parametrize("third", [{}, {"required": "x/rack"}])
def test_a_group_of_some_pod_sets_only_is_told(third: Told) -> None:
    wish = {"required": "x/rack", "podSetGroupName": "g"}
    imported = read(node("a"), roles(wish, wish, third), levels=["x/rack"])
    assert imported.pending.jobs[0].topology_request is None
    assert "(default/w)" in noted(imported, "podSetGroupName")


def test_a_pod_that_asks_for_what_its_queue_has_no_quota_of_is_told() -> None:
    """Kueue finds the resource unavailable in the ClusterQueue, and admits no such workload."""
    local = thing(KUEUE, "LocalQueue", "lq", clusterQueue="cq")
    labels = {"kueue.x-k8s.io/queue-name": "lq"}
    waiting = pod("p", labels=labels, requests={GPU: "1", "cpu": "1"})
    found = read(node("n"), queue("cq", only={"nominalQuota": 8}), local, waiting)
    assert "excludeResourcePrefixes leaves out cpu in cq" in noted(found, "no quota of")


def test_a_flavor_that_has_no_quota_for_all_pods_of_a_kind_is_not_given_to_them() -> None:
    both = queue("q", h100={"nominalQuota": 8}, a100={"nominalQuota": 16})
    imported = read(*BOTH, both, workload("w", "q", gpus=12))
    assert imported.pending.jobs[0].pod_sets[0].node_selector == {"gpu": "a100"}
    assert imported.held_back == {}
    lends = queue("q", "all", h100={"nominalQuota": 8}, a100={"nominalQuota": 16})
    borrows = read(*BOTH, lends, workload("w", "q", gpus=12))
    assert not borrows.pending.jobs[0].pod_sets[0].node_selector


@pytest.mark.parametrize("gated", [False, True])
def test_who_asks_for_more_than_each_flavor_of_its_queue_owns_is_held_back(gated: bool) -> None:
    """The sum of them would be enough; Kueue gives all pods of a kind one flavor."""
    both = queue("q", h100={"nominalQuota": 8}, a100={"nominalQuota": 16})
    imported = read(*BOTH, both, workload("w", "q", gpus=20), gated=gated)
    assert imported.held_back == ({} if gated else {"default/w": 1})
    assert len(imported.pending.jobs) == gated
    if not gated:
        assert "(default/w)" in noted(imported, "by quotas of flavors, of which each is too small")
