"""Nodes that KAI's shards and Volcano's queues keep pods to."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.formats.exports import EXPORTS
from kantopt.formats.imported import Imported
from kantopt.formats.kubernetes.objects import flatten
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.yaml.text import parse_yaml
from tests.formats.cluster_objects import Object, node, noted, pod, read, thing

SHARD = "kai.scheduler/node-pool"
GROUP = "volcano.sh/nodegroup-name"
SHARDS = [node("a", {SHARD: "pool-a"}), node("b", {SHARD: "pool-b"}), node("c")]


def allowed(imported: Imported) -> set[str]:
    """Nodes to which the affinity of the only job lets its pods go."""
    (role,) = imported.pending.jobs[0].pod_sets
    nodes = imported.snapshot.nodes
    return {item.name for item in nodes if affinity_matches(role.node_affinity, item)}


def of_kai(group: Object | None = None, own: Object | None = None, **spec: Any) -> list[Object]:
    made = thing("scheduling.run.ai/v2alpha2", "PodGroup", "g", minMember=1)
    made["metadata"]["labels"] = group or {}
    annotations = {"pod-group-name": "g"}
    return [made, pod("p", annotations=annotations, labels=own, **spec)]


@pytest.mark.parametrize(
    ("group", "own", "nodes"),
    [
        ({SHARD: "pool-a"}, {}, {"a"}),
        ({}, {SHARD: "pool-b"}, {"b"}),
        ({SHARD: "pool-a"}, {SHARD: "pool-b"}, {"a"}),
        ({}, {}, {"c"}),
    ],
)
def test_a_shard_keeps_its_jobs_to_its_nodes(group: Object, own: Object, nodes: set[str]) -> None:
    imported = read(*SHARDS, *of_kai(group, own))
    assert allowed(imported) == nodes
    text, _ = EXPORTS["kai"].write(imported.snapshot, imported.pending.jobs)
    assert allowed(read(*flatten(parse_yaml(text, "list")[0]), gated=True)) == nodes


def test_without_shards_and_for_other_schedulers_nothing_is_asked_for() -> None:
    (role,) = read(node("a"), *of_kai()).pending.jobs[0].pod_sets
    assert role.node_affinity == ()
    assert allowed(read(*SHARDS, pod("p"))) == {"a", "b", "c"}


def test_a_shard_narrows_every_term_that_a_pod_has() -> None:
    terms = [
        {"matchExpressions": [{"key": SHARD, "operator": "In", "values": [name]}]}
        for name in ("pool-a", "pool-b")
    ]
    chosen = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
    affinity = {"nodeAffinity": chosen}
    assert allowed(read(*SHARDS, *of_kai({SHARD: "pool-a"}, affinity=affinity))) == {"a"}


GROUPS = [node("a", {GROUP: "grp-a"}), node("b", {GROUP: "grp-b"}), node("c")]
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def of_volcano(queue: str) -> list[Object]:
    version = "scheduling.volcano.sh/v1beta1"
    group = thing(version, "PodGroup", "g", minMember=1, queue=queue)
    return [group, pod("p", annotations={"scheduling.k8s.io/group-name": "g"})]


@pytest.mark.parametrize(
    ("rule", "nodes"),
    [("nodeGroupAffinity", {"a"}), ("nodeGroupAntiAffinity", {"b"})],
)
@pytest.mark.parametrize("made", [True, False], ids=["pods", "job"])
def test_a_queue_of_volcano_keeps_its_jobs_to_its_node_groups(
    rule: str, nodes: set[str], made: bool
) -> None:
    told = {rule: {_REQUIRED: ["grp-a"]}}
    queue = thing("scheduling.volcano.sh/v1beta1", "Queue", "q", "", affinity=told)
    task = {"name": "t", "replicas": 1, "template": {"spec": {"containers": []}}}
    job = thing("batch.volcano.sh/v1alpha1", "Job", "j", queue="q", tasks=[task])
    assert allowed(read(*GROUPS, queue, *(of_volcano("q") if made else [job]))) == nodes


@pytest.mark.parametrize(
    ("told", "nodes"),
    [
        ({}, {"a", "b", "c"}),
        ({"nodeGroupAffinity": {_PREFERRED: ["grp-a"]}}, {"a"}),
        ({"nodeGroupAffinity": {_REQUIRED: ["grp-a"], _PREFERRED: ["grp-b"]}}, {"a", "b"}),
        ({"nodeGroupAntiAffinity": {_REQUIRED: ["grp-a"], _PREFERRED: ["grp-b"]}}, {"b"}),
    ],
)
def test_groups_that_are_preferred_take_their_queue_and_no_others(
    told: Object, nodes: set[str]
) -> None:
    queue = thing("scheduling.volcano.sh/v1beta1", "Queue", "q", "", affinity=told)
    imported = read(*GROUPS, queue, *of_volcano("q"))
    assert allowed(imported) == nodes
    assert not told or noted(imported, "node groups queues prefer").endswith("1 (q)")
