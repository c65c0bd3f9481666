"""Reservations: a taint closes their nodes to all jobs but those that may use them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.formats.objects import Notes
from kantopt.formats.slurm.names import RESERVATION
from kantopt.formats.slurm.records import Record
from kantopt.schema.base import Toleration
from kantopt.schema.snapshot import Node, Taint


class Reservations:
    """Those that hold whole nodes at the moment of the snapshot; the others are counted.

    Parameters
    ----------
    records
        Records of reservations.
    moment
        When the snapshot was taken; ``None``: nobody knows, and all that are not said to be
        inactive hold their nodes.
    notes
        Where to count what is left out.
    """

    def __init__(self, records: Iterable[Record], moment: str | None, notes: Notes) -> None:
        self._active: dict[str, Record] = {}
        self._names_of: dict[str, list[str]] = {}
        self._known: set[str] = set()
        for record in records:
            name = record.name
            self._known.add(name)
            start, end = record.time("StartTime"), record.time("EndTime")
            inactive = record.text("State").upper() == "INACTIVE"
            if moment is not None and start is not None and end is not None:
                inactive = not start <= moment < end
            if inactive:
                notes.add("reservations for another time hold nothing now", name)
                continue
            hosts = record.hosts("Nodes")
            if not hosts:
                notes.add("reservations of no whole nodes (licences, cores) hold nothing", name)
                continue
            self._active[name] = record
            for host in hosts:
                self._names_of.setdefault(host, []).append(name)

    @property
    def held(self) -> frozenset[str]:
        """Names of the nodes that an active reservation holds."""
        return frozenset(self._names_of)

    def onto(self, node: Node) -> Node:
        """Return a node with a label and a taint for each reservation that holds it."""
        names = self._names_of.get(node.name)
        if not names:
            return node
        labels = {f"{RESERVATION}{name}": "true" for name in names}
        taints = tuple(Taint(key=f"{RESERVATION}{name}", effect="NoSchedule") for name in names)
        return node.model_copy(
            update={"labels": {**node.labels, **labels}, "taints": (*node.taints, *taints)}
        )

    def active(self, name: str) -> bool:
        """Whether jobs of a reservation may run now."""
        return name in self._active or name not in self._known

    def tolerated(self, asked: Sequence[str], user: str, account: str) -> tuple[Toleration, ...]:
        """Return what a job tolerates: the reservations it asks for, and magnetic ones."""
        drawn = [
            name
            for name, record in self._active.items()
            if "MAGNETIC" in record.flags("Flags") and _may_use(record, user, account)
        ]
        names = dict.fromkeys([*asked, *drawn])
        return tuple(
            Toleration(key=f"{RESERVATION}{name}", operator="Exists", effect="NoSchedule")
            for name in names
        )


def _may_use(record: Record, user: str, account: str) -> bool:
    users, accounts = (_listed(record.text(key)) for key in ("Users", "Accounts"))
    return user in users or account in accounts


def _listed(text: str) -> set[str]:
    return {item.strip() for item in text.split(",") if item.strip()}
