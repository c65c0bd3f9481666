"""Limits of QOS (``GrpTRES``) as quotas of queues."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.formats.notes import Notes
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.tres import read_tres
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import Queue, QueueResource

_OTHER = ("MaxTRESPU", "MaxTRESPA", "MaxTRES", "GrpJobs", "GrpTRESMins", "MaxJobsPU")


def quotas(qos: Mapping[str, Record], notes: Notes) -> tuple[Queue, ...]:
    """Return a queue for each QOS that limits what its jobs use together."""
    queues = []
    for name, record in sorted(qos.items()):
        text = record.text("GrpTRES")
        amounts = read_tres(text)
        if amounts is None:
            record.problem("GrpTRES", "trackable resources such as cpu=64,gres/gpu=8")
            continue
        if "node=" in text:
            notes.add("limits of QOS on nodes are left out", name)
        for key in _OTHER:
            if record.text(key):
                notes.add(f"limits of QOS by {key} are left out", name)
        if amounts:
            resources = tuple(
                QueueResource(name=key, nominal_quota=from_base(key, amount))
                for key, amount in sorted(amounts.items())
            )
            queues.append(Queue(name=name, resources=resources))
    return tuple(queues)
