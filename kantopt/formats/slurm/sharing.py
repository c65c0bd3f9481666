"""CPUs that Slurm gives to several jobs at once (``OverSubscribe=FORCE:4``, ``YES:4``).

What jobs have together of a node counts once, of the first of them. So nobody who has CPUs of his
own is told that there are fewer or more than there are; such jobs themselves are not planned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.states import is_suspended
from kantopt.formats.slurm.tres import Amounts


class SharedCpus:
    """CPUs of each node that jobs share, each counted for one job.

    Parameters
    ----------
    records
        Jobs that hold nodes.
    partitions
        The partitions.
    """

    def __init__(self, records: Iterable[Record], partitions: Partitions) -> None:
        self._cpus: dict[tuple[int, str], int] = {}
        taken: dict[str, set[int]] = {}
        for record in records:
            if is_suspended(record) or not partitions.shares_cpus(record):
                continue
            hosts = record.hosts("NodeList")
            even = -(-record.range("NumCPUs")[0] // max(1, len(hosts)))
            told: dict[str, set[int]] = {}
            for detail in record.details:
                part = Record("Nodes", detail, record.file, record.problems)
                cpus = numbers(part.text("CPU_IDs")) or {*range(part.number("CPUs"))}
                told.update(dict.fromkeys(part.hosts("Nodes"), cpus))
            for host in hosts:
                own = told.get(host) or {*range(even)}
                before = taken.setdefault(host, set())
                self._cpus[id(record), host] = len(own - before)
                before |= own

    def cpus_of(self, record: Record, host: str) -> Amounts:
        """Return the CPUs of a node that count for a job, if not all that it has there."""
        if is_suspended(record):
            return {"cpu": 0}
        cpus = self._cpus.get((id(record), host))
        return {} if cpus is None else {"cpu": 1000 * cpus}


def numbers(text: str) -> set[int]:
    """Return the numbers of ``0-3,8``."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return found
