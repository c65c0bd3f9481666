"""Volumes: claims tie pods to nodes, one pod at a time or none at all, as kube-scheduler has it."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import PodSet
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod, read, thing

MIXED = load_model("mixed")
ZONE = "topology.kubernetes.io/zone"
BETA = "failure-domain.beta.kubernetes.io/zone"


def _nodes() -> list[Object]:
    return [node("a", {ZONE: "z1"}), node("b", {ZONE: "z2"}), node("c")]


def _claim(name: str = "data", *, volume: str = "", **more: Any) -> Object:
    metadata: Object = {"name": name, "namespace": "default", **more.pop("metadata", {})}
    if volume:
        metadata["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "wait", "volumeName": volume}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": {**spec, **more},
        "status": {"phase": "Bound" if volume else "Pending"},
    }


def _volume(name: str, *zones: str, labels: Object | None = None, phase: str = "Bound") -> Object:
    spec: Object = {"storageClassName": "wait"}
    if zones:
        term = {"matchExpressions": [{"key": ZONE, "operator": "In", "values": list(zones)}]}
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    metadata = {"name": name, "labels": labels or {}}
    status = {"phase": phase}
    head = {"apiVersion": "v1", "kind": "PersistentVolume"}
    return {**head, "metadata": metadata, "spec": spec, "status": status}


def _class(mode: str = "WaitForFirstConsumer", *, by: str = "x.csi", **more: Any) -> Object:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "wait"}}
    return {**head, "provisioner": by, "volumeBindingMode": mode, **more}


def _user(name: str = "p", claim: str = "data", **more: Any) -> Object:
    volumes = [{"name": "v", "persistentVolumeClaim": {"claimName": claim}}]
    return pod(name, volumes=volumes, requests={"cpu": "1"}, **more)


def _plan(*objects: Object, **model: Any) -> Result:
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    question = question_of([RawDocument("dump.json", 0, dump)])
    return make_plan(question, MIXED.model_copy(update=model), Options(), Deadline.within(20))


def _podset(*objects: Object) -> PodSet:
    (job,) = read(*objects).pending.jobs
    return job.pod_sets[0]


def _open(*objects: Object) -> list[str]:
    """Nodes that a dump's one pending pod may go to."""
    dump = {"apiVersion": "v1", "kind": "List", "items": [*_nodes(), *objects]}
    instance = question_of([RawDocument("dump.json", 0, dump)]).instance(MIXED)
    if not instance.podsets:
        return ["left out"]
    return sorted(instance.nodes[n].name for n in instance.podsets[-1].allowed)


@pytest.mark.parametrize(
    ("objects", "nodes"),
    [
        ([_claim(volume="pv"), _volume("pv")], "a b c"),
        ([_claim(volume="pv"), _volume("pv", "z2")], "b"),
        ([_claim(volume="pv"), _volume("pv", labels={ZONE: "z1__z3"})], "a c"),
        ([_claim(volume="pv"), _volume("pv", "z1", "z2", labels={ZONE: "z1"})], "a"),
        ([_claim(volume="pv"), _volume("pv", labels={ZONE: ""})], "a b c"),
        ([_claim(volume="pv"), _volume("pv", labels={ZONE: "z1__"})], "a b c"),
        ([_claim(volume="gone"), _volume("pv")], ""),
        ([_claim(volume="gone")], "left out"),
        ([], "left out"),
        ([_claim()], "left out"),
        ([_claim(), _class()], "a b c"),
        ([_claim(), _class("Immediate")], ""),
        ([_claim(), _class(by="kubernetes.io/no-provisioner")], ""),
        (
            [
                _claim(),
                _class(
                    allowedTopologies=[
                        {"matchLabelExpressions": [{"key": ZONE, "values": ["z2", "z3"]}]}
                    ]
                ),
            ],
            "b",
        ),
        (
            [
                _claim(
                    metadata={"annotations": {"volume.kubernetes.io/selected-node": "b"}},
                ),
                _class(),
            ],
            "b",
        ),
        ([_claim(volume="pv", metadata={"deletionTimestamp": "now"}), _volume("pv")], ""),
    ],
)
def test_a_pod_may_go_where_its_claim_can_be_mounted(objects: list[Object], nodes: str) -> None:
    assert " ".join(_open(_user(), *objects)) == nodes


@pytest.mark.parametrize(
    ("of_volume", "of_node", "open_"),
    [(BETA, ZONE, True), (BETA, BETA, True), (ZONE, ZONE, True), (ZONE, BETA, False)],
)
def test_a_volume_with_a_zone_by_its_old_name_goes_where_nodes_tell_it_by_the_new_one(
    of_volume: str, of_node: str, open_: bool
) -> None:
    claim, volume = _claim(volume="pv"), _volume("pv", labels={of_volume: "z9"})
    assert ("d" in _open(node("d", {of_node: "z9"}), _user(), claim, volume)) is open_


