"""Small dumps in which pods look at other pods, planned: what kube-scheduler would do as well."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod, thing

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"


def plan(*objects: Object) -> Result:
    """Plan a dump with all its objects."""
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    asked = question_of([RawDocument("dump.json", 0, dump)], Import())
    options = Options(workers=1)
    return make_plan(asked, load_model("mixed"), options, Deadline.within(60))


def where(result: Result) -> dict[str, str]:
    """What the plan does with which job, and where."""
    plan = result.plan
    found = {item.job: f"bind {item.node}" for item in plan.assignments}
    found |= {item.job: f"move {item.to_node}" for item in plan.moves}
    found |= {item.job: f"evict {item.node}" for item in plan.evictions}
    return {job.removeprefix("default/"): what for job, what in found.items()}


def zoned(name: str, zone: str = "", **offered: str) -> Object:
    labels = {HOST: name} | ({ZONE: zone} if zone else {})
    return node(name, labels, **offered)


def near(key: str, kind: str = "podAffinity", **term: Any) -> dict[str, Any]:
    selector = {"labelSelector": {"matchLabels": {"app": "db"}}}
    return {"affinity": {kind: {REQUIRED: [{"topologyKey": key, **selector, **term}]}}}


def spread(*constraints: dict[str, Any]) -> dict[str, Any]:
    own = {"matchLabels": {"app": "web"}}
    common = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": own}
    return {"topologySpreadConstraints": [{**common, **one} for one in constraints]}


DB, WEB = {"app": "db"}, {"app": "web"}
LEAVING = {"deletionTimestamp": "2026-09-01T02:59:00Z"}
FULL = {"cpu": "8"}


def test_a_pod_whose_company_is_on_a_full_node_stays_pending() -> None:
    db = pod("db", on="a", owner="Job/db", labels=DB, requests=FULL)
    web = pod("web", owner="Job/web", labels=WEB, **near(HOST))
    result = plan(zoned("a"), zoned("b"), db, web)
    assert where(result) == {}
    assert {tier.status for tier in result.plan.objectives} == {"OPTIMAL"}
    (left,) = result.plan.unplaced
    assert (left.job, left.rule) == ("default/web", "affinity")
    assert "pod affinity closes 1 of 1 nodes with room" in left.message


def test_a_pod_follows_its_company_that_is_pending_as_well() -> None:
    db = pod("db", owner="Job/db", labels=DB, requests=FULL, nodeSelector={HOST: "b"})
    web = pod("web", owner="Job/web", labels=WEB, **near(ZONE))
    nodes = [zoned(name, zone) for name, zone in (("a", "1"), ("b", "2"), ("c", "2"))]
    assert where(plan(*nodes, db, web)) == {"db": "bind b", "web": "bind c"}


def test_a_pod_that_terminates_is_not_counted_by_spread() -> None:
    old = pod("old", on="a", owner="Job/old", labels=WEB, metadata=LEAVING)
    other = pod("other", on="b", owner="Job/other", requests=FULL)
    web = pod("web", owner="Job/web", labels=WEB, **spread({"topologyKey": ZONE}))
    result = plan(zoned("a", "1"), zoned("b", "2"), old, other, web)
    assert where(result) == {"web": "bind a"}


def test_a_node_without_the_keys_of_all_constraints_is_not_counted() -> None:
    there = pod("there", on="a", owner="Job/there", labels=WEB)
    constraints = spread({"topologyKey": ZONE}, {"topologyKey": HOST, "maxSkew": 2})
    lone = zoned("b", "2")
    del lone["metadata"]["labels"][ZONE]
    lone["metadata"]["labels"]["other"] = "x"
    web = pod("web", owner="Job/web", labels=WEB, **constraints)
    assert where(plan(zoned("a", "1"), lone, there, web)) == {"web": "bind a"}


@pytest.mark.parametrize("selector", [{"labelSelector": {}}, {"labelSelector": None}])
def test_a_spread_over_nobody_never_refuses_but_wants_its_key(selector: dict[str, Any]) -> None:
    there = [pod(f"there-{i}", on="a", owner=f"Job/t{i}", labels=WEB) for i in range(3)]
    constraints = spread({"topologyKey": ZONE, **selector})
    web = pod("web", owner="Job/web", labels=WEB, requests={"cpu": "5"}, **constraints)
    others = [zoned("b", "2", cpu="1"), zoned("lone")]
    assert where(plan(zoned("a", "1"), *others, *there, web)) == {"web": "bind a"}


@pytest.mark.parametrize(("policy", "expected"), [("Honor", {"web": "bind a"}), ("Ignore", {})])
def test_tainted_nodes_count_for_a_spread_unless_it_honours_taints(
    policy: str, expected: dict[str, str]
) -> None:
    there = pod("there", on="a", owner="DaemonSet/there", labels=WEB)
    tainted = zoned("b", "2")
    tainted["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]
    constraints = spread({"topologyKey": ZONE, "nodeTaintsPolicy": policy})
    web = pod("web", owner="Job/web", labels=WEB, **constraints)
    assert where(plan(zoned("a", "1"), tainted, there, web)) == expected


AGENT = "node.kubernetes.io/not-ready"
FOR_A_TIME = {"key": AGENT, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}


def test_a_spread_that_honours_taints_counts_where_pods_may_stay_for_a_time() -> None:
    """Every pod tolerates for 300 seconds that its node is not ready; nobody arrives there."""
    there = pod("there", on="a", owner="DaemonSet/there", labels=WEB)
    down = zoned("b", "2")
    down["spec"]["taints"] = [{"key": AGENT, "effect": "NoExecute"}]
    constraints = spread({"topologyKey": ZONE, "nodeTaintsPolicy": "Honor"})
    web = pod("web", owner="Job/web", labels=WEB, tolerations=[FOR_A_TIME], **constraints)
    result = plan(zoned("a", "1"), down, there, web)
    assert where(result) == {}
    assert result.plan.unplaced[0].rule == "spread"
    aware = pod("web", owner="Job/web", labels=WEB, **constraints)
    assert where(plan(zoned("a", "1"), down, there, aware)) == {"web": "bind a"}


def test_anti_affinity_looks_only_at_the_namespaces_that_it_selects() -> None:
    names = [thing("v1", "Namespace", name, "") for name in ("default", "x", "y")]
    for item in names:
        item["metadata"]["labels"] = {"team": item["metadata"]["name"]}
    db = pod("db", on="a", owner="Job/db", namespace="x", labels=DB)
    chosen = {"namespaceSelector": {"matchLabels": {"team": "y"}}}
    web = pod("web", owner="Job/web", **near(HOST, "podAntiAffinity", **chosen))
    assert where(plan(zoned("a"), *names, db, web)) == {"web": "bind a"}
    # Without the namespaces' labels each may be meant; the name is one that all have.
    assert where(plan(zoned("a"), db, web)) == {}
    by_name = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "y"}}}
    web = pod("web", owner="Job/web", **near(HOST, "podAntiAffinity", **by_name))
    assert where(plan(zoned("a"), db, web)) == {"web": "bind a"}


def test_affinity_to_namespaces_that_nobody_can_tell_is_left_out_and_said() -> None:
    db = pod("db", on="a", owner="Job/db", namespace="x", labels=DB)
    chosen = {"namespaceSelector": {"matchLabels": {"team": "x"}}}
    web = pod("web", owner="Job/web", **near(HOST, **chosen))
    result = plan(zoned("a"), db, web)
    assert where(result) == {}
    assert [item.features for item in result.plan.not_modelled] == [("namespaces",)]
    told = thing("v1", "Namespace", "x", "")
    told["metadata"]["labels"] = {"team": "x"}
    own = thing("v1", "Namespace", "default", "")
    assert where(plan(zoned("a"), told, own, db, web)) == {"web": "bind a"}


@pytest.mark.parametrize(("field", "goes"), [("matchLabelKeys", "b"), ("mismatchLabelKeys", "a")])
def test_own_values_of_label_keys_are_part_of_the_selector_of_pods_to_be_made(
    field: str, goes: str
) -> None:
    old = pod("old", on="a", owner="Job/old", labels={**DB, "ver": "1"})
    new = pod("new", on="b", owner="Job/new", labels={**DB, "ver": "2"})
    web = pod("web", labels={"ver": "2"}, **near(HOST, **{field: ["ver"]}))
    template = {"metadata": {"labels": {"ver": "2"}}, "spec": web["spec"]}
    roles = [{"name": "main", "count": 1, "template": template}]
    waits = thing("kueue.x-k8s.io/v1beta2", "Workload", "web", podSets=roles)
    assert where(plan(zoned("a"), zoned("b"), old, new, waits)) == {"web": f"bind {goes}"}


def merged(field: str, operator: str, *, kind: str = "podAffinity") -> dict[str, Any]:
    """Company as the API server has it of a pod that was made with ver=1."""
    value = {"key": "ver", "operator": operator, "values": ["1"]}
    selector = {"matchLabels": {"app": "db"}, "matchExpressions": [value]}
    return near(HOST, kind, labelSelector=selector, **{field: ["ver"]})


@pytest.mark.parametrize(
    ("field", "operator", "goes"),
    [("matchLabelKeys", "In", "a"), ("mismatchLabelKeys", "NotIn", "b")],
)
def test_label_keys_of_a_pod_mean_the_values_that_it_was_made_with(
    field: str, operator: str, goes: str
) -> None:
    """The API server writes them into the selector once; the scheduler looks at nothing else."""
    old = pod("old", on="a", owner="Job/old", labels={**DB, "ver": "1"})
    new = pod("new", on="b", owner="Job/new", labels={**DB, "ver": "2"})
    web = pod("web", owner="Job/web", labels={"ver": "2"}, **merged(field, operator))
    assert where(plan(zoned("a"), zoned("b"), old, new, web)) == {"web": f"bind {goes}"}


def test_label_keys_of_a_pod_that_was_made_without_the_label_mean_nothing() -> None:
    company = near(HOST, "podAntiAffinity", matchLabelKeys=["ver"])
    old = pod("old", on="a", owner="Job/old", labels={**DB, "ver": "1"}, **company)
    web = pod("web", owner="Job/web", labels={**DB, "ver": "2"})
    assert where(plan(zoned("a"), zoned("b"), old, web)) == {"web": "bind b"}


def test_nobody_comes_near_a_pod_that_terminates_nor_is_the_first_beside_it() -> None:
    db = pod("db", on="a", owner="Job/db", labels=DB, metadata=LEAVING)
    web = pod("web", owner="Job/web", labels=DB, **near(HOST))
    assert where(plan(zoned("a"), zoned("b"), db, web)) == {}
    assert where(plan(zoned("a"), zoned("b"), web)) != {}
