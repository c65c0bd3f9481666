"""``--switches`` and ``--segment`` of jobs into topology requests."""

from __future__ import annotations

import re
from datetime import datetime

from kantopt.formats.notes import Notes
from kantopt.formats.slurm.records import Record, span_seconds
from kantopt.schema.jobs import TopologyRequest

SWITCH_WAIT = 300
"""Seconds that a job waits for its switches where nothing else is said (max_switch_wait)."""


def closeness(
    record: Record, count: int, level: str | None, moment: str | None, notes: Notes
) -> TopologyRequest | None:
    """Return the topology request of a job.

    One switch is required while the job is to wait for it, and preferred when the time is over.

    Parameters
    ----------
    record, count
        The job, and how many nodes it asks for.
    level
        The finest level of the topology: leaf switches or base blocks; ``None``: there is none.
    moment
        When the snapshot was taken.
    notes
        Where to count what is left out.
    """
    segment = record.number("SegmentSize")
    match = re.fullmatch(r"(\d{1,6})(?:@(.+))?", record.text("Switches"))
    switches = int(match[1]) if match else 0
    if not (segment or switches) or count < 2:
        return None
    if level is None:
        notes.add("switches and segments of jobs are left out: no topology is known", record.name)
        return None
    fields: dict[str, str | int] = {}
    if segment > 1 and count % segment == 0:
        fields["pod_set_slice_required_topology"] = level
        fields["pod_set_slice_size"] = segment
    elif segment > 1:
        notes.add("segments that do not divide the nodes of their job are left out", record.name)
    if switches == 1:
        fields["preferred" if _waited(record, match and match[2], moment) else "required"] = level
    elif switches:
        notes.add("jobs for several switches prefer as few as can be", record.name)
        fields["preferred"] = level
    return TopologyRequest(**fields) if fields else None  # type: ignore[arg-type]


def _waited(record: Record, text: str | None, moment: str | None) -> bool:
    """Whether a job has waited for its switches as long as it is to."""
    wait = span_seconds(text) if text else SWITCH_WAIT
    since = record.time("EligibleTime") or record.time("SubmitTime")
    if wait is None or since is None or moment is None:
        return False
    gone = datetime.fromisoformat(moment) - datetime.fromisoformat(since)
    return gone.total_seconds() >= wait
