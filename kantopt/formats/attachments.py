"""Volumes that nodes can attach at a time: an amount of a resource per CSI driver."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from kantopt.formats.kubernetes_nodes import bounded
from kantopt.formats.objects import Notes, Objects
from kantopt.formats.pods import Pod
from kantopt.formats.view import View
from kantopt.schema.snapshot import Node

VOLUMES = "attachable-volumes-csi-"
"""Begins the names of the resources that stand for volumes."""
_Volume = tuple[str, str]
"""A driver and what it calls the volume."""
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "azureDisk": "disk.csi.azure.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "vsphereVolume": "csi.vsphere.vmware.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""CSI drivers that took over the volumes of the old plugins, by source and provisioner."""

_INLINE = {
    "awsElasticBlockStore": "volumeID",
    "gcePersistentDisk": "pdName",
    "azureDisk": "diskName",
    "cinder": "volumeID",
    "vsphereVolume": "volumePath",
}
"""What tells volumes without a claim apart."""


def resource_of(driver: str) -> str:
    """Name the resource that a node's room for volumes of a driver is."""
    return VOLUMES + driver


class Attachments:
    """What pods ask of drivers that cannot attach all volumes to one node, and what nodes offer.

    Each pod asks for its distinct volumes. One that several pods use is asked for by each of
    them, though a node attaches it once: stricter than kube-scheduler, never weaker. A volume
    that is attached to a node where no pod uses it takes its room until it is detached.
    """

    def __init__(self, objects: Objects, notes: Notes) -> None:
        self._asks: dict[tuple[str, str], Counter[str]] = {}
        self._totals: Counter[str] = Counter()
        self._room = {
            (driver.text("name"), node.at("metadata").text("name")): count
            for node in objects.of("storage.k8s.io", "CSINode")
            for driver in node.at("spec").list("drivers")
            if (count := driver.at("allocatable").integer("count", 0)) is not None
        }
        if not self._room:
            return
        limited = {driver for driver, _ in self._room}
        volumes = _Drivers(objects)
        users: Counter[_Volume] = Counter()
        there: set[tuple[str, _Volume]] = set()
        for pod in objects.of("", "Pod"):
            if pod.at("status").text("phase") in ("Succeeded", "Failed"):
                continue
            metadata = pod.at("metadata")
            found = {item for item in volumes.of(pod) if item[0] in limited}
            users.update(found)
            there |= {(pod.at("spec").text("nodeName"), item) for item in found}
            if found:
                key = (metadata.text("namespace") or "default", metadata.text("name"))
                self._asks[key] = Counter(driver for driver, _ in found)
        for item in objects.of("storage.k8s.io", "VolumeAttachment"):
            spec = item.at("spec")
            name, node = spec.at("source").text("persistentVolumeName"), spec.text("nodeName")
            volume = volumes.named(name)
            if volume is not None and (node, volume) not in there:
                there.add((node, volume))
                if (volume[0], node) in self._room:
                    self._room[volume[0], node] -= 1
        for asks in self._asks.values():
            self._totals.update(asks)
        self._totals = Counter(
            {
                driver: total
                for driver, total in sorted(self._totals.items())
                if any(name == driver and room < total for (name, _), room in self._room.items())
            }
        )
        for volume, count in sorted(users.items()):
            if count > 1 and volume[0] in self._totals:
                text = "volumes that count once for each of their pods against attach limits"
                notes.add(text, volume[1])

    def into(self, pod: Pod) -> Pod:
        """Return a pod that asks for its volumes, where there may be too many for a node."""
        asks = self._asks.get((pod.namespace, pod.ref.name), Counter())
        more = {resource_of(name): n for name, n in sorted(asks.items()) if name in self._totals}
        if not more:
            return pod
        return replace(pod, shape={**pod.shape, "requests": {**pod.shape["requests"], **more}})

    def onto(self, node: Node) -> Node:
        """Return a node with the volumes it can attach: all that there are, if nothing is said."""
        if not self._totals:
            return node
        offers = {
            resource_of(driver): bounded(min(total, self._room.get((driver, node.name), total)))
            for driver, total in self._totals.items()
        }
        return node.model_copy(update={"allocatable": {**node.allocatable, **offers}})


class _Drivers:
    """Which driver attaches a volume, and how the volume is told from others."""

    def __init__(self, objects: Objects) -> None:
        self._claims = objects.by_name("", "PersistentVolumeClaim")
        self._volumes = {
            view.at("metadata").text("name"): view for view in objects.of("", "PersistentVolume")
        }
        self._provisioners = {
            view.at("metadata").text("name"): view.text("provisioner")
            for view in objects.of("storage.k8s.io", "StorageClass")
        }

    def of(self, pod: View) -> set[_Volume]:
        """Return the distinct volumes of a pod."""
        metadata = pod.at("metadata")
        found = set()
        for item in pod.at("spec").list("volumes"):
            name = item.at("persistentVolumeClaim").text("claimName")
            if "ephemeral" in item:
                name = f"{metadata.text('name')}-{item.text('name')}"
            claim = self._claims.get((metadata.text("namespace") or "default", name))
            if claim is not None and (volume := self._of_claim(claim)) is not None:
                found.add(volume)
            found |= {
                (_MIGRATED[kind], f"{kind} {item.at(kind).text(field)}")
                for kind, field in _INLINE.items()
                if kind in item
            }
        return found

    def named(self, name: str) -> _Volume | None:
        """Return what a persistent volume is to its driver."""
        if name not in self._volumes:
            return None
        spec = self._volumes[name].at("spec")
        if "csi" in spec:
            return spec.at("csi").text("driver"), spec.at("csi").text("volumeHandle", name)
        return next(((_MIGRATED[kind], name) for kind in _MIGRATED if kind in spec), None)

    def _of_claim(self, claim: View) -> _Volume | None:
        metadata, spec = claim.at("metadata"), claim.at("spec")
        if spec.text("volumeName") in self._volumes:
            return self.named(spec.text("volumeName"))
        chosen = metadata.words("annotations").get(_OLD_CLASS, spec.text("storageClassName"))
        provisioner = self._provisioners.get(chosen)
        if not provisioner:
            return None
        name = f"{metadata.text('namespace')}/{metadata.text('name')}"
        return _MIGRATED.get(provisioner, provisioner), f"claim {name}"
