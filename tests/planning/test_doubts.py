"""What is allowed and hardly meant is told, and named; what is meant is not talked about."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.planning.question import Question, question_of
from kantopt.schema.base import API_VERSION
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import node, pod, thing

NODE = {"name": "a", "allocatable": {"cpu": 4, "memory": "16Gi", "nvidia.com/gpu": 8}}


def pods(count: int = 1, **requests: Any) -> dict[str, Any]:
    return {"count": count, "requests": {"cpu": 1, **requests}}


def job(name: str, podset: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": name, "podSets": [podset], **more}


def budget(name: str, **labels: str) -> dict[str, Any]:
    return {"name": name, "selector": {"matchLabels": labels}, "minAvailable": 1}


POOLS = [{**NODE, "name": name, "labels": {"pool": name, "zone": "z"}} for name in ("a100", "h100")]
FEW = {"cpu": 4, "memory": "16Gi", "nvidia.com/gpus": 8}


def one_of(key: str, *values: str) -> dict[str, Any]:
    """A term of node affinity."""
    return {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}


QUEUE = {
    "name": "q",
    "resources": [
        {"name": "nvidia.com/gpus", "nominalQuota": 4},
        {"name": "amd.com/gpu", "nominalQuota": 0},
        {"name": "pods", "nominalQuota": 9},
    ],
}


def asked(listed: list[dict[str, Any]], **snapshot: Any) -> Question:
    head = {"apiVersion": API_VERSION}
    return question_of(
        [
            RawDocument("s", 0, {**head, "kind": "ClusterSnapshot", "nodes": [NODE], **snapshot}),
            RawDocument("j", 0, {**head, "kind": "JobList", "jobs": listed}),
        ]
    )


@pytest.mark.parametrize(
    ("jobs", "snapshot", "expected"),
    [
        (
            [job("x", pods(), queueName="q"), job("y", pods(), queueName="q")],
            {},
            "queue q of default/x and 1 more is unknown, for the snapshot lists none: it has no "
            "quota",
        ),
        (
            [job("x", pods(), priorityClassName="high")],
            {},
            "priority class high of default/x is unknown, for the snapshot lists none: it "
            "counts as none",
        ),
        (
            [job("x", pods(**{"nvidia.com/gpuu": 1}))],
            {},
            "default/x asks for nvidia.com/gpuu, which no node offers "
            "(did you mean nvidia.com/gpu?)",
        ),
        (
            [job("x", pods(**{"nvidia.com/gpuu": 1})), job("y", pods(**{"nvidia.com/gpuu": 1}))],
            {},
            "default/x and 1 more ask for nvidia.com/gpuu, which no node offers "
            "(did you mean nvidia.com/gpu?)",
        ),
        (
            [job("x", pods() | {"nodeSelector": {"pool": "H100", "zone": "z"}})],
            {"nodes": POOLS},
            "default/x asks for label pool=H100, which no node offers (did you mean h100?)",
        ),
        (
            [job("x", pods() | {"nodeSelector": {"pool": "b7"}})],
            {"nodes": POOLS},
            "default/x asks for label pool=b7, which no node offers (nodes have: a100, h100)",
        ),
        (
            [job(name, pods() | {"nodeAffinity": [one_of("pol", "h100")]}) for name in "xy"],
            {"nodes": POOLS},
            "default/x and 1 more ask for label pol=h100, which no node offers "
            "(did you mean pool?)",
        ),
        (
            [job("x", pods(**{"nvidia.com/gpu": 1}))],
            {"nodes": [NODE, {**NODE, "name": "b"}, {"name": "c", "allocatable": FEW}]},
            "node c has nvidia.com/gpus, which nobody asks for (did you mean nvidia.com/gpu?)",
        ),
        (
            [job("x", {**pods(2), "assignments": [{"node": "a"}]})],
            {},
            "assignments of default/x stand in a JobList, which is for pending jobs: their pods "
            "count as running",
        ),
        (
            [job("x", pods(memory=64))],
            {},
            "memory: 64 of default/x is 64 without a unit for bytes, perhaps 64Gi is meant",
        ),
        (
            [job("x", pods(memory="500m"))],
            {},
            "memory: 500m of default/x is 500m without a unit for bytes",
        ),
        (
            [],
            {"nodes": [{**NODE, "allocatable": {"memory": 512}}]},
            "memory: 512 of node a is 512 without a unit for bytes, perhaps 512Gi is meant",
        ),
        ([], {"nodes": []}, "the snapshot has no nodes"),
        (
            [job("x", pods())],
            {"queues": [QUEUE, {**QUEUE, "name": "r"}]},
            "queue q and 1 more have quotas of nvidia.com/gpus, which no node has, so that it "
            "limits nothing (did you mean nvidia.com/gpu?)",
        ),
        (
            [],
            {"queues": [{"name": "q", "resources": [{"name": "fpga", "nominalQuota": 4}]}]},
            "queue q has a quota of fpga, which no node has, so that it limits nothing",
        ),
        (
            [],
            {
                "topology": {"levels": [{"name": "rack", "nodeLabel": "example.com/rack"}]},
                "nodes": [
                    {**NODE, "labels": {"example.com/rack": "r"}},
                    *({**NODE, "name": name, "labels": {"rak": "r"}} for name in "bcdef"),
                ],
            },
            "5 of 6 nodes have no example.com/rack and are in no rack: b, c, d and 2 more",
        ),
        (
            [],
            {"topology": {"levels": [{"name": "rack", "nodeLabel": "example.com/rack"}]}},
            "no node has example.com/rack, so that there is no rack",
        ),
        (
            [job("x", {**pods(), "labels": {"app": "chat"}})],
            {
                "podDisruptionBudgets": [
                    budget("chat", app="chat"),
                    budget("chats", app="chats"),
                    {**budget("away", app="chat"), "namespace": "other"},
                ]
            },
            "disruption budget default/chats and 1 more select no pod that was read",
        ),
    ],
)
def test_it_is_named(jobs: list[Any], snapshot: dict[str, Any], expected: str) -> None:
    assert asked(jobs, **snapshot).notes == (expected,)


def test_what_is_meant_is_not_talked_about() -> None:
    queue = {"name": "q", "resources": [{"name": "memory", "nominalQuota": "64Gi"}]}
    classes = [{"name": "high", "value": 9}]
    known = job("x", pods(memory="1Gi"), queueName="q", priorityClassName="high")
    own = job("y", pods(memory=2**30, **{"nvidia.com/gpux": 0}), priority=3)
    assert asked([known, own], queues=[queue], priorityClasses=classes).notes == ()


def test_of_labels_and_resources_that_may_be_meant_nothing_is_said() -> None:
    """A job may go elsewhere, runs already, or nodes have either thing."""
    term = one_of("pool", "b100")
    runs = {"nodeSelector": {"pool": "b100"}, "assignments": [{"node": "a100"}]}
    jobs = [
        job("x", pods() | {"nodeAffinity": [term, one_of("pool", "h100")]}),
        job("y", pods() | {"nodeAffinity": [one_of("pool", "b100", "h100")]}),
    ]
    assert asked(jobs, nodes=POOLS, jobs=[job("r", pods() | runs)]).notes == ()
    here = {"nodeSelector": {"kubernetes.io/hostname": "a"}}
    assert asked([job("x", pods() | here)]).notes == ()
    for names in (
        ("nvidia.com/mig-1g.5gb", "nvidia.com/mig-2g.5gb"),
        ("rdma/hca_a", "rdma/hca_b"),
        ("amd.com/gpu", "nvidia.com/gpu"),
    ):
        nodes = [{"name": str(i), "allocatable": {"cpu": 4, names[min(i, 1)]: 1}} for i in range(3)]
        assert asked([], nodes=nodes).notes == ()
    both = {"name": "b", "allocatable": {**FEW, "nvidia.com/gpu": 8}}
    assert asked([], nodes=[NODE, {**NODE, "name": "c"}, both]).notes == ()


def test_a_label_that_no_node_of_a_dump_has_is_named_as_well() -> None:
    items = [node("a", labels={"pool": "h100"}), pod("x", nodeSelector={"pool": "H100"})]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    said = "asks for label pool=H100, which no node offers (did you mean h100?)"
    assert f"default/app {said}" in question_of([RawDocument("k", 0, dump)]).notes


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("reservation.slurm/maint1", ""),
        ("feature.slurm/nosuch", ""),
        ("feature.slurm/nvem", " (did you mean feature.slurm/nvme?)"),
        ("featur.slurm/nvme", " (did you mean feature.slurm/nvme?)"),
    ],
)
def test_of_a_key_only_the_prefix_or_the_name_is_taken_for_mistyped(key: str, meant: str) -> None:
    """The prefix that many keys share makes none of them like another."""
    labels = {"partition.slurm/main": "true", "feature.slurm/h": "true", "feature.slurm/nvme": "1"}
    notes = asked(
        [job("x", pods() | {"nodeSelector": {key: "true"}})], nodes=[{**NODE, "labels": labels}]
    ).notes
    assert notes == (f"default/x asks for label {key}=true, which no node offers{meant}",)


def test_names_are_looked_up_in_what_was_imported_too() -> None:
    bare = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a"}}
    bare["status"] = {"allocatable": {"cpu": "4"}}
    listed = {
        "apiVersion": API_VERSION,
        "kind": "JobList",
        "jobs": [job("x", pods(), queueName="q", priorityClassName="high")],
    }
    notes = question_of([RawDocument("k", 0, bare), RawDocument("j", 0, listed)]).notes
    assert [note for note in notes if "default/x" in note] == [
        "queue q of default/x is unknown, for the snapshot lists none: it has no quota",
        "priority class high of default/x is unknown, for the snapshot lists none: it "
        "counts as none",
    ]


def test_a_dump_is_doubted_like_other_documents() -> None:
    items = [
        node("a"),
        pod("x", on="a", requests={"cpu": "1", "memory": "64"}),
        pod("y", requests={"memory": "64"}, owner="ReplicaSet/y"),
        thing(
            "policy/v1", "PodDisruptionBudget", "away", selector={"matchLabels": {"app": "away"}}
        ),
    ]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    assert question_of([RawDocument("k", 0, dump)]).notes == (
        "disruption budget default/away selects no pod that was read",
        "memory: 64 of default/app and 1 more is 64 without a unit for bytes, perhaps 64Gi is "
        "meant",
    )
