"""Limits of QOS (``GrpTRES``) as quotas of queues.

Both the QOS of a job and that of its partition limit it. A job has one queue here: one that two
QOS limit, or other ones in other partitions, is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kantopt.formats.imported import quotas_of
from kantopt.formats.notes import Notes
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.partitions import Partitions
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.states import state_of
from kantopt.formats.slurm.tres import tres_of
from kantopt.schema.snapshot import Queue

_OTHER = ("MaxTRESPU", "MaxTRESPA", "MaxTRES", "GrpJobs", "GrpTRESMins", "MaxJobsPU")
_KEPT = re.compile(r"QOSGrp(CPU|MEM|GRES)(ORY)?(LIMIT)?", re.IGNORECASE)
_SEVERAL = "under limits of several QOS (GrpTRES)"


class Quotas:
    """Which limits of QOS hold for whom.

    What is left out of QOS is noted.
    """

    def __init__(self, records: Records, partitions: Partitions) -> None:
        qos, notes = records.named("Qos"), records.notes
        self._partitions = partitions
        self.queues = _queues(qos, notes)
        self._limited = {q.name: {row.name for row in q.resources} for q in self.queues}
        self._blurred: set[str] = set()
        """Under these are jobs that run, and count under the QOS of their partition only."""
        for record in records.of("JobId"):
            if record.text("JobState") and state_of(record) in ("running", "completing"):
                for names in self._limiting(record):
                    self._blurred.update(names[1:])
        for name, record in partitions.by_name.items():
            own = record.text("QoS")
            if own and own not in qos:
                notes.add("limits of QOS of partitions that are not in the input", f"{name}: {own}")

    def queue_of(self, record: Record) -> str:
        """Return the QOS that limits a job, that of its partition first; empty if none does."""
        return next((names[0] for names in self._limiting(record) if names), "")

    def refuses(self, record: Record) -> str:
        """Say which limit keeps a job that waits and is not modelled; empty if none does."""
        limiting = self._limiting(record)
        if len({*limiting}) > 1 or any(len(names) > 1 for names in limiting):
            return _SEVERAL
        if any(name in self._blurred for names in limiting for name in names):
            return _SEVERAL
        reason = record.text("Reason")
        if not reason.startswith("QOSGrp") or self._models(reason, self.queue_of(record)):
            return ""
        return "kept by a limit of accounting, QOS or partition"

    def _models(self, reason: str, queue: str) -> bool:
        """Whether a reason speaks of a limit that a queue has."""
        match = _KEPT.fullmatch(reason)
        limited = self._limited.get(queue, set())
        if match is None:
            return False
        plain = {"CPU": "cpu", "MEM": "memory"}.get(match[1].upper())
        return plain in limited if plain else not limited <= {"cpu", "memory"}

    def _limiting(self, record: Record) -> list[tuple[str, ...]]:
        """Return the QOS that limit a job in each of its partitions, the partition's own first."""
        known = self._partitions.by_name
        parts = [known.get(name) for name in self._partitions.open_to(record)]
        own = record.text("QOS")
        named = [(part.text("QoS") if part else "", own) for part in parts or [None]]
        return [tuple(n for n in dict.fromkeys(each) if n in self._limited) for each in named]


def _queues(qos: Mapping[str, Record], notes: Notes) -> tuple[Queue, ...]:
    """Return a queue for each QOS that limits what its jobs use together."""
    queues = []
    for name, record in sorted(qos.items()):
        amounts = tres_of(record, "GrpTRES")
        if "node=" in record.text("GrpTRES"):
            notes.add("limits of QOS on nodes are left out", name)
        for key in _OTHER:
            if record.text(key):
                notes.add(f"limits of QOS by {key} are left out", name)
        if amounts:
            quotas = quotas_of(dict(sorted(amounts.items())))
            queues.append(Queue(name=name, resources=quotas))
    return tuple(queues)
