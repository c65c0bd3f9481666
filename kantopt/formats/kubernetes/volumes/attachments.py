"""Volumes that nodes can attach at a time: an amount of a resource per CSI driver."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping

from kantopt.formats.kubernetes.objects import Objects, ended
from kantopt.formats.kubernetes.volumes.stock import Stock
from kantopt.formats.kubernetes.volumes.waiting_claims import claims_used, class_of
from kantopt.formats.view import Key, View
from kantopt.schema.quantity import SHARED_VOLUME

VOLUMES = "attachable-volumes-csi-"
"""Begins the names of the resources that stand for volumes."""
_Volume = tuple[str, str]
"""A driver and what it calls the volume."""
_MIGRATED = {
    "awsElasticBlockStore": "ebs.csi.aws.com",
    "kubernetes.io/aws-ebs": "ebs.csi.aws.com",
    "gcePersistentDisk": "pd.csi.storage.gke.io",
    "kubernetes.io/gce-pd": "pd.csi.storage.gke.io",
    "azureDisk": "disk.csi.azure.com",
    "kubernetes.io/azure-disk": "disk.csi.azure.com",
    "cinder": "cinder.csi.openstack.org",
    "kubernetes.io/cinder": "cinder.csi.openstack.org",
    "portworxVolume": "pxd.portworx.com",
    "kubernetes.io/portworx-volume": "pxd.portworx.com",
    "vsphereVolume": "csi.vsphere.vmware.com",
    "kubernetes.io/vsphere-volume": "csi.vsphere.vmware.com",
}
"""CSI drivers that took over the volumes of the old plugins, by source and provisioner."""
_UNCOUNTED = ("vsphereVolume", "kubernetes.io/vsphere-volume")
"""Those whose volumes kube-scheduler does not count against what the driver can attach."""

_INLINE = {
    "awsElasticBlockStore": "volumeID",
    "gcePersistentDisk": "pdName",
    "azureDisk": "diskName",
    "cinder": "volumeID",
    "portworxVolume": "volumeID",
}
"""What tells volumes without a claim apart."""


def driver_of(provisioner: str) -> str:
    """Name the CSI driver that makes the volumes of a provisioner."""
    return _MIGRATED.get(provisioner, provisioner)


def resource_of(driver: str) -> str:
    """Name the resource that a node's room for volumes of a driver is."""
    return VOLUMES + driver


def attachable(objects: Objects) -> Stock:
    """Return what pods ask of drivers that cannot attach all volumes to one node, and nodes offer.

    Each pod asks for its distinct volumes. For one that several pods use, which a node attaches
    once, room is kept on the nodes where they may be, if most have it, and nobody asks for it;
    else each of its pods does, which is stricter than kube-scheduler, never weaker. A volume that
    is attached to a node where no pod uses it takes its room until it is detached; pods that are
    to use it need no more there. A node of which nothing is said can attach all that there are.
    """
    stock = Stock()
    room = _limits(objects)
    if not room:
        return stock
    limited = {driver for driver, _ in room}
    volumes = _Drivers(objects)
    users: dict[_Volume, Counter[str]] = {}
    found: dict[Key, set[_Volume]] = {}
    held: set[_Volume] = set()  # by pods that run on
    for pod in objects.pods():
        found[pod.key] = {item for item in volumes.of(pod) if item[0] in limited}
        for item in found[pod.key]:
            users.setdefault(item, Counter())[pod.node] += 1
            if pod.node and not pod.terminating:
                held.add(item)
    left: dict[_Volume, set[str]] = {}  # nodes with volumes that no pod uses there
    for node, volume in {*volumes.attached(objects)}:
        if (volume[0], node) in room and node not in users.get(volume, {}):
            left.setdefault(volume, set()).add(node)
            room[volume[0], node] -= volume not in users
    totals = Counter(driver for own in found.values() for driver, _ in own)
    scarce = {driver for (driver, _), count in room.items() if count < totals[driver]}
    tied = volumes.one_node & held
    shared = {
        volume: of
        for volume, of in users.items()
        if volume[0] in scarce and of.total() > 1 and volume not in volumes.one_pod
    }
    kept = _keep_room(users, shared, room, tied, left)
    asks = {
        key: Counter(d for d, _ in own - kept.keys() if d in scarce) for key, own in found.items()
    }
    totals = sum(asks.values(), Counter[str]())
    for driver in scarce:
        stock.everywhere[resource_of(driver)] = totals[driver]
    for (driver, node), count in room.items():
        if driver in scarce:
            stock.offers[node][resource_of(driver)] = min(totals[driver], count)
    for key, wanted in asks.items():
        stock.asks[key] = Counter({resource_of(d): n for d, n in wanted.items()})
        closed = (volume for volume in found[key] if kept.get(volume))
        stock.asks[key].update(map(_name_of, closed))
    for volume, nodes in kept.items():
        if nodes:
            stock.everywhere[_name_of(volume)] = users[volume].total()
        for node in nodes:
            stock.offers[node][_name_of(volume)] = 0
    own_room = {v: nodes for v, nodes in left.items() if v in users.keys() - kept.keys()}
    asked = {key: own - kept.keys() for key, own in found.items()}
    _set_apart(own_room, stock, room, asked, users)
    for volume in sorted(shared):
        text = "volumes that count once for each of their pods against attach limits"
        if volume in kept and volume not in tied:
            text = "volumes for which room to attach is kept wherever their pods may be"
        if volume not in kept or volume not in tied:
            objects.notes.add(text, volume[1])
    return stock


