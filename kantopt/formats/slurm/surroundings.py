"""What the jobs of a cluster are read against, and the pieces that jobs consist of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.notes import Notes
from kantopt.formats.slurm import names
from kantopt.formats.slurm.cores import Cores
from kantopt.formats.slurm.identity import id_of
from kantopt.formats.slurm.memory import Memory
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.policy import Policy
from kantopt.formats.slurm.quotas import Quotas
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.reservations import Reservations
from kantopt.formats.slurm.sharing import SharedNodes
from kantopt.formats.slurm.states import State
from kantopt.formats.slurm.tres import Amounts


@dataclass(frozen=True, slots=True)
class Piece:
    """A record of a job, or one task of an array, and what it does now."""

    record: Record
    state: State
    task: int | None = None

    @property
    def id(self) -> str:
        """What ``scontrol`` calls it."""
        return id_of(self.record, self.task)

    @property
    def holds(self) -> bool:
        """Whether it has nodes."""
        return self.state != "pending" or self.chosen

    @property
    def chosen(self) -> bool:
        """Whether it has got its nodes since an earlier snapshot, and waits for them here."""
        return self.record.text(names.CHOSEN) == "1"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the jobs of a cluster are read against."""

    policy: Policy
    reservations: Reservations
    level: str | None
    """Finest level of the topology."""
    moment: str | None
    offered: Mapping[str, Amounts]
    cores: Cores
    partitions: Partitions
    memory: Memory
    shares: Sequence[str]
    """What some job takes whole, nodes or their memory: others must take a part of theirs."""
    quotas: Quotas
    namespaces: Sequence[str]
    """Of all jobs."""
    ranks: Mapping[tuple[int, int], int]
    """Rank of a job that waits, by the number of its tier and its turn."""
    tiers: Mapping[int, int]
    """Number of each tier, from 0."""
    shared: SharedNodes
    notes: Notes = field(default_factory=Notes)

    def note_cpus(self, job: str, *, paused: bool, shares: bool) -> None:
        """Say of a job that holds nodes why not all of its CPUs count, if any do not."""
        if paused:
            self.notes.add("suspended jobs: their CPUs count as free, memory and GRES do not", job)
        if shares:
            text = "jobs that share CPUs (OverSubscribe) stay: what they have together counts once"
            self.notes.add(text, job)
