"""Reservations: a taint closes their nodes to all jobs but those that may use them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.identity import owner_of, user_of
from kantopt.formats.slurm.names import RESERVATION
from kantopt.formats.slurm.records import ENDLESS, Record
from kantopt.schema.base import Toleration
from kantopt.schema.snapshot import Node, Taint


class Reservations:
    """Those that hold whole nodes at the moment of the snapshot, or later; the others are counted.

    Where nobody knows the moment all that are not said to be inactive hold their nodes.
    """

    def __init__(self, records: Records) -> None:
        cores = {node.name: _cores(node) for node in records.of("NodeName")}
        self._moment = moment = records.moment
        self._notes = notes = records.notes
        self._active: dict[str, Record] = {}
        self._coming: dict[str, tuple[str, Record, frozenset[str]]] = {}
        """When they begin, and on which nodes."""
        self._names_of: dict[str, list[str]] = {}
        self._of_cores: set[str] = set()
        """Leave some of their nodes to others."""
        self._known: set[str] = set()
        self._flexible: set[str] = set()
        """Reserve nodes for their jobs, which may use others as well, and before they begin."""
        for record in records.of("ReservationName"):
            name = record.name
            self._known.add(name)
            if "FLEX" in record.flags("Flags"):
                self._flexible.add(name)
            start, end = record.time("StartTime"), record.time("EndTime")
            inactive = record.text("State").upper() == "INACTIVE"
            if moment is not None and start is not None and end is not None:
                inactive = not start <= moment < end
            hosts = record.hosts("Nodes")
            count = record.number("CoreCnt")
            if hosts and 0 < count < sum(cores.get(host, 0) for host in hosts):
                notes.add("reservations of some cores close no node to others", name)
                self._of_cores.add(name)
            if inactive:
                notes.add("reservations for another time hold nothing now", name)
                if moment is not None and start is not None and moment < start:
                    whole = [] if name in self._of_cores else hosts
                    self._coming[name] = start, record, frozenset(whole)
                continue
            if not hosts:
                notes.add("reservations of no whole nodes (licences, cores) hold nothing", name)
                continue
            self._active[name] = record
            for host in hosts:
                self._names_of.setdefault(host, []).append(name)

    @property
    def held(self) -> frozenset[str]:
        """Names of the nodes that an active reservation holds, or some cores of which."""
        return frozenset(self._names_of)

    def onto(self, node: Node) -> Node:
        """Return a node with a label and a taint for each reservation that holds it."""
        names = self._names_of.get(node.name)
        if not names:
            return node
        labels = {f"{RESERVATION}{name}": "true" for name in names}
        taints = tuple(
            Taint(key=f"{RESERVATION}{name}", effect="NoSchedule")
            for name in names
            if name not in self._of_cores
        )
        return node.model_copy(
            update={"labels": {**node.labels, **labels}, "taints": (*node.taints, *taints)}
        )

    def active(self, name: str) -> bool:
        """Whether jobs of a reservation may run now."""
        early = name in self._coming and name in self._flexible
        return name in self._active or early or name not in self._known

    def confines(self, name: str) -> bool:
        """Whether jobs of a reservation run on its nodes only."""
        return name not in self._flexible

    def closing(self, record: Record, waits: str) -> set[str]:
        """Return nodes that others have reserved from when a job that starts now might still run.

        Slurm starts it on none of these. Where no limit of time is told it is taken to end soon.

        Parameters
        ----------
        record
            The job.
        waits
            What to call it in a note; empty: it runs, and none is needed.
        """
        if _overlaps(self._active.get(record.text("Reservation"))):
            return set()
        closed: set[str] = set()
        for name, (start, reservation, hosts) in self._coming.items():
            mine = _draws(reservation, user_of(record), owner_of(record))
            mine = mine or name == record.text("Reservation")
            if mine or not hosts or not self._lasts(record, start):
                continue
            closed |= hosts
            if waits:
                text = "reservations that begin before a job on their nodes would end"
                self._notes.add(text, f"{name}, {waits}")
        return closed

    def _lasts(self, record: Record, until: str) -> bool:
        """Whether a job that starts now might still run then."""
        key = "TimeMin" if record.text("TimeMin") else "TimeLimit"
        seconds = record.seconds(key)
        if self._moment is None or seconds is None:
            return record.text(key) in ENDLESS
        ahead = datetime.fromisoformat(until) - datetime.fromisoformat(self._moment)
        return ahead.total_seconds() < seconds

    def tolerated(self, asked: Sequence[str], user: str, account: str) -> tuple[Toleration, ...]:
        """Return what a job tolerates: the reservations it asks for, and magnetic ones."""
        drawn = [name for name, record in self._active.items() if _draws(record, user, account)]
        names = dict.fromkeys([*asked, *drawn])
        return tuple(
            Toleration(key=f"{RESERVATION}{name}", operator="Exists", effect="NoSchedule")
            for name in names
        )


def _cores(node: Record) -> int:
    cpus = node.number("CPUEfctv") or node.number("CPUTot")
    return cpus // max(1, node.number("ThreadsPerCore", 1))


def _draws(record: Record, user: str, account: str) -> bool:
    """Whether jobs of somebody who may use it come to it without asking."""
    may_use = user in record.listed("Users") or account in record.listed("Accounts")
    return "MAGNETIC" in record.flags("Flags") and may_use


def _overlaps(record: Record | None) -> bool:
    """Whether its jobs run on in spite of other reservations of its nodes."""
    return record is not None and bool(record.flags("Flags") & {"MAINT", "OVERLAP"})
