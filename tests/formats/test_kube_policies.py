"""Where we differ from kube-scheduler on purpose: by which policy, as told beside its verdicts."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object, node, pod, thing
from tests.formats.test_attachments import _csi, _many, _user, _volume
from tests.formats.test_free_volumes import claim, storage_class, user
from tests.kube_verdicts import Tally, compare

HOST, ZONE = "kubernetes.io/hostname", "topology.kubernetes.io/zone"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
WEB = {"app": "web"}
SELECTED = {"labelSelector": {"matchLabels": WEB}}


def told(verdicts: dict[str, str], *objects: Object) -> Tally:
    """What comes of a scheduler that lets a pod go to some of the nodes, and to no other."""
    names = [item["metadata"]["name"] for item in objects if item["kind"] == "Node"]
    said = {
        f"default/{name}": {n: [] if n in admitted.split() else ["Plugin"] for n in names}
        for name, admitted in verdicts.items()
    }
    dump = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    total = Tally()
    total.add(compare({"name": "dump", "gated": False, "dump": dump, "verdicts": said}))
    assert not total.allowed_wrongly, total
    assert not total.refused_wrongly, total
    assert not total.search_differs, total
    return total


def zoned(*zones: str) -> list[Object]:
    names = "abc"[: len(zones)]
    return [node(n, {HOST: n, ZONE: z}) for n, z in zip(names, zones, strict=True)]


def nominated(at: str, priority: int = 10, **more: Any) -> Object:
    made = pod("q", owner="Job/q", priority=priority, **more)
    made["status"]["nominatedNodeName"] = at
    return made


def waits(**more: Any) -> Object:
    return pod("p", owner="Job/p", priority=5, **more)


def near(kind: str, key: str) -> Object:
    return {kind: {REQUIRED: [{"topologyKey": key, **SELECTED}]}}


def test_a_claim_for_one_node_that_is_in_use_elsewhere() -> None:
    runs = _user("q", "data", on="a")
    found = told({"p": "a b"}, *zoned("1", "2"), *_volume("data"), runs, _user("p", "data"))
    assert found.on_purpose == {"claim for one node that is in use on another": 1}


def test_room_where_volumes_are_made_is_for_all_claims_of_a_pod() -> None:
    driver = thing("storage.k8s.io/v1", "CSIDriver", "x.csi", "", storageCapacity=True)
    room = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSIStorageCapacity",
        "metadata": {"name": "r", "namespace": "x"},
        "storageClassName": "fast",
        "nodeTopology": {"matchLabels": {HOST: "a"}},
        "capacity": "15Gi",
    }
    claims = [claim("c1"), claim("c2"), user("p", "c1", "c2")]
    found = told({"p": "a"}, *zoned("1", "2"), storage_class("x.csi"), driver, room, *claims)
    assert found.on_purpose == {"room for volumes to be made that is for all of them": 1}


def test_room_to_attach_volumes_is_kept_for_those_of_several_pods() -> None:
    shared = [*_many("one"), _user("r-1", "one", on="a"), _user("r-2", "one", on="a")]
    limits = [_csi("a", 2), _csi("b", 1)]
    objects = [*zoned("1", "2"), *limits, *shared, *_volume("two"), _user("p", "two")]
    found = told({"p": "a b"}, *objects)
    assert found.on_purpose == {"room to attach volumes that is kept for others": 1}


def test_volumes_for_which_no_room_is_kept_count_for_each_of_their_pods() -> None:
    names = ["s0", "s1", "s2"]
    runs = [_user(f"{name}-{i}", name, on="a") for name in names for i in range(2)]
    objects = [node("a"), _csi("a", 4), *_many(*names), *runs, *_volume("new"), _user("p", "new")]
    found = told({"p": "a"}, *objects)
    assert found.on_purpose == {"room to attach volumes that is kept for others": 1}
    full = [node("a"), _csi("a", 3), *_many(*names), *runs, *_volume("new"), _user("p", "new")]
    assert told({"p": ""}, *full).both_refuse == 1


FAR = {"affinity": near("podAntiAffinity", ZONE)}
CLOSE = {"affinity": near("podAffinity", ZONE)}
EVEN = {
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", **SELECTED}
    ]
}
PLACED = "nominated pod that counts as placed"


@pytest.mark.parametrize(
    ("objects", "admitted", "refused", "allowed"),
    [
        # It is there for others as well, not only for those that are no more important.
        ([nominated("a", 1, requests={"cpu": "6"}), waits(requests={"cpu": "4"})], "a b c", 1, 0),
        # ... and elsewhere than on its node.
        ([nominated("a", labels=WEB), waits(**FAR)], "b c", 1, 0),
        (
            [
                pod("r", on="c", owner="Job/r", labels=WEB),
                nominated("a", labels=WEB),
                waits(labels=WEB, **EVEN),
            ],
            "a b",
            0,
            1,
        ),
        # ... for whoever must be near it too.
        ([nominated("a", labels=WEB), waits(**CLOSE)], "", 0, 2),
    ],
)
def test_a_nominated_pod_counts_as_placed(
    objects: list[Object], admitted: str, refused: int, allowed: int
) -> None:
    found = told({"p": admitted}, *zoned("1", "1", "2"), *objects)
    assert found.on_purpose[PLACED] == found.on_purpose.total() == refused
    assert found.allowed_on_purpose[PLACED] == found.allowed_on_purpose.total() == allowed


def test_a_nominated_pod_that_its_node_does_not_take_keeps_no_room() -> None:
    nodes = zoned("1", "2")
    nodes[0]["spec"]["taints"] = [{"key": "k", "effect": "NoSchedule"}]
    anywhere = [{"operator": "Exists"}]
    subject = waits(requests={"cpu": "4"}, tolerations=anywhere)
    found = told({"p": "b"}, *nodes, nominated("a", requests={"cpu": "6"}), subject)
    assert found.allowed_on_purpose == {"nominated pod that its node does not take": 1}
