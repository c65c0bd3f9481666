"""Claims that wait, and the volumes, the room for volumes and the disks that pods contend for."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.explain.run import explain
from kantopt.planning.question import question_of
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.raw import RawDocument
from kantopt.verify.rules import check
from tests.formats.cluster_objects import Object, node, pod, read
from tests.formats.test_volumes import MIXED, ZONE, _plan

LOCAL = "kubernetes.io/no-provisioner"
HOST = "kubernetes.io/hostname"


def nodes(count: int = 3) -> list[Object]:
    return [node(name, {HOST: name, ZONE: "z1" if name < "c" else "z2"}) for name in "abcd"[:count]]


def storage_class(by: str = LOCAL, **more: Any) -> Object:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}}
    return {**head, "provisioner": by, "volumeBindingMode": "WaitForFirstConsumer", **more}


def claim(name: str, size: str = "10Gi", **spec: Any) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "uid": f"u-{name}"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "resources": {"requests": {"storage": size}},
            **spec,
        },
        "status": {"phase": "Pending"},
    }


def volume(
    name: str,
    key: str = "",
    *values: str,
    size: str = "10Gi",
    phase: str = "Available",
    **spec: Any,
) -> Object:
    metadata = {"name": name, "labels": spec.pop("labels", {})}
    affinity: Object = {}
    if key:
        term = {"matchExpressions": [{"key": key, "operator": "In", "values": list(values)}]}
        affinity = {"nodeAffinity": {"required": {"nodeSelectorTerms": [term]}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": metadata,
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "capacity": {"storage": size},
            **affinity,
            **spec,
        },
        "status": {"phase": phase},
    }


def user(name: str, *claims: str, **more: Any) -> Object:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, volumes=volumes, owner="StatefulSet/db", **more)


def instance_of(*objects: Object) -> Instance:
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    return question_of([RawDocument("dump.json", 0, dump)]).instance(MIXED)


def open_nodes(*objects: Object) -> str:
    """Nodes that the judge admits a dump's one pending pod to."""
    instance = instance_of(*objects)
    waiting = [podset.index for podset in instance.podsets if not podset.running]
    if not waiting:
        return "left out"
    return " ".join(
        found.name
        for found in instance.nodes
        if not check(instance, instance.current.replace({waiting[0]: {Spot(found.index): 1}}))
    )


def placed(*objects: Object) -> dict[str, int]:
    """Pods that a plan binds, by node."""
    plan = _plan(*objects).plan
    found: dict[str, int] = {}
    for item in plan.assignments:
        found[item.node] = found.get(item.node, 0) + item.count
    return found


@pytest.mark.parametrize(
    ("objects", "where"),
    [
        ([claim("c"), volume("v", HOST, "b")], "b"),
        ([claim("c"), volume("v", HOST, "b"), volume("w", HOST, "c", size="20Gi")], "b c"),
        ([claim("c"), volume("v", ZONE, "z1")], "a b"),
        ([claim("c"), volume("v")], "a b c"),
        ([claim("c"), volume("v", HOST, "b", size="9Gi")], ""),
        ([claim("c"), volume("v", HOST, "b", phase="Released")], ""),
        ([claim("c"), volume("v", HOST, "b", storageClassName="slow")], ""),
        ([claim("c", accessModes=["ReadWriteMany"]), volume("v", HOST, "b")], ""),
        ([claim("c", volumeMode="Block"), volume("v", HOST, "b")], ""),
        (
            [
                claim("c", selector={"matchLabels": {"tier": "ssd"}}),
                volume("v", HOST, "b"),
                volume("w", HOST, "c", labels={"tier": "ssd"}),
            ],
            "c",
        ),
        (
            [
                claim("c"),
                volume("v", HOST, "b"),
                volume("w", HOST, "c", claimRef={"name": "c", "namespace": "default"}),
            ],
            "c",
        ),
        (
            [
                claim("c"),
                volume("v", HOST, "b"),
                volume("w", HOST, "c", claimRef={"name": "other", "namespace": "default"}),
            ],
            "b",
        ),
        (
            [
                claim("c"),
                volume("v", HOST, "b"),
                volume(
                    "w", HOST, "c", claimRef={"name": "c", "namespace": "default", "uid": "old"}
                ),
            ],
            "b",
        ),
        ([claim("c"), volume("v", HOST, "b", volumeAttributesClassName="gold")], "left out"),
    ],
)
def test_a_waiting_claim_takes_a_volume_that_suits_it(objects: list[Object], where: str) -> None:
    assert open_nodes(*nodes(), storage_class(), user("p", "c"), *objects) == where


