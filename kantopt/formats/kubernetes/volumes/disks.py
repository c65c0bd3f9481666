"""Disks that pods name without a claim and that not all pods of a node can share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from itertools import combinations

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.volumes.stock import Stock
from kantopt.formats.view import Key, View
from kantopt.schema.quantity import DISKS

_NAMED = {"gcePersistentDisk": "pdName", "awsElasticBlockStore": "volumeID", "iscsi": "iqn"}
"""What tells disks of a kind apart."""
_NEVER_SHARED = "awsElasticBlockStore"
_ZONAL = ("gcePersistentDisk", "awsElasticBlockStore")
_LONGEST = 100
_Disk = tuple[str, str]
"""Kind, and what it is called there."""


class InlineDisks:
    """Disks as resources of which each node has enough for one writer, or for readers alone.

    A disk of which pods name different monitors is the same where they have one in common
    (Ceph); where that does not say which pods share one, ``unread`` has its name.
    """

    def __init__(self, objects: Objects, stock: Stock) -> None:
        self.unread: set[_Disk] = set()
        uses: dict[_Disk, dict[Key, tuple[bool, frozenset[str]]]] = {}
        for pod in objects.pods():
            for disk, writes, monitors in disks_of(pod):
                known = uses.setdefault(disk, {})
                before, others = known.get(pod.key, (False, frozenset[str]()))
                known[pod.key] = (writes or before, monitors | others)
        for disk, users in sorted(uses.items()):
            if len(users) < 2 or not any(writes for writes, _ in users.values()):
                continue
            sets = {monitors for _, monitors in users.values()}
            if disk[0] == "rbd" and any(not one & other for one, other in combinations(sets, 2)):
                self.unread.add(disk)
                continue
            resource = _resource(*disk)
            stock.everywhere[resource] = len(users)
            for key, (writes, _) in users.items():
                stock.asks[key][resource] = len(users) if writes else 1

    def unexplained(self, pod: View) -> bool:
        """Whether it is not known where a pod may be for its disks.

        Of a disk of a cloud nobody tells the zone: who has it runs on where it is.
        """
        runs = bool(pod.node)
        return any(
            disk in self.unread or (runs and disk[0] in _ZONAL) for disk, *_ in disks_of(pod)
        )


def _resource(kind: str, name: str) -> str:
    """Name the resource of a disk: not as long, nor ending, as the disk's name might."""
    if len(name) > _LONGEST:
        name = f"{name[:_LONGEST]}#{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{DISKS}{kind}-{name.replace('/', ':')}"


def disks_of(pod: View) -> Iterator[tuple[_Disk, bool, frozenset[str]]]:
    """Yield the disks of a pod, whether it keeps them to itself, and Ceph's monitors."""
    for volume in pod.at("spec").list("volumes"):
        for kind, field in _NAMED.items():
            if kind in volume:
                source = volume.at(kind)
                alone = kind == _NEVER_SHARED or not source.flag("readOnly")
                yield (kind, source.text(field)), alone, frozenset()
        if "rbd" in volume:
            source = volume.at("rbd")
            name = f"{source.text('pool', 'rbd')}/{source.text('image')}"
            yield ("rbd", name), not source.flag("readOnly"), frozenset(source.strings("monitors"))