def _set_apart(
    left: Mapping[_Volume, Collection[str]],
    stock: Stock,
    room: Mapping[tuple[str, str], int],
    found: Mapping[Key, set[_Volume]],
    users_of: Mapping[_Volume, Counter[str]],
) -> None:
    """Leave volumes their room on nodes to which they are still attached, if they are asked for.

    There volumes of a driver count as a resource of that node, for which all others ask; but where
    there is room for all of those who ask for them besides, they just take their room.
    """
    there: dict[tuple[str, str], set[_Volume]] = {}
    for volume, nodes in left.items():
        for node in nodes:
            there.setdefault((volume[0], node), set()).add(volume)
    used: Counter[tuple[str, str]] = Counter()
    for (driver, _), of in users_of.items():
        used.update({(driver, node): pods for node, pods in of.items()})
    more: Counter[_Volume] = Counter()  # volumes of the same driver that its pods ask for
    for own in found.values():
        for volume in own & left.keys():
            more[volume] += sum(v[0] == volume[0] for v in own)
    for (driver, node), volumes in sorted(there.items()):
        every = resource_of(driver)
        if every not in stock.everywhere:
            continue
        least = room[driver, node] - len(volumes)
        brought = sum(more[volume] for volume in volumes)
        if least >= used[driver, node] + brought:
            stock.offers[node][every] = min(stock.everywhere[every], least)
            continue
        others = {key: sum(v[0] == driver for v in own - volumes) for key, own in found.items()}
        total, name = sum(others.values()), f"{every}#{node}"
        for key, count in others.items():
            if count:
                stock.asks[key][name] = count
        stock.everywhere[name] = total
        stock.offers[node][every] = stock.everywhere[every]
        stock.offers[node][name] = min(total, least)


