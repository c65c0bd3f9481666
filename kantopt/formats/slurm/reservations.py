"""Reservations: a taint closes their nodes to all jobs but those that may use them.

One that is still to begin closes them to jobs that would not end by then.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from math import inf

from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.identity import owner_of, user_of
from kantopt.formats.slurm.names import RESERVATION
from kantopt.formats.slurm.records import ENDLESS, Record
from kantopt.schema.base import Toleration
from kantopt.schema.eligibility import AHEAD
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
        self._whole: dict[str, tuple[str, Record, frozenset[str]]] = {}
        """When they begin or began, and on which whole nodes."""
        self._coming: set[str] = set()
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
            if start is not None and hosts and name not in self._of_cores:
                self._whole[name] = start, record, frozenset(hosts)
            if inactive:
                notes.add("reservations for another time hold nothing now", name)
                if moment is not None and start is not None and moment < start:
                    self._coming.add(name)
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
        """Return a node with a label and a taint for each reservation that holds it.

        For one that is to hold it later the taint alone, which says from when.
        """
        names = self._names_of.get(node.name, [])
        ahead = {
            name: start
            for name, (start, _, hosts) in self._whole.items()
            if name in self._coming and node.name in hosts
        }
        if not names and not ahead:
            return node
        labels = {f"{RESERVATION}{name}": "true" for name in names}
        taints = tuple(
            Taint(key=f"{RESERVATION}{name}", effect="NoSchedule")
            for name in names
            if name not in self._of_cores
        )
        taints += tuple(
            Taint(key=f"{RESERVATION}{name}", value=f"{AHEAD}{start}", effect="NoSchedule")
            for name, start in sorted(ahead.items())
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

    def closing(self, record: Record, waits: str, since: str | None) -> dict[str, frozenset[str]]:
        """Return who has reserved which nodes from when a job might still run.

        Slurm starts it on none of these. Where no limit of time is told it is taken to end soon.

        Parameters
        ----------
        record
            The job.
        waits
            What to call it in a note; empty: it runs, and none is needed.
        since
            When it starts.
        """
        if _overlaps(self._active.get(record.text("Reservation"))):
            return {}
        closed = {}
        for name, (start, hosts) in self._ahead(since).items():
            if self._is_for(name, record) or not _lasts(record, since, start):
                continue
            closed[name] = hosts
            if waits:
                text = "reservations that begin before a job on their nodes would end"
                self._notes.add(text, f"{name}, {waits}")
        return closed

    def _ahead(self, since: str | None) -> dict[str, tuple[str, frozenset[str]]]:
        """Return those that begin after a job starts."""
        return {
            name: (start, hosts)
            for name, (start, _, hosts) in self._whole.items()
            if since is not None and since < start
        }

    def _is_for(self, name: str, record: Record) -> bool:
        """Whether a job asks for a reservation, or is drawn by it."""
        drawn = _draws(self._whole[name][1], user_of(record), owner_of(record))
        return drawn or name == record.text("Reservation")

    def borne(self, record: Record, since: str | None, closed: Collection[str]) -> set[str]:
        """Return what a job tolerates: what it asks for, magnetic ones, and others not yet begun.

        Parameters
        ----------
        record
            The job.
        since
            When it starts.
        closed
            Names of reservations that begin later, and whose nodes are closed to it.
        """
        user, account = user_of(record), owner_of(record)
        drawn = {name for name, active in self._active.items() if _draws(active, user, account)}
        early = self._ahead(since).keys() - closed
        return drawn | early | {*filter(None, (record.text("Reservation"),))}

    def beside(self, hosts: Collection[str], sure: Collection[str]) -> dict[str, frozenset[str]]:
        """Return others than some that have reserved nodes of a job, and which nodes."""
        return {
            name: theirs
            for name, (_, _, theirs) in self._whole.items()
            if name not in sure and not theirs.isdisjoint(hosts)
        }


def tolerations(reservations: Collection[str]) -> tuple[Toleration, ...]:
    """Return what lets jobs onto nodes that some reservations hold, or are to."""
    return tuple(
        Toleration(key=f"{RESERVATION}{name}", operator="Exists", effect="NoSchedule")
        for name in sorted(reservations)
    )


def least_time(record: Record) -> float | None:
    """Return for how many seconds a job may run at least: ``None`` if nobody tells."""
    key = "TimeMin" if record.text("TimeMin") else "TimeLimit"
    seconds = record.seconds(key)
    return inf if seconds is None and record.text(key) in ENDLESS else seconds


def _lasts(record: Record, since: str | None, until: str) -> bool:
    """Whether a job that starts at one moment might still run at another."""
    least = least_time(record)
    if since is None or least is None:
        return False
    ahead = datetime.fromisoformat(until) - datetime.fromisoformat(since)
    return ahead.total_seconds() < least


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
