"""What jobs hold of nodes that others have as well: shared CPUs, and what suspended jobs keep.

CPUs that jobs share (``OverSubscribe=FORCE:4``, ``YES:4``) count once, for the first of them. So
nobody who has CPUs of his own is told that there are fewer or more than there are; such jobs
themselves are not planned. A suspended job keeps memory and GRES, but where it was suspended for a
job that has a whole node: Slurm gives that all of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import Record, numbers
from kantopt.formats.slurm.states import is_suspended
from kantopt.formats.slurm.tres import Amounts


class SharedNodes:
    """Who counts for what jobs have of a node together.

    ``records`` are the jobs that hold nodes.
    """

    def __init__(self, records: Iterable[Record], partitions: Partitions) -> None:
        self._cpus: dict[tuple[int, str], int] = {}
        self._whole: set[str] = set()
        taken: dict[str, set[int]] = {}
        for record in records:
            if partitions.gives_whole_nodes(record):
                self._whole.update(record.hosts("NodeList"))
            if is_suspended(record) or not partitions.shares_cpus(record):
                continue
            for host, own in _cpus(record).items():
                before = taken.setdefault(host, set())
                self._cpus[id(record), host] = len(own - before)
                before |= own

    def held(self, record: Record, host: str, amounts: Amounts) -> Amounts:
        """Return what counts for a job of what it has of a node."""
        if is_suspended(record):
            rest = {name: n for name, n in amounts.items() if name != "cpu"}
            return {} if host in self._whole else rest
        cpus = self._cpus.get((id(record), host))
        return amounts if cpus is None else {**amounts, "cpu": 1000 * cpus}


def _cpus(record: Record) -> dict[str, set[int]]:
    """Return the numbers of a job's CPUs on each of its nodes; untold ones are the first."""
    hosts = record.hosts("NodeList")
    even = -(-record.range("NumCPUs")[0] // max(1, len(hosts)))
    found = {host: {*range(even)} for host in hosts}
    for part in record.parts:
        cpus = numbers(part.text("CPU_IDs")) or {*range(part.number("CPUs"))}
        found.update((host, cpus) for host in part.hosts("Nodes") if cpus)
    return found
