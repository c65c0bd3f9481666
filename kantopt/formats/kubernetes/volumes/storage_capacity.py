"""Room where volumes can be made, as CSI drivers tell it (CSIStorageCapacity).

kube-scheduler holds each volume by itself against what is told. Where several that wait could ask
for more together than there is, the room of a node is an amount and each of its pods takes its
share, which is stricter; of several nodes it is not known who takes what.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kantopt.formats.kubernetes.nodes import MOST_COUNT, read_selector
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.volumes.stock import Stock
from kantopt.formats.kubernetes.volumes.waiting_claims import (
    NOWHERE,
    Terms,
    UnexplainedError,
    WaitingClaim,
)
from kantopt.formats.view import Exact, Key, View
from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.quantity import CAPACITY
from kantopt.schema.selection import requirements_of, selector_matches
from kantopt.schema.snapshot import Node

_MEBI = 1 << 20


@dataclass(frozen=True, slots=True)
class _Room:
    """What one object tells: how much of a class can be made, and where."""

    selector: LabelSelector
    nodes: frozenset[str]
    largest: int
    """Bytes of the largest volume."""
    total: int | None
    """Bytes of all of them."""


class StorageCapacities:
    """Where volumes of a class and a size can be made."""

    def __init__(
        self,
        objects: Objects,
        waiting: Mapping[Key, WaitingClaim],
        nodes: Sequence[Node],
        stock: Stock,
    ) -> None:
        self._measured = {
            name
            for name, view in objects.named("storage.k8s.io", "CSIDriver").items()
            if view.at("spec").flag("storageCapacity")
        }
        self._told = objects.of("storage.k8s.io", "CSIStorageCapacity")
        self._rooms: dict[str, list[_Room]] = {}
        for view in self._told:
            found = _read(view, nodes)
            if found is not None:
                self._rooms.setdefault(view.text("storageClassName"), []).append(found)
        self._waiting = waiting
        self._unread: set[Key] = set()
        self._stock = stock
        classes = objects.named("storage.k8s.io", "StorageClass")
        for name in sorted(self._rooms.keys() & classes.keys()):
            if classes[name].text("provisioner") in self._measured:
                self._share(name)

    def reach(self, key: Key, name: str, provisioner: str, size: Exact | None) -> list[Terms]:
        """Return the terms of which a node must match one for a volume to be made there, if any.

        Raises
        ------
        UnexplainedError
            If nothing is told, or claims that wait may ask for more than there is for all.
        """
        if provisioner not in self._measured or size is None:
            return []
        if not self._told or key in self._unread:
            raise UnexplainedError
        rooms = [room for room in self._rooms.get(name, ()) if room.largest >= size]
        asked = (requirements_of(room.selector) for room in rooms)
        terms = tuple(NodeSelectorTerm(match_expressions=each) for each in asked)
        # A selector without requirements selects all nodes, a term without them none.
        return [] if NodeSelectorTerm() in terms else [terms or NOWHERE]

    def _share(self, name: str) -> None:
        """Count the room of nodes for a class, if those that wait could ask for too much of it."""
        claims = {
            key: claim.size
            for key, claim in self._waiting.items()
            if claim.storage_class == name and claim.size is not None
        }
        rooms = self._rooms[name]
        shared: dict[str, int] = {}
        scarce = False
        for room in rooms:
            takers = {key: size for key, size in claims.items() if room.largest >= size}
            if room.total is None or len(takers) < 2 or sum(takers.values()) <= room.total:
                continue
            others = frozenset[str]().union(*(o.nodes for o in rooms if o is not room))
            if len(room.nodes) > 1 or not room.nodes.isdisjoint(others):
                self._unread |= takers.keys()
                continue
            scarce = True
            shared.update(dict.fromkeys(room.nodes, room.total // _MEBI))
        asked = {key: int(-(-size // _MEBI)) for key, size in claims.items()}
        most = sum(asked.values())
        if not scarce:
            return
        if most > MOST_COUNT:
            self._unread |= claims.keys()
            return
        resource = CAPACITY + name
        self._stock.everywhere[resource] = most
        for node, amount in shared.items():
            self._stock.offers[node][resource] = amount
        for key, amount in asked.items():
            for user in self._waiting[key].users:
                self._stock.asks[user][resource] += amount


def _read(view: View, nodes: Sequence[Node]) -> _Room | None:
    """Read one object; ``None`` if no node has access to what it tells, or it tells nothing."""
    if "nodeTopology" not in view:
        return None
    amounts = {
        field: amount
        for field in ("capacity", "maximumVolumeSize")
        if (amount := view.amount(field, "storage", up=False)) is not None
    }
    if not amounts:
        return None
    selector = read_selector(view.at("nodeTopology"))
    found = frozenset(node.name for node in nodes if selector_matches(selector, node.labels))
    total = amounts.get("capacity")
    return _Room(selector, found, amounts.get("maximumVolumeSize", total or 0), total)
