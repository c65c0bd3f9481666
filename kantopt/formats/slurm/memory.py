"""Memory of nodes: whether Slurm counts what jobs take of it, and who takes all of a node's.

Slurm gives a job that names no memory, or ``--mem=0``, all memory of each of its nodes, and only
nodes of which no job has any. Where ``SelectTypeParameters`` is without memory jobs take none of
it: what they name is what their nodes must have at all.
"""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.shapes import gpus_bring_memory
from kantopt.formats.slurm.tres import Amounts, nodes_counted, tres_of


class Memory:
    """What memory is to the jobs of a cluster.

    Parameters
    ----------
    config
        Record of ``scontrol show config``; without it jobs are taken to share memory out.
    offered
        What each node offers.
    partitions
        The partitions.
    """

    def __init__(
        self, config: Record | None, offered: Mapping[str, Amounts], partitions: Partitions
    ) -> None:
        how = config.text("SelectTypeParameters").upper() if config else ""
        self._counts = not how or "MEMORY" in how
        self._offered = offered
        self._members = partitions.members

    def offers(self, record: Record) -> dict[str, Amounts]:
        """Return what each node of a job's partitions offers."""
        names = record.listed("Partition")
        hosts = dict.fromkeys(host for name in names for host in self._members.get(name, ()))
        return {host: self._offered[host] for host in hosts if host in self._offered}

    def takes_all(self, record: Record) -> bool:
        """Whether a job takes all memory of its nodes, of which some have more than others.

        Where all have the same, that is what Slurm tells in the job's TRES.
        """
        if not self._counts or record.text("MinMemoryNode") != "0":
            return False
        sizes = {offer.get("memory", 0) for offer in self.offers(record).values()}
        if _names(record) and (gpus_bring_memory(record) or _counted(record) not in sizes):
            return False
        return len(sizes) > 1

    def by_node(self, record: Record) -> bool:
        """Whether a job has so much memory on each of its nodes, or all, whatever it does there."""
        named = record.memory("MinMemoryCPU") or record.text("MemPerTres")
        return self._counts and not named and bool(record.text("MinMemoryNode"))

    def counted(self, amounts: Amounts, *, alone: bool = False) -> Amounts:
        """Return of what a job asks for or holds what others lack then.

        ``alone``: it waits, and takes all memory, however much that is.
        """
        if self._counts and not alone:
            return amounts
        return {key: amount for key, amount in amounts.items() if key != "memory"}

    def too_small(self, record: Record, amounts: Amounts, *, whole: bool) -> list[str]:
        """Return nodes that have less memory in all than a job must have there.

        One for whole nodes has what it names for each of their CPUs. Where memory is not counted
        a node must have what any job names.
        """
        each = record.memory("MinMemoryCPU") if whole and self._counts else 0
        if each:
            return [
                host
                for host, offer in self.offers(record).items()
                if offer.get("memory", 0) * 1000 < each * offer.get("cpu", 0)
            ]
        if self._counts or not _names(record):
            return []
        least = max(amounts.get("memory", 0), record.memory("MinMemoryNode"))
        return [h for h, offer in self.offers(record).items() if offer.get("memory", 0) < least]


def _counted(record: Record) -> int:
    """Return the memory that Slurm counts for each node of a job that waits."""
    total = tres_of(record, "ReqTRES", "TRES").get("memory", 0)
    return total // (nodes_counted(record) or 1)


def _names(record: Record) -> bool:
    """Whether a job says how much memory it wants, or a default of its partition does."""
    named = any(record.memory(key) for key in ("MinMemoryNode", "MinMemoryCPU"))
    return named or bool(record.text("MemPerTres"))
