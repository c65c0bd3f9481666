"""Cores of nodes: Slurm gives them to jobs whole, with all of their threads.

Tasks of one job share cores, jobs do not. How many tasks of a job without a number of nodes come to
a node is open, so that the CPUs of these are rounded only where each task has its own cores.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.records import Record


@dataclass(frozen=True, slots=True)
class Core:
    """What all cores have that a job may get."""

    threads: int = 1
    counts_memory: bool = False
    """Whether memory for each CPU is given for each thread of these cores."""

    def cpus(self, record: Record, cpus: int, tasks: int) -> int:
        """Return what CPUs of a job on one node, where so many of its tasks lie, are in cores."""
        if _threads(record) == 1:
            return cpus * self.threads
        cpus = self._rounded(cpus)
        return max(cpus, self.cpus_of_task(record, 1) * tasks) if _alone(record) else cpus

    def cpus_of_task(self, record: Record, cpus: int) -> int:
        """Return what CPUs of a task count as that may share its node with others of its job."""
        if _threads(record) == 1:
            return cpus * self.threads
        return self._rounded(max(cpus, record.number("CPUs/Task", 1))) if _alone(record) else cpus

    def cpus_with_memory(self, record: Record, asked: int, given: int) -> int:
        """Return the CPUs for each of which a job has memory."""
        return given if self.counts_memory and _threads(record) != 1 else asked

    def _rounded(self, cpus: int) -> int:
        return -(-cpus // self.threads) * self.threads


ALONE = Core()
"""A core with one thread, as where nobody knows better."""


class Cores:
    """Cores of all nodes.

    Without what ``scontrol show config`` tells CPUs are taken to be given one by one.
    """

    def __init__(self, records: Records) -> None:
        config = records.config
        whole = config is not None and config.text("SelectType").startswith("select/cons_")
        how = config.text("SelectTypeParameters").upper() if config else ""
        self._whole = whole
        self._counts_memory = "MEMORY" in how and "CPU" not in how
        self._nodes = records.named("NodeName")
        self.threads: Mapping[str, int] = {
            name: record.number("ThreadsPerCore", 1) for name, record in self._nodes.items()
        }
        """Of each core of a node."""

    def least(self, record: Record, hosts: Iterable[str]) -> Core:
        """Return what every core has that a job may get on some nodes."""
        if not self._whole:
            return ALONE
        excluded, required = record.hosts("ExcNodeList"), record.hosts("ReqNodeList")
        _, most = record.range("NumNodes")
        if required and len(required) == most:
            hosts = required
        able = (host for host in hosts if host in self.threads and host not in excluded)
        threads = min((self.threads[host] for host in able), default=1)
        return Core(max(threads, 1), self._counts_memory)

    def lacking(self, record: Record, hosts: Iterable[str]) -> list[str]:
        """Return nodes with fewer sockets, cores or threads than a job names."""
        named = {
            "Sockets": _asked(record, "Socks/Node", 0),
            "CoresPerSocket": _asked(record, "ReqB:S:C:T", 2),
            "ThreadsPerCore": _threads(record),
        }
        return [
            host
            for host in hosts
            if any(0 < self._nodes[host].number(key, least) < least for key, least in named.items())
        ]


def _alone(record: Record) -> bool:
    """Whether each task has cores of its own."""
    return 1 in (_asked(record, "NtasksPerN:B:S:C", 3), record.number("TasksPerCore"))


def _threads(record: Record) -> int:
    """Return how many threads of each core a job uses at most; 0: all."""
    return _asked(record, "ReqB:S:C:T", 3) or record.number("ThreadsPerCore")


def _asked(record: Record, key: str, place: int) -> int:
    """Return a number of a list as ``0:0:*:1``; 0 if the job does not name it."""
    parts: Sequence[str] = record.text(key).split(":")
    return int(parts[place]) if place < len(parts) and parts[place].isdecimal() else 0