def test_a_pod_of_several_claims_goes_only_where_all_of_them_can_be_mounted() -> None:
    volumes = [
        {"name": name, "persistentVolumeClaim": {"claimName": name}} for name in ("one", "two")
    ]
    claims = [_claim("one", volume="pv1"), _claim("two", volume="pv2")]

    both = [*claims, _volume("pv1", "z1", "z2"), _volume("pv2", "z2", "z3")]
    assert _open(pod("p", volumes=volumes), *both) == ["b"]


def test_a_pod_moves_only_to_where_its_volume_is() -> None:
    running = _user(on="a", owner="StatefulSet/db")
    blocked = pod("q", requests={"cpu": "8"}, nodeSelector={ZONE: "z1"}, priority=0)
    tied = [_claim(volume="pv"), _volume("pv", "z1"), running, blocked]
    free = [_claim(volume="pv"), _volume("pv"), running, blocked]

    assert _plan(*_nodes(), *tied).plan.moves == ()
    assert [move.from_node for move in _plan(*_nodes(), *free).plan.moves] == ["a"]


def test_of_two_pods_with_a_claim_for_one_pod_one_is_bound_anywhere() -> None:
    claim = _claim(volume="pv", accessModes=["ReadWriteOncePod"])
    dump = [*_nodes(), claim, _volume("pv"), _user("p"), _user("q")]

    assert _podset(*dump).exclusive_claims == ("default/data",)
    assert sum(item.count for item in _plan(*dump).plan.assignments) == 1
    assert _plan(*dump, _user("r", on="a")).plan.assignments == ()


@pytest.mark.parametrize(
    ("modes", "users", "nodes"),
    [
        (["ReadWriteOnce"], ["b"], "b"),
        (["ReadWriteOnce"], ["a", "b"], "a b"),
        (["ReadWriteOnce"], [""], "a b c"),
        (["ReadWriteOnce", "ReadWriteMany"], ["b"], "a b c"),
        (["ReadOnlyMany"], ["b"], "a b c"),
    ],
)
def test_a_pod_goes_where_its_claim_for_one_node_is_in_use(
    modes: list[str], users: list[str], nodes: str
) -> None:
    others = [_user(f"q-{i}", on=name) for i, name in enumerate(users)]
    claim = _claim(volume="pv", accessModes=modes)
    assert " ".join(_open(claim, _volume("pv"), *others, _user("p"))) == nodes


@pytest.mark.parametrize(
    ("mode", "volume", "most"),
    [("ReadWriteOnce", "pv", 2), ("ReadWriteMany", "pv", 3)],
)
def test_pods_that_wait_with_one_claim_for_one_node_come_to_one_node(
    mode: str, volume: str, most: int
) -> None:
    nodes = [node(name, {"kubernetes.io/hostname": name}, cpu="2") for name in "ab"]
    claim = _claim(volume=volume, accessModes=[mode])
    users = [_user(f"p{i}") for i in range(3)]
    plan = _plan(*nodes, claim, _volume("pv"), _class(), *users).plan
    assert sum(item.count for item in plan.assignments) == most
    assert (len({item.node for item in plan.assignments}) == 1) is (most == 2)


@pytest.mark.parametrize("keys", [[], ["zone", "kubernetes.io/hostname"]])
@pytest.mark.parametrize("labels", [{}, {"kubernetes.io/hostname": "b"}, {"zone": "z"}])
def test_pods_that_wait_with_one_claim_for_one_node_take_it_whatever_labels_it_lacks(
    labels: dict[str, str], keys: list[str]
) -> None:
    full = node("a", {"kubernetes.io/hostname": "a", ZONE: "z", "zone": "z"}, cpu="0")
    other = node("b", labels, cpu="2")
    claim = _claim(volume="pv", accessModes=["ReadWriteOnce"])
    users = [_user(f"p{i}") for i in range(2)]
    levels = [{"nodeLabel": key} for key in keys]
    tree = [thing("kueue.x-k8s.io/v1beta2", "Topology", "main", "", levels=levels)]
    plan = _plan(full, other, claim, _volume("pv"), _class(), *users, *(tree if keys else ())).plan
    assert [(item.node, item.count) for item in plan.assignments] == [("b", 2)]


def test_the_one_pod_of_a_job_that_waits_with_a_claim_for_one_node_goes_to_any_node() -> None:
    nameless = node("a")
    nameless["metadata"]["labels"].pop("kubernetes.io/hostname", None)
    users = [_user(f"p{i}", owner=f"Job/{i}") for i in range(2)]
    plan = _plan(nameless, _claim(volume="pv"), _volume("pv"), *users).plan
    assert sum(item.count for item in plan.assignments) == 2