def test_pods_are_bound_only_as_long_as_there_are_volumes_on_the_node() -> None:
    """Three pods, two volumes on one node and one on another: the fourth node has none."""
    claims = [claim(f"c{i}") for i in range(4)]
    users = [user(f"p-{i}", f"c{i}") for i in range(4)]
    volumes = [volume("v", HOST, "b"), volume("w", HOST, "b"), volume("x", HOST, "c")]
    assert placed(*nodes(4), storage_class(), *claims, *users, *volumes) == {"b": 2, "c": 1}


def test_large_claims_are_served_only_by_large_volumes_which_small_ones_may_take_too() -> None:
    objects = [
        *nodes(),
        storage_class(),
        *[claim("large", "50Gi"), claim("small"), claim("more")],
        *[volume("v", HOST, "a", size="50Gi"), volume("w", HOST, "a", size="20Gi")],
    ]
    users = [user("p-0", "large"), user("p-1", "small"), user("p-2", "more")]
    assert placed(*objects, *users) == {"a": 2}
    assert placed(*objects, user("p-0", "large", "small")) == {"a": 1}
    assert placed(*objects, user("p-0", "small", "more")) == {"a": 1}
    assert placed(*objects, claim("huge", "50Gi"), user("p-0", "large", "huge")) == {}


def test_volumes_of_several_nodes_count_where_there_are_enough_for_all() -> None:
    users = [user(f"p-{i}", f"c{i}") for i in range(2)]
    objects = [*nodes(), storage_class(), claim("c0"), claim("c1"), *users, volume("v", ZONE, "z1")]
    assert open_nodes(*objects) == "left out"
    assert sum(placed(*objects, volume("w", ZONE, "z1")).values()) == 2
    assert read(*objects).pending.jobs[0].pod_sets[0].not_modelled == ("claims",)


def test_a_claim_that_several_pods_use_is_not_read() -> None:
    users = [user("p-0", "c"), user("p-1", "c")]
    assert open_nodes(*nodes(), storage_class(), claim("c"), volume("v"), *users) == "left out"


@pytest.mark.parametrize(
    ("objects", "where"),
    [
        ([volume("v", HOST, "a")], "a c"),
        ([volume("v", HOST, "a", size="1Gi")], "c"),
        ([volume("v")], "a b c"),
        ([volume("v", HOST, "a"), user("q", "d"), claim("d")], "left out"),
    ],
)
def test_a_volume_serves_where_none_can_be_made(objects: list[Object], where: str) -> None:
    topology = [{"matchLabelExpressions": [{"key": ZONE, "values": ["z2"]}]}]
    made = storage_class("x.csi", allowedTopologies=topology)
    assert open_nodes(*nodes(), made, claim("c"), user("p", "c"), *objects) == where


def csi_node(name: str, *keys: str) -> Object:
    drivers = [{"name": "x.csi", "nodeID": name, "topologyKeys": list(keys)}]
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": name}}
    return {**head, "spec": {"drivers": drivers}}


@pytest.mark.parametrize(
    ("keys", "zones", "where"),
    [
        ([], "", "a b c"),
        ([ZONE], "", "left out"),
        ([ZONE], "z1", "a b"),
        ([HOST], "z1", "left out"),
        ([HOST], "z2", "c"),
        ([], "z1 z2", "left out"),
        (None, "", "left out"),
        (None, "z2", "c"),
    ],
)
def test_pods_that_share_a_claim_go_where_its_volume_will_be_whoever_is_first(
    keys: list[str] | None, zones: str, where: str
) -> None:
    told = [] if keys is None else [csi_node(name, *keys) for name in "abc"]
    topology = [{"matchLabelExpressions": [{"key": ZONE, "values": zones.split()}]}]
    made = storage_class("x.csi", **({"allowedTopologies": topology} if zones else {}))
    users = [user("p-0", "c"), user("p-1", "c")]
    assert open_nodes(*nodes(), made, claim("c"), *told, *users) == where


def test_where_volumes_can_be_made_anywhere_free_ones_do_not_matter() -> None:
    objects = [storage_class("x.csi"), claim("c"), user("p", "c"), volume("v", HOST, "a")]
    assert open_nodes(*nodes(), *objects) == "a b c"


DRIVER: Object = {
    "apiVersion": "storage.k8s.io/v1",
    "kind": "CSIDriver",
    "metadata": {"name": "x.csi"},
    "spec": {"storageCapacity": True},
}


def capacity(name: str, labels: dict[str, str] | None, **amounts: str) -> Object:
    topology = {} if labels is None else {"nodeTopology": {"matchLabels": labels}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": name, "namespace": "kube-system"},
        "storageClassName": "fast",
        **topology,
        **amounts,
    }


