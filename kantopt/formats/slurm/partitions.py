"""Partitions: their nodes, and which jobs they let in."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.names import CAPPED
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.shapes import is_exclusive
from kantopt.formats.slurm.states import is_suspended


class Partitions:
    """Partitions by name, with their nodes as they and the nodes themselves tell."""

    def __init__(self, records: Records) -> None:
        partitions, nodes = records.of("PartitionName"), records.of("NodeName")
        config = records.config
        self.by_name: Mapping[str, Record] = {record.name: record for record in partitions}
        self._linear = config is not None and config.text("SelectType") == "select/linear"
        """All jobs take whole nodes."""
        hosts = [record.name for record in nodes]
        found: dict[str, dict[str, None]] = {}
        for record in partitions:
            everyone = record.text("Nodes") == "ALL"
            names = hosts if everyone else record.hosts("Nodes")
            found.setdefault(record.name, {}).update(dict.fromkeys(names))
        for record in nodes:
            for name in record.listed("Partitions"):  # the default bears a star
                found.setdefault(name.replace("*", ""), {})[record.name] = None
        self.members: Mapping[str, Sequence[str]] = {
            name: tuple(listed) for name, listed in sorted(found.items()) if listed
        }
        """Nodes of each partition."""
        self._of: dict[str, list[str]] = {}
        for name, listed in self.members.items():
            for host in listed:
                self._of.setdefault(host, []).append(name)
        self._holding: dict[tuple[str, ...], tuple[str, ...]] = {}
        self.exclusive = frozenset(
            record.name for record in partitions if "EXCLUSIVE" in record.flags("OverSubscribe")
        )
        """Partitions whose jobs take whole nodes."""
        self._of_users = frozenset(
            record.name for record in partitions if "YES" in record.flags("ExclusiveUser")
        )
        self._sharing = {record.name: _sharing(record) for record in partitions}

        self._most = {r.name: most for r in partitions if (most := r.number("MaxCPUsPerNode"))}

    def caps(self, host: str, cpus: int) -> dict[str, int]:
        """Return of how many of its CPUs a node lets the jobs of some partitions have, each."""
        names = (name for name in self.of(host) if name in self._most)
        return {f"{CAPPED}{name}": min(cpus, self._most[name]) for name in names}

    def capped(self, job: Record, cpus: int, *, whole: bool) -> dict[str, int]:
        """Return what CPUs of a job count as of these; it is in one partition.

        One for whole nodes gets as many as its partition lets it have.
        """
        found = {}
        for name in self.open_to(job):
            if most := self._most.get(name, 0):
                found[f"{CAPPED}{name}"] = min(cpus, most) if whole else cpus
        return found if len(self.open_to(job)) == 1 else {}

    def is_capped(self, job: Record) -> bool:
        """Whether a job of several partitions may start in one that caps CPUs of a node."""
        names = self.open_to(job)
        return len(names) > 1 and not self._most.keys().isdisjoint(names)

    def shares_cpus(self, record: Record) -> bool:
        """Whether a job may be given CPUs that others have as well."""
        asks = bool(record.flags("OverSubscribe") & {"YES", "OVERSUBSCRIBE"})
        how = {self._sharing.get(name, "") for name in record.listed("Partition")}
        return "FORCE" in how or (asks and "YES" in how)

    def of(self, host: str) -> Sequence[str]:
        """Return the partitions that a node is in."""
        return self._of.get(host, ())

    def refuses(self, names: Sequence[str], job: Record) -> str:
        """Say why none of its partitions would start a job now; empty if one would."""
        reasons = [self._refuses(name, job) for name in names]
        return reasons[0] if reasons and all(reasons) else ""

    def open_to(self, job: Record) -> tuple[str, ...]:
        """Return the partitions with nodes that would start a job now; all if none would."""
        known = tuple(name for name in job.listed("Partition") if name in self.members)
        return tuple(name for name in known if not self._refuses(name, job)) or known

    def gives_whole_nodes(self, job: Record) -> bool:
        """Whether a job takes whole nodes: by itself, by its partition, or as all do."""
        if self.shares_cpus(job) or is_suspended(job):
            return False
        exclusive = any(name in self.exclusive for name in job.listed("Partition"))
        return self._linear or is_exclusive(job) or exclusive

    def all_exclusive(self, job: Record) -> bool:
        """Whether a job gets whole nodes in whichever of its partitions it starts."""
        if self._linear or job.text("OverSubscribe").upper() == "NO":
            return True
        return all(name in self.exclusive for name in job.listed("Partition"))

    def of_one_user(self, job: Record) -> bool:
        """Whether a job may start in a partition of which each node has one user's jobs only."""
        return not self._of_users.isdisjoint(job.listed("Partition"))

    def limits_nodes(self, job: Record) -> bool:
        """Whether a partition would not let a job have a node for each of its tasks."""
        names = (name for name in job.listed("Partition") if name in self.by_name)
        limits = [self.by_name[name].number("MaxNodes") for name in names]
        return any(0 < most < job.number("NumTasks") for most in limits)

    def holding(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return the partitions in which all nodes of a job can be at once: it is in one of them.

        These are all if one has the nodes of all others, else the largest of them.
        """
        if len(names) > 1 and names not in self._holding:
            largest = max(names, key=lambda name: len(self.members[name]))
            has = set(self.members[largest])
            inside = all(has.issuperset(self.members[name]) for name in names)
            self._holding[names] = names if inside else (largest,)
        return self._holding.get(names, names)

    def _refuses(self, name: str, job: Record) -> str:
        record = self.by_name.get(name)
        if record is None:
            return ""
        if record.flags("State") & {"DOWN", "INACTIVE"}:  # jobs of one that drains still start
            return "of partitions that are down or inactive"
        low, high = job.range("NumNodes")
        most = record.number("MaxNodes")
        if most and max(low, high or 0) > most:
            return "for more nodes than their partition allows (MaxNodes)"
        if high and high < record.number("MinNodes"):
            return "for fewer nodes than their partition asks for (MinNodes)"
        return ""


def _sharing(partition: Record) -> str:
    """Say whether jobs of a partition share CPUs, FORCE, or those that ask for it, YES."""
    match = re.fullmatch(r"(FORCE|YES)(?::(\d{1,5}))?", partition.text("OverSubscribe").upper())
    return match[1] if match and int(match[2] or 4) > 1 else ""
