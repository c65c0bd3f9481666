"""Nodes attach so many volumes of a driver at a time, as kube-scheduler counts them."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.formats.imported import Imported
from kantopt.planning.plan import make_plan
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
from kantopt.schema.raw import RawDocument
from tests.formats.cluster_objects import Object, node, pod, read

MIXED = load_model("mixed")
ROOM = "attachable-volumes-csi-x.csi"


def _volume(name: str, driver: str = "x.csi", **spec: Any) -> list[Object]:
    """A volume and the claim bound to it."""
    annotations = {"pv.kubernetes.io/bind-completed": "yes"}
    source = spec or {"csi": {"driver": driver, "volumeHandle": f"h-{name}"}}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": f"pv-{name}"},
            "spec": source,
            "status": {"phase": "Bound"},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": name, "namespace": "default", "annotations": annotations},
            "spec": {"volumeName": f"pv-{name}", "accessModes": ["ReadWriteOnce"]},
            "status": {"phase": "Bound"},
        },
    ]


def _user(name: str, *claims: str, **more: Any) -> Object:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name, volumes=volumes, owner=f"StatefulSet/{name}", **more)


def _csi(name: str, count: int | None, driver: str = "x.csi") -> Object:
    allocatable = {} if count is None else {"allocatable": {"count": count}}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [{"name": driver, "nodeID": name, **allocatable}]},
    }


def _attached(volume: str, on: str) -> Object:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "VolumeAttachment",
        "metadata": {"name": f"{volume}-{on}"},
        "spec": {
            "attacher": "x.csi",
            "nodeName": on,
            "source": {"persistentVolumeName": volume},
        },
    }


def _bound(*objects: Object) -> dict[str, str]:
    """Where a plan places the pods of a dump that wait."""
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    question = question_of([RawDocument("dump.json", 0, dump)])
    plan = make_plan(question, MIXED, Options(), Deadline.within(20)).plan
    return {item.job: item.node for item in plan.assignments}


def _room(imported: Imported) -> dict[str, int | str]:
    return {
        item.name: item.allocatable[ROOM]
        for item in imported.snapshot.nodes
        if ROOM in item.allocatable
    }


def _offers(*objects: Object) -> set[str]:
    return {name for item in read(*objects).snapshot.nodes for name in item.allocatable}


TWO = [*_volume("one"), *_volume("two"), _user("p", "one"), _user("q", "two")]


def test_a_node_takes_no_more_volumes_of_a_driver_than_it_can_attach() -> None:
    assert len(_bound(node("a"), _csi("a", 2), *TWO)) == 2
    assert len(_bound(node("a"), _csi("a", 1), *TWO)) == 1
    assert _bound(node("a"), _csi("a", 0), *TWO) == {}
    assert len(_bound(node("a"), _csi("a", 0, "y.csi"), *TWO)) == 2


def test_a_node_that_tells_no_limit_has_none() -> None:
    for other in ([], [_csi("b", None)]):
        imported = read(node("a"), node("b"), _csi("a", 1), *other, *TWO)
        assert _room(imported) == {"a": 1, "b": 2}


def test_limits_that_all_volumes_keep_are_not_asked_for() -> None:
    imported = read(node("a"), _csi("a", 2), *TWO)
    assert _room(imported) == {}
    assert all(ROOM not in item.pod_sets[0].requests for item in imported.pending.jobs)


def test_volumes_of_pods_that_run_take_room() -> None:
    running = [*_volume("old"), _user("r", "old", on="a", priority=9)]
    assert len(_bound(node("a"), _csi("a", 2), *running, *TWO)) == 1
    ended = [*_volume("old"), _user("r", "old", on="a", phase="Succeeded")]
    assert len(_bound(node("a"), _csi("a", 2), *ended, *TWO)) == 2
    assert _room(read(node("a"), _csi("a", 2), *ended, *TWO)) == {}


def test_a_pod_asks_for_its_distinct_volumes_by_driver() -> None:
    volumes = [*_volume("one"), *_volume("two"), *_volume("far", "y.csi")]
    (job,) = read(
        node("a"), _csi("a", 1), *volumes, _user("p", "one", "one", "two", "far")
    ).pending.jobs
    requests = job.pod_sets[0].requests
    assert requests[ROOM] == 2
    assert not any("y.csi" in name for name in requests)


def test_a_claim_that_waits_counts_for_the_driver_of_its_class() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "new", "namespace": "default"},
        "spec": {"storageClassName": "wait"},
        "status": {"phase": "Pending"},
    }
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "wait"}}
    wait = {**head, "volumeBindingMode": "WaitForFirstConsumer", "provisioner": "x.csi"}
    user = _user("p", "new")
    assert _bound(node("a"), _csi("a", 0), claim, wait, user) == {}
    far = {**wait, "provisioner": "y.csi"}
    assert _bound(node("a"), _csi("a", 0), claim, far, user) == {"default/p": "a"}
    old = {**wait, "provisioner": "kubernetes.io/aws-ebs"}
    assert _bound(node("a"), _csi("a", 0, "ebs.csi.aws.com"), claim, old, user) == {}


def test_the_claim_of_an_ephemeral_volume_counts() -> None:
    volume, claim = _volume("p-scratch")
    owners = [{"kind": "Pod", "name": "p", "uid": "uid-p", "controller": True}]
    claim["metadata"]["ownerReferences"] = owners
    user = pod("p", volumes=[{"name": "scratch", "ephemeral": {}}])
    assert _bound(node("a"), _csi("a", 0), volume, claim, user) == {}
    assert _bound(node("a"), _csi("a", 1), volume, claim, user) == {"default/app": "a"}


def test_volumes_of_an_old_plugin_count_for_the_driver_that_took_over() -> None:
    disk = _volume("disk", awsElasticBlockStore={"volumeID": "v"})
    limits = _csi("a", 0, "ebs.csi.aws.com")
    assert _bound(node("a"), limits, *disk, _user("p", "disk")) == {}
    assert _bound(node("a"), _csi("a", 0), *disk, _user("p", "disk")) == {"default/p": "a"}


@pytest.mark.parametrize(
    ("source", "provisioner", "driver", "counts"),
    [
        (
            {"portworxVolume": {"volumeID": "v"}},
            "kubernetes.io/portworx-volume",
            "pxd.portworx.com",
            True,
        ),
        (
            {"vsphereVolume": {"volumePath": "v"}},
            "kubernetes.io/vsphere-volume",
            "csi.vsphere.vmware.com",
            False,
        ),
    ],
)
def test_volumes_of_an_old_plugin_count_where_the_scheduler_counts_them(
    source: Object, provisioner: str, driver: str, counts: bool
) -> None:
    limits = [node("a"), _csi("a", 0, driver)]
    assert (_bound(*limits, *_volume("disk", **source), _user("p", "disk")) == {}) is counts
    inline = pod("p", volumes=[{"name": "v", **source}], owner="StatefulSet/p")
    assert (_bound(*limits, inline) == {}) is counts
    waiting = _volume("new")[1]
    waiting["spec"] |= {"volumeName": "", "storageClassName": "old"}
    made_by: Object = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "old"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    del waiting["metadata"]["annotations"]
    assert (_bound(*limits, waiting, made_by, _user("p", "new")) == {}) is counts


def test_a_volume_that_is_still_attached_takes_room_until_it_is_detached() -> None:
    left = [*_volume("left"), _attached("pv-left", "a")]
    assert len(_bound(node("a"), _csi("a", 2), *TWO, *left)) == 1
    assert len(_bound(node("a"), _csi("a", 3), *TWO, *left)) == 2
    held = [*_volume("held"), _user("r", "held", on="a"), _attached("pv-held", "a")]
    assert len(_bound(node("a"), _csi("a", 3), *TWO, *held)) == 2


def test_a_volume_that_only_pods_that_wait_use_comes_along_with_them() -> None:
    """It is attached where one of them was: there it counts once, and elsewhere it will be gone."""
    dump = [node("a"), _csi("a", 2), *TWO, _attached("pv-one", "a")]
    assert len(_bound(*dump)) == 2


STILL_ATTACHED = [*_volume("one"), _attached("pv-one", "a")]


def test_a_volume_that_is_still_attached_leaves_its_room_to_the_pod_that_waits_for_it() -> None:
    one, two = _user("p", "one"), [*_volume("two"), _user("q", "two", priority=10)]
    dump = [node("a"), _csi("a", 1), *STILL_ATTACHED]
    assert _bound(*dump, one, *two) == {"default/p": "a"}
    full = [*_volume("three"), _user("r", "three", on="a", priority=10)]
    dump = [node("a"), _csi("a", 2), *STILL_ATTACHED]
    assert _bound(*dump, *full, one, *two) == {"default/p": "a"}


def test_a_volume_that_is_still_attached_takes_no_room_where_it_is_not() -> None:
    two = [*_volume("two"), _user("q", "two", priority=10)]
    nodes = [node("a"), node("b"), _csi("a", 1), _csi("b", 1)]
    both = _bound(*nodes, *STILL_ATTACHED, _user("p", "one"), *two)
    assert both == {"default/p": "a", "default/q": "b"}
    nodes[0]["spec"]["unschedulable"] = True
    assert _bound(*nodes, *STILL_ATTACHED, _user("p", "one"), *two) == {"default/q": "b"}


def test_where_there_is_room_besides_a_volume_that_is_still_attached_takes_its_room() -> None:
    waits = [*STILL_ATTACHED, *_volume("two"), _user("p", "one"), _user("q", "two")]
    assert not any("#" in name for name in _offers(node("a"), _csi("a", 2), *waits))
    assert any("#" in name for name in _offers(node("a"), _csi("a", 1), *waits))


def test_a_shared_volume_that_is_still_attached_takes_its_room_once() -> None:
    users = [_user(name, "one") for name in ("p", "q")]
    other = [*_volume("two"), _user("r", "two")]
    dump = [node("a"), *_many("one"), _attached("pv-one", "a"), *users, *other]
    assert len(_bound(*dump, _csi("a", 2))) == 3
    assert "default/r" not in _bound(*dump, _csi("a", 1))


def test_a_volume_of_several_pods_does_not_come_to_where_another_is_still_attached() -> None:
    moved = [*_many("moved"), _user("r", "moved", on="a"), _attached("pv-moved", "b")]
    users = [_user("q", "one", on="a"), _user("p", "one", requests={"cpu": "8"})]
    dump = [node("a"), node("b"), _csi("a", 9), *_many("one"), *users, *moved]
    assert _bound(*dump, _csi("b", 1)) == {}
    assert _bound(*dump, _csi("b", 2)) == {"default/p": "b"}


def test_many_volumes_that_are_still_attached_each_take_room_once() -> None:
    names = ["s0", "s1", "s2"]
    waiting = [_user(f"{name}-{i}", name) for name in names for i in range(2)]
    left = [_attached(f"pv-{name}", "a") for name in names]
    other = [*_volume("other"), _user("other", "other", priority=10)]
    dump = [node("a"), *_many(*names), *left, *waiting, *other]
    assert len(_bound(*dump, _csi("a", 3))) == 6
    assert len(_bound(*dump, _csi("a", 4))) == 7


def _many(*claims: str) -> list[Object]:
    """Claims that pods on several nodes may use."""
    found = [each for claim in claims for each in _volume(claim)]
    for each in found[1::2]:
        each["spec"]["accessModes"] = ["ReadWriteMany"]
    return found


def _evicted(*objects: Object) -> list[str]:
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    question = question_of([RawDocument("dump.json", 0, dump)])
    plan = make_plan(question, MIXED, Options(), Deadline.within(20)).plan
    assert plan.assignments
    return [item.job for item in plan.evictions]


@pytest.mark.parametrize("volume", [_volume("one"), _many("one")])
def test_nobody_gives_way_to_a_volume_that_is_attached_already(volume: list[Object]) -> None:
    """It counts once on a node, however many pods use it there."""
    other = [*_volume("two"), _user("low", "two", on="a")]
    new = [*volume, _user("web-1", "one", on="a", priority=9), _user("web-2", "one", priority=9)]
    assert _evicted(node("a"), _csi("a", 2), *other, *new) == []
    alone = [*volume, _user("low", "one", on="a"), _user("web-2", "one", priority=9)]
    assert _evicted(node("a"), _csi("a", 1), *alone) == []


def test_pods_of_one_volume_go_to_a_node_that_attaches_no_other() -> None:
    users = [_user(name, "one") for name in ("p", "q")]
    assert len(_bound(node("a"), _csi("a", 1), *_many("one"), *users)) == 2
    assert len(_bound(node("a"), _csi("a", 0), *_many("one"), *users)) == 0


def test_pods_of_a_volume_do_not_come_to_a_node_that_cannot_attach_it() -> None:
    users = [_user(name, "one", requests={"cpu": "3"}) for name in ("p", "q")]
    full = [*_volume("two"), _user("r", "two", on="b", priority=10)]
    nodes = [node(n, {"kubernetes.io/hostname": n}) for n in "abc"]
    limits = [_csi("a", 9), _csi("b", 1), _csi("c", 9)]
    for each in nodes:
        each["status"]["allocatable"]["cpu"] = "4"
    dump = [*nodes, *limits, *full, *_many("one"), *users]
    assert sorted(_bound(*dump).values()) == ["a", "c"]
    dump = [*nodes[:2], *limits[:2], *full, *_many("one"), *users]
    assert sorted(_bound(*dump).values()) == ["a"]


def test_a_pod_that_is_being_deleted_keeps_nobody_on_its_node() -> None:
    """Another of its volume may start elsewhere, where it counts."""
    going = _user("old", "one", on="a")
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    full = [*_volume("two"), _user("r", "two", on="b", priority=10)]
    nodes = [node(n, {"kubernetes.io/hostname": n}) for n in "ab"]
    dump = [*nodes, _csi("a", 1), _csi("b", 1), *full, *_volume("one"), going, _user("new", "one")]
    assert _bound(*dump) == {"default/new": "a"}
    nodes[0]["spec"]["unschedulable"] = True
    assert _bound(*dump) == {}


def test_volumes_of_few_pods_do_not_take_all_the_room_and_count_for_each_pod() -> None:
    names = ["s0", "s1", "s2"]
    users = [_user(f"{name}-{i}", name) for name in names for i in range(2)]
    dump = [node("a"), _csi("a", 4), *_many(*names), *users]
    (line,) = [line for line in read(*dump).notes if "attach limits" in line]
    assert line.endswith(": 1 (h-s2)")
    assert _room(read(*dump)) == {"a": 2}
    assert not any("attach" in line for line in read(node("a"), _csi("a", 1), *TWO).notes)


def test_a_volume_of_one_pod_at_a_time_keeps_no_room_for_others_who_want_it() -> None:
    volume = _volume("one")
    volume[1]["spec"]["accessModes"] = ["ReadWriteOncePod"]
    users = [_user("holds", "one", on="a"), _user("wants", "one")]
    nodes = [node("a"), node("b"), _csi("a", 2), _csi("b", 2)]
    nodes[0]["spec"]["unschedulable"] = True
    dump = [*nodes, *volume, *_volume("two"), *_volume("three"), *users, _user("p", "two", "three")]
    assert _bound(*dump) == {"default/p": "b"}
    assert not any("attach" in line for line in read(*dump).notes)


def test_volumes_for_which_room_is_kept_everywhere_are_named() -> None:
    users = [_user(name, "one") for name in ("p", "q")]
    dump = [node("a"), _csi("a", 2), *_many("one"), *_volume("two"), *users, _user("r", "two")]
    notes = [line for line in read(*dump).notes if "attach" in line]
    assert notes == [
        "volumes for which room to attach is kept wherever their pods may be: 1 (h-one)"
    ]