def _keep_room(
    users: Mapping[_Volume, Counter[str]],
    shared: Collection[_Volume],
    room: dict[tuple[str, str], int],
    tied: Collection[_Volume],
    left: Mapping[_Volume, set[str]],
) -> dict[_Volume, list[str]]:
    """Keep room for volumes of several pods where these may be, and take it away from others.

    Parameters
    ----------
    users
        How many pods use each volume, by node.
    shared
        Those of several pods that may use them at a time, of drivers whose room may not suffice.
    room
        Volumes that can be attached at a time, by driver and node.
    tied
        Those whose pods are kept to the nodes where some of them run.
    left
        Nodes to which volumes are attached that no pod uses there.

    Returns
    -------
    dict
        Volumes for which most nodes where their pods may be have room, and the others of these. At
        most half of what the smallest node can attach is kept: volumes of few pods would else keep
        too many others away.
    """
    used: Counter[tuple[str, str]] = Counter()
    for (driver, _), of in users.items():
        used.update({(driver, node): pods for node, pods in of.items()})
    used.update((volume[0], node) for volume in left if volume in users for node in left[volume])
    least = {d: min(n for (other, _), n in room.items() if other == d) for d, _ in shared}
    kept, more = dict[_Volume, list[str]](), Counter[str]()
    for volume in sorted(shared, key=lambda v: (-users[v].total(), v)):
        driver, of = volume[0], users[volume]
        here = {node for node, pods in of.items() if node and pods} | left.get(volume, set())
        bound = volume in tied
        reach = [at for at in room if at[0] == driver and (at[1] in here or not bound)]
        closed = [at for at in reach if at[1] not in here and used[at] >= room[at]]
        most = max(1, least[driver] // 2)
        if not bound and (more[driver] >= most or 2 * len(closed) > len(reach)):
            continue
        kept[volume] = [node for _, node in closed]
        more[driver] += not bound
        for at in {*reach}.difference(closed):
            room[at] -= 1
            used[at] -= of[at[1]] or at[1] in here
    return kept


def _name_of(volume: _Volume) -> str:
    """Name the resource that stands for a volume of several pods."""
    return f"{SHARED_VOLUME}{volume[0]}-{volume[1].replace('/', ':')}"


def crowded(before: Objects, after: Objects) -> frozenset[tuple[str, str]]:
    """Return nodes with more volumes than they can attach, each with the resource they are.

    As kube-scheduler counts them: a volume once, however many pods use it, and one that no pod
    uses while it is attached. Of two dumps that is one which was so in both: another may have been
    attached later for a pod that has gone again.
    """
    volumes = _Drivers(after)
    there = {*volumes.attached(after)} & {*_Drivers(before).attached(before)}
    there |= {
        (pod.node, item) for pod in after.pods() if not ended(pod) for item in volumes.of(pod)
    }
    held = Counter((driver, node) for node, (driver, _) in there)
    return frozenset(
        (node, resource_of(driver))
        for (driver, node), count in _limits(after).items()
        if held[driver, node] > count
    )


def _limits(objects: Objects) -> dict[tuple[str, str], int]:
    """Volumes that can be attached at a time, by driver and node."""
    return {
        (driver.text("name"), node.at("metadata").text("name")): count
        for node in objects.of("storage.k8s.io", "CSINode")
        for driver in node.at("spec").list("drivers")
        if (count := driver.at("allocatable").integer("count", 0)) is not None
    }


class _Drivers:
    """Which driver attaches a volume, and how the volume is told from others."""

    def __init__(self, objects: Objects) -> None:
        self._claims = objects.by_name("", "PersistentVolumeClaim")
        self._volumes = objects.named("", "PersistentVolume")
        self._classes = objects.named("storage.k8s.io", "StorageClass")
        self.one_node: set[_Volume] = set()
        """Volumes that one node may use at a time, of those that were asked about."""
        self.one_pod: set[_Volume] = set()
        """Volumes that one pod may use at a time."""

    def of(self, pod: View) -> set[_Volume]:
        """Return the distinct volumes of a pod."""
        found = set()
        for name in claims_used(pod):
            claim = self._claims.get((pod.key[0], name))
            if claim is not None and (volume := self._of_claim(claim)) is not None:
                found.add(volume)
                modes = set(claim.at("spec").strings("accessModes"))
                if modes == {"ReadWriteOnce"}:
                    self.one_node.add(volume)
                if "ReadWriteOncePod" in modes:
                    self.one_pod.add(volume)
        for item in pod.at("spec").list("volumes"):
            found |= {
                (_MIGRATED[kind], f"{kind} {item.at(kind).text(field)}")
                for kind, field in _INLINE.items()
                if kind in item
            }
        return found

    def attached(self, objects: Objects) -> Iterator[tuple[str, _Volume]]:
        """Yield the volumes that are attached, each with its node."""
        for item in objects.of("storage.k8s.io", "VolumeAttachment"):
            spec = item.at("spec")
            volume = self.named(spec.at("source").text("persistentVolumeName"))
            if volume is not None:
                yield spec.text("nodeName"), volume

    def named(self, name: str) -> _Volume | None:
        """Return what a persistent volume is to its driver."""
        if name not in self._volumes:
            return None
        spec = self._volumes[name].at("spec")
        if "csi" in spec:
            return spec.at("csi").text("driver"), spec.at("csi").text("volumeHandle", name)
        counted = (kind for kind in _MIGRATED if kind in spec and kind not in _UNCOUNTED)
        return next(((_MIGRATED[kind], name) for kind in counted), None)

    def _of_claim(self, claim: View) -> _Volume | None:
        name = claim.at("spec").text("volumeName")
        if name in self._volumes:
            return self.named(name)
        found = self._classes.get(class_of(claim))
        provisioner = "" if found is None else found.text("provisioner")
        if not provisioner or provisioner in _UNCOUNTED:
            return None
        return driver_of(provisioner), f"claim {'/'.join(claim.key)}"
