"""Who may preempt whom in Slurm, as priorities, and what preemption may take.

Slurm preempts between tiers only (``PriorityTier`` of partitions, or the ``Preempt`` lists of
QOS), and orders a tier by job priority. Our priorities do both: each tier has a base, jobs that
wait lie above it by their rank within the tier, and jobs that run at its top, so that no job of
the tier may evict them and every job of a higher one may.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from kantopt.formats.notes import Notes
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.topology import heights_of

STEP = 1000
"""Priorities of a tier."""
MOST_RANKS = 10
"""Different priorities of jobs that wait in a tier; more are put together, in equal numbers."""

_BITS = 32
"""Of a job's priority."""

Kind = Literal["none", "partition_prio", "qos"]


@dataclass(frozen=True, slots=True)
class Standing:
    """What preemption may do with a job."""

    tier: int
    mode: str
    """REQUEUE, CANCEL, SUSPEND or OFF."""
    grace_seconds: int = 0
    exempt_seconds: int = 0


class Policy:
    """Preemption as configured; what is taken for granted is noted."""

    def __init__(self, records: Records) -> None:
        config, notes = records.config, records.notes
        self._partitions = partitions = records.named("PartitionName")
        self._qos = qos = records.named("Qos")
        self._modes = config.flags("PreemptMode") if config else frozenset({"REQUEUE"})
        self._exempt = (config.seconds("PreemptExemptTime") if config else None) or 0
        kind = config.text("PreemptType").removeprefix("preempt/") if config else ""
        tiers = {record.number("PriorityTier", 1) for record in partitions.values()}
        if config is None:
            on = any(_mode(record.flags("PreemptMode")) != "OFF" for record in partitions.values())
            kind = "partition_prio" if on and len(tiers) > 1 else "none"
            said = "by partition" if kind != "none" else "off"
            notes.add(f"without scontrol show config preemption is taken to be {said}")
        self.kind: Kind = kind if kind in ("partition_prio", "qos") else "none"  # type: ignore[assignment]
        self._levels = _levels(qos, notes) if self.kind == "qos" else {}
        self._preempted = {name for record in qos.values() for name in record.listed("Preempt")}

    def of_job(self, records: Sequence[Record]) -> Standing:
        """Return the standing of a job, by its components.

        Where it evicts others, or may be evicted, the lowest of them counts.
        """
        choose = max if self.kind == "none" else min
        found = [self.standing(r.listed("Partition"), r.text("QOS")) for r in records]
        return choose(found, key=lambda standing: standing.tier)

    def may_preempt(self, one: Record, other: Record) -> bool:
        """Whether Slurm itself lets one job preempt another, whatever our priorities allow."""
        if self.kind != "qos":
            return self.of_job([one]).tier > self.of_job([other]).tier
        qos = self._qos.get(one.text("QOS"))
        return qos is not None and other.text("QOS") in qos.listed("Preempt")

    def is_lowered(self, record: Record) -> bool:
        """Whether a job that waits might start in a higher tier than it evicts by."""
        names = record.listed("Partition")
        return self.kind == "partition_prio" and len(set(map(_tier, self._known(names)))) > 1

    def standing(self, partitions: Sequence[str], qos: str) -> Standing:
        """Return the standing of a job.

        One that waits for several partitions may start in any of them: it evicts whom it may from
        each, so the lowest tier counts. Where nobody evicts it has its turn by the highest.
        """
        if self.kind == "qos":
            record = self._qos.get(qos)
            mode = _mode(record.flags("PreemptMode") if record else frozenset())
            if record is None or qos not in self._preempted:
                mode = "OFF"
            elif mode == "CLUSTER":
                mode = _mode(self._modes)
            exempt = record.seconds("PreemptExemptTime") if record else None
            grace = (record.seconds("GraceTime") if record else None) or 0
            return Standing(self._levels.get(qos, 0), mode, grace, exempt or self._exempt)
        choose = max if self.kind == "none" else min
        record = choose(self._known(partitions), key=_tier, default=None)
        if record is None:
            return Standing(0, "OFF")
        if self.kind == "none":  # nobody leaves, but those of higher tiers come first
            return Standing(_tier(record), "OFF")
        mode = _mode(record.flags("PreemptMode") or self._modes)
        mode = _mode(self._modes) if mode == "CLUSTER" else mode
        grace = record.number("GraceTime")
        return Standing(_tier(record), mode, grace, self._exempt)

    def turn(self, job: Record) -> int:
        """Return a number by which jobs that wait come in turn, the highest first.

        Slurm looks at them by the tier of their partition first, whatever it preempts by, then by
        priority.
        """
        first = max(map(_tier, self._known(job.listed("Partition"))), default=0)
        return (first << _BITS) + job.number("Priority")

    def _known(self, partitions: Sequence[str]) -> list[Record]:
        return [self._partitions[name] for name in partitions if name in self._partitions]


def _tier(partition: Record) -> int:
    return partition.number("PriorityTier", 1)


def _mode(flags: Iterable[str]) -> str:
    modes = [mode for mode in ("OFF", "REQUEUE", "CANCEL", "SUSPEND") if mode in flags]
    return modes[0] if modes else "CLUSTER"


def _levels(qos: Mapping[str, Record], notes: Notes) -> dict[str, int]:
    """Rank QOS by who may preempt whom: above all whom one may preempt, directly or not."""
    listed = ((name, record.listed("Preempt")) for name, record in sorted(qos.items()))
    below = {name: [other for other in names if other in qos] for name, names in listed}
    levels = heights_of(below)
    victims = {name for names in below.values() for name in names}
    for name, names in below.items():
        beyond = {n for n in victims if levels[n] < levels[name]} - set(names)
        if names and beyond:
            text = "QOS that may preempt some of the lower QOS only: all of these are taken"
            notes.add(text, f"{name}, not {', '.join(sorted(beyond))}")
    return levels


def ranks(priorities: Iterable[int]) -> dict[int, int]:
    """Rank Slurm's priorities from 1 on; of more than :data:`MOST_RANKS` equal shares are one."""
    distinct = sorted(set(priorities))
    count = len(distinct)
    if count <= MOST_RANKS:
        return {value: rank for rank, value in enumerate(distinct, 1)}
    return {value: i * MOST_RANKS // count + 1 for i, value in enumerate(distinct)}