@pytest.mark.parametrize(
    ("told", "where"),
    [
        ([], "left out"),
        ([capacity("x", {HOST: "a"}, capacity="10Gi")], "a"),
        ([capacity("x", {HOST: "a"}, capacity="9Gi")], ""),
        ([capacity("x", {HOST: "a"})], ""),
        ([capacity("x", None, capacity="99Gi")], ""),
        ([capacity("x", {}, capacity="99Gi")], "a b c"),
        ([capacity("x", {ZONE: "z1"}, capacity="10Gi")], "a b"),
        ([capacity("x", {HOST: "a"}, capacity="99Gi", maximumVolumeSize="5Gi")], ""),
        (
            [capacity(n, {HOST: n}, capacity=f"{9 + i}Gi") for i, n in enumerate("abc")],
            "b c",
        ),
    ],
)
def test_a_volume_is_made_only_where_there_is_capacity_for_it(
    told: list[Object], where: str
) -> None:
    objects = [storage_class("x.csi"), DRIVER, claim("c"), user("p", "c"), *told]
    assert open_nodes(*nodes(), *objects) == where


def test_pods_share_the_capacity_of_a_node() -> None:
    objects = [*nodes(), storage_class("x.csi"), DRIVER, *[claim(f"c{i}") for i in range(4)]]
    users = [user(f"p-{i}", f"c{i}") for i in range(4)]
    told = [
        capacity("x", {HOST: "a"}, capacity="25Gi"),
        capacity("y", {HOST: "b"}, capacity="10Gi"),
    ]
    assert placed(*objects, *users, *told) == {"a": 2, "b": 1}
    zone = [capacity("x", {ZONE: "z1"}, capacity="25Gi")]
    assert open_nodes(*objects, *users, *zone) == "left out"
    wide = [capacity("x", {ZONE: "z1"}, capacity="40Gi")]
    assert sum(placed(*objects, *users, *wide).values()) == 4


def _served(wanted: list[tuple[str, int]], there: list[tuple[str, int]]) -> bool:
    """Whether claims (node, size) can have a volume (nodes, size) each: by trying."""
    if not wanted:
        return True
    (at, size), *rest = wanted
    return any(
        at in reach and size <= large and _served(rest, there[:i] + there[i + 1 :])
        for i, (reach, large) in enumerate(there)
    )


def test_amounts_say_just_where_all_claims_can_have_a_volume_each() -> None:
    told = {True: 0, False: 0}
    left_out = 0
    for seed in range(200):
        rng = random.Random(seed)
        there = [
            (rng.choice(("a", "b", "c", "a", "ab", "abc")), rng.choice((1, 2, 3)))
            for _ in range(rng.randint(1, 6))
        ]
        sizes = [rng.choice((1, 1, 2, 3)) for _ in range(rng.randint(1, 3))]
        volumes = [
            volume(f"v{i}", HOST, *reach, size=f"{size}Gi") for i, (reach, size) in enumerate(there)
        ]
        claims = [claim(f"c{i}", f"{size}Gi") for i, size in enumerate(sizes)]
        users = [user(f"p-{i}", f"c{i}") for i in range(len(sizes))]
        found = read(*nodes(), storage_class(), *volumes, *claims, *users)
        podsets = {p.name: s for j in found.pending.jobs for s in j.pod_sets for p in s.pods}
        if any(podset.not_modelled for podset in podsets.values()):
            left_out += 1
            continue
        room = {item.name: item.allocatable for item in found.snapshot.nodes}
        for places in product("abc", repeat=len(sizes)):
            asked: Counter[tuple[str, str]] = Counter()
            nowhere = False
            for i, at in enumerate(places):
                podset = podsets[f"p-{i}"]
                nowhere = nowhere or bool(podset.volume_node_affinity)
                for name, amount in podset.requests.items():
                    if name.startswith("free-volumes-"):
                        asked[at, name] += int(amount)
            fits = not nowhere and all(n <= int(room[at][name]) for (at, name), n in asked.items())
            assert fits == _served(list(zip(places, sizes, strict=True)), there), seed
            told[fits] += 1
    assert min(told.values()) > 200, told
    assert 20 < left_out < 100


def words_about(*objects: Object) -> str:
    """What an explanation of the one pending job says about nodes."""
    dump = {"apiVersion": "v1", "kind": "List", "items": [*nodes(), *objects]}
    question = question_of([RawDocument("dump.json", 0, dump)])
    (job,) = question.pending
    name = f"{job.namespace}/{job.name}"
    *_, told = explain(question, MIXED, name, Deadline.within(60))
    return told.pod_sets[0].message


def test_explanations_say_it_as_kube_scheduler_does() -> None:
    objects = [storage_class(), claim("c"), user("p", "c"), volume("v", HOST, "a", size="20Gi")]
    words = "2 node(s) didn't find available persistent volumes to bind"
    assert words in words_about(*objects)
