"""Disks that pods name without a claim: for one writer of a node, or for its readers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.cluster_objects import Object, pod, read
from tests.formats.test_free_volumes import instance_of, nodes, open_nodes, words_about


def disk(name: str, source: Object, **more: Any) -> Object:
    return pod(name, volumes=[{"name": "v", **source}], owner=f"ReplicaSet/{name}", **more)


def gce(read_only: bool = False) -> Object:
    return {"gcePersistentDisk": {"pdName": "d", "readOnly": read_only}}


def rbd(*monitors: str, read_only: bool = False) -> Object:
    return {"rbd": {"monitors": list(monitors), "image": "i", "readOnly": read_only}}


EBS: Object = {"awsElasticBlockStore": {"volumeID": "vol", "readOnly": True}}
ISCSI: Object = {"iscsi": {"iqn": "iqn.a", "targetPortal": "1.2.3.4", "lun": 0}}


@pytest.mark.parametrize(
    ("there", "new", "where"),
    [
        (gce(), gce(), "b c"),
        (gce(), gce(read_only=True), "b c"),
        (gce(read_only=True), gce(), "b c"),
        (gce(read_only=True), gce(read_only=True), "a b c"),
        (EBS, EBS, "b c"),
        (ISCSI, ISCSI, "b c"),
        (ISCSI, {"iscsi": {**ISCSI["iscsi"], "iqn": "iqn.b"}}, "a b c"),
        (rbd("m1", "m2"), rbd("m2"), "b c"),
        (rbd("m1", read_only=True), rbd("m1", read_only=True), "a b c"),
        (rbd("m1"), rbd("m2"), "left out"),
        (gce(), {"emptyDir": {}}, "a b c"),
    ],
)
def test_disks_without_a_claim_are_shared_by_readers_only(
    there: Object, new: Object, where: str
) -> None:
    assert open_nodes(*nodes(), disk("r", there, on="a"), disk("p", new)) == where


def test_a_pod_with_a_disk_of_a_cloud_stays_where_the_disk_is() -> None:
    for source, stays in ((gce(), True), (EBS, True), (ISCSI, False), (rbd("m"), False)):
        (job,) = read(*nodes(), disk("r", source, on="a")).snapshot.jobs
        assert (job.pod_sets[0].not_modelled == ("claims",)) is stays


@pytest.mark.parametrize("image", ["gpu", "x" * 300])
def test_a_disk_may_be_called_anything(image: str) -> None:
    source = {"rbd": {"monitors": ["m"], "image": image}}
    objects = [*nodes(), disk("r", source, on="a"), disk("p", source)]
    assert open_nodes(*objects) == "b c"
    assert not any(podset.gpu_milli for podset in instance_of(*objects).podsets)


def test_disks_without_a_claim_count_against_what_a_node_can_attach() -> None:
    limit = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": "a"},
        "spec": {"drivers": [{"name": "pd.csi.storage.gke.io", "allocatable": {"count": 1}}]},
    }
    other = {"gcePersistentDisk": {"pdName": "e"}}
    assert open_nodes(*nodes(), limit, disk("r", other, on="a"), disk("p", gce())) == "b c"


def test_explanations_say_it_as_kube_scheduler_does() -> None:
    assert "1 node(s) had no available disk" in words_about(
        disk("r", gce(), on="a"), disk("p", gce())
    )
