"""Room of nodes that Kueue has assigned to a Workload by topology is given to nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.certificates.between import Between, became_of
from kantopt.planning.certify import certify
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Import, question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.plan import Plan
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, job, node, noted, pod, read, thing
from tests.formats.test_kueue_workloads import placed, workload

HOST = "kubernetes.io/hostname"
NODES = [node(name, {HOST: f"host-{name}"}) for name in "ab"]
ON_BOTH = {
    "levels": [HOST],
    "slices": [
        {
            "domainCount": 2,
            "podCounts": {"individual": [1, 1]},
            "valuesPerLevel": [{"individual": {"prefix": "host-", "roots": ["a", "b"]}}],
        }
    ],
}
GATES = [{"name": "kueue.x-k8s.io/topology"}]
EIGHT = {"cpu": "8"}


def podsets(count: int) -> list[Object]:
    container = {"name": "c", "resources": {"requests": EIGHT}}
    return [{"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}]


def cluster(policy: str = "Never") -> list[Object]:
    quota = {"name": "cpu", "nominalQuota": "100"}
    groups = [{"flavors": [{"name": "f", "resources": [quota]}]}]
    whole = thing("kueue.x-k8s.io/v1beta2", "ClusterQueue", "shared", "", resourceGroups=groups)
    whole["spec"]["preemption"] = {"withinClusterQueue": policy}
    local = thing("kueue.x-k8s.io/v1beta2", "LocalQueue", "lq", clusterQueue="shared")
    flavor = thing("kueue.x-k8s.io/v1beta2", "ResourceFlavor", "f", "", topologyName="t")
    given = workload("w", "Job/train", placed(**ON_BOTH), priority=0, podSets=podsets(2))
    high = workload("high", "Job/high", priority=9, podSets=podsets(1))
    return [*NODES, whole, local, flavor, given, high]


def train(i: int, **more: Any) -> Object:
    return pod(f"p{i}", owner="Job/train", requests=EIGHT, priority=0, **more)


def planned(*objects: Object) -> Plan:
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    question = question_of([RawDocument("dump.json", 0, dump)])
    return make_plan(question, load_model("mixed"), Options(), Deadline.within(20)).plan


STARTED = {
    "gated": [train(0, on="a"), train(1, schedulingGates=GATES)],
    "let go": [train(0, on="a"), train(1, nodeSelector={HOST: "host-b"})],
    "let go before others": [
        train(0, schedulingGates=GATES),
        train(1, nodeSelector={HOST: "host-b"}),
    ],
    "no pods yet": [],
    "one to come": [train(0, on="a")],
}


@pytest.mark.parametrize("pods", STARTED.values(), ids=STARTED)
def test_pods_count_as_placed_on_the_nodes_that_kueue_has_assigned_them(
    pods: list[Object],
) -> None:
    found = read(*cluster(), *pods)
    sets = job(found.snapshot.jobs, "w").pod_sets
    there = {each.node: role.nominated for role in sets for each in role.assignments}
    runs = {"a": False} if any(item["spec"]["nodeName"] for item in pods) else {"a": True}
    assert there == {**runs, "b": True}
    assert {ref.name for role in sets for ref in role.refs} == {
        item["metadata"]["name"] for item in pods
    }
    assert noted(found, "assigned a node by Kueue count as placed there")
    assert not planned(*cluster(), *pods).assignments


def test_who_is_more_important_evicts_all_of_a_job_for_the_room_of_a_pod_that_is_yet_to_come() -> (
    None
):
    plan = planned(*cluster("LowerPriority"), *STARTED["gated"])
    assert [item.job for item in plan.assignments] == ["default/high"]
    assert sum(item.count for item in plan.evictions) == 2


def test_pods_without_room_on_the_node_that_kueue_has_assigned_them_wait() -> None:
    other = pod("other", on="b", owner="Job/other", requests=EIGHT)
    found = read(*cluster(), *STARTED["gated"], other)
    assert [job(found.snapshot.jobs, "w").pod_sets[i].waiting for i in (0, 1)] == [0, 1]


def certified(first: list[Object], later: list[Object]) -> Certificate:
    documents = [
        [RawDocument("dump.json", 0, {"apiVersion": "v1", "kind": "List", "items": items})]
        for items in (first, later)
    ]
    model, question = load_model("mixed"), question_of(documents[0])
    found = became_of(question, *documents, Import(), model)
    assert isinstance(found, Between)
    return certify(question, model, Options(), Deadline.within(20), later=found)


def test_of_two_dumps_none_says_that_pods_which_are_yet_to_come_have_gone() -> None:
    certificate = certified(cluster(), cluster())
    assert (certificate.verdict, certificate.findings) == ("OPTIMAL", ())


def test_pods_that_came_where_kueue_has_assigned_them_since_are_judged() -> None:
    before = [
        {**item, "status": {}} if item["metadata"]["name"] == "w" else item for item in cluster()
    ]
    pods = [train(i, on=n, nodeSelector={HOST: f"host-{n}"}) for i, n in enumerate("ab")]
    certificate = certified(before, [*cluster(), *pods])
    assert certificate.history is not None
    assert certificate.history.arrived == 2
    better = certificate.counter_example
    assert better is not None
    assert better.tier == "unplaced[priority=9, CPU-only pods]"