def test_pods_that_wait_with_different_claims_for_one_node_come_to_a_node_each() -> None:
    nodes = [node(name, {"kubernetes.io/hostname": name}, cpu="2") for name in "ab"]
    claims = [(_claim(f"c{i}", volume=f"pv{i}"), _volume(f"pv{i}")) for i in range(2)]
    users = [_user(f"p{i}-{k}", f"c{i}") for i in range(2) for k in range(2)]
    plan = _plan(*nodes, *(item for pair in claims for item in pair), *users).plan
    assert sum(item.count for item in plan.assignments) == 4
    where = {pod.name: item.node for item in plan.assignments for pod in item.pods}
    assert all(where[f"p{i}-0"] == where[f"p{i}-1"] for i in range(2))


def test_claims_for_one_node_with_which_several_pods_wait_are_named() -> None:
    claim, users = _claim(volume="pv"), [_user(f"p{i}", owner=f"Job/{i}") for i in range(2)]
    notes = read(*_nodes(), claim, _volume("pv"), *users).notes
    assert any("one of them starts: 1 (default/data)" in text for text in notes)
    notes = read(*_nodes(), claim, _volume("pv"), _user("p"), _user("q")).notes
    assert any("they are kept on one: 1 (default/data)" in text for text in notes)


def test_who_is_being_deleted_ties_nobody_to_its_node() -> None:
    claim, leaves = _claim(volume="pv"), {"deletionTimestamp": "2026-01-01T00:00:00Z"}
    dump = [claim, _volume("pv"), _user("q", on="b", metadata=leaves), _user("p")]
    assert _open(*dump) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("other", "moves"),
    [("a", 0), ("", 0), ("b", 1), (None, 1)],
    ids=["beside", "waits", "far", "-"],
)
def test_a_pod_does_not_move_away_from_others_with_its_claim_for_one_node(
    other: str | None, moves: int
) -> None:
    claim = _claim(volume="pv")
    nodes = [node("a", cpu="4"), node("b", cpu="2")]
    big = pod("big", requests={"cpu": "4"}, owner="Job/big", nodeSelector={"n": "a"})
    nodes[0]["metadata"]["labels"]["n"] = "a"
    users = [_user("p", on="a")]
    users += [] if other is None else [_user("q", on=other, owner="ReplicaSet/other")]
    plan = _plan(*nodes, claim, _volume("pv"), *users, big).plan
    assert sum(move.count for move in plan.moves) == moves


def test_a_claim_for_one_pod_is_in_use_though_its_user_has_a_volume_that_is_not_explained() -> None:
    claim = _claim(volume="pv", accessModes=["ReadWriteOncePod"])
    volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in ("data", "gone")]
    runs = pod("r", on="a", volumes=volumes)
    dump = [*_nodes(), claim, _volume("pv"), _user("p"), runs]

    assert _plan(*dump).plan.assignments == ()
    assert _plan(*dump[:-1]).plan.assignments != ()


def test_a_pod_with_an_ephemeral_volume_stays_unless_told() -> None:
    owners = [{"uid": "u-p", "kind": "Pod", "name": "p", "controller": True}]
    claim = _claim("p-v", volume="pv", metadata={"ownerReferences": owners})
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}

    def movable(**more: Any) -> bool:
        volumes = [{"name": "v", "ephemeral": {}}]
        running = pod("p", on="a", volumes=volumes, metadata={"uid": "u-p"}, **more)
        (job,) = read(*_nodes(), claim, _volume("pv"), running).snapshot.jobs
        assert job.pod_sets[0].not_modelled == ()
        return job.movable

    assert not movable()
    assert movable(annotations=safe)


@pytest.mark.parametrize(
    ("owner", "nodes"),
    [
        ({"uid": "uid-p", "controller": True}, ["a", "b", "c"]),
        ({"uid": "uid-p"}, []),
        ({"uid": "uid-p", "controller": False}, []),
        ({"uid": "other", "controller": True}, []),
    ],
)
def test_the_claim_of_an_ephemeral_volume_is_mounted_for_the_pod_that_controls_it_alone(
    owner: Object, nodes: list[str]
) -> None:
    claim = _claim("p-v", volume="pv", metadata={"ownerReferences": [owner]})
    user = pod("p", volumes=[{"name": "v", "ephemeral": {}}])
    assert _open(user, claim, _volume("pv")) == nodes


def test_a_claim_that_names_a_volume_and_is_not_bound_to_it_is_named() -> None:
    claim = _claim(volume="pv")
    del claim["metadata"]["annotations"]
    notes = read(*_nodes(), claim, _volume("pv"), _user("p", on="a")).notes
    said = "claims that name a volume and are not bound to it yet (pv.kubernetes.io/bind-completed)"
    assert [note for note in notes if note.startswith(said)] == [
        f"{said}: no node takes their pods: 1 (default/data)"
    ]
