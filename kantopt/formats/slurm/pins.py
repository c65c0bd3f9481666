"""Jobs that the script of a plan has pinned or holds: as they were before."""

from __future__ import annotations

import re
from dataclasses import replace

from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.states import state_of

_MARK = re.compile(
    r"kantopt:[^:\s]*:(ReqNodeList|ExcNodeList)=([^:\s]*)"
    r":(?:([\d-]+),(\d+)(?:,(\d+))?)?(?::(\d+))?",
    re.ASCII,
)
_BY_SCRIPT = ("JobHeldAdmin", "job_requeued_in_held_state")
"""Reasons of jobs that an operator holds, as the script of a plan does."""


def unpinned(record: Record) -> Record:
    """Return the record of a job as it was before the script of a plan pinned it.

    ``kantopt/render/slurm.sh`` keeps that in the job's AdminComment, as
    ``kantopt:PLAN:LIST=NODES:HOWMANY,TASKS,CPUS:PRIORITY``; who runs where a plan put it has not
    asked for it. What such a script holds, until its turn or since it was killed, waits.
    """
    # In one-liners a mark that follows another comment looks like a field.
    words = (f"{key}={value}" for key, value in record.fields.items() if "kantopt:" in key + value)
    match = _MARK.search(" ".join(words))
    if match is None:
        return record
    before = {match[1]: match[2]}
    is_held = state_of(record) == "pending" and record.text("Reason") in _BY_SCRIPT
    if int(match[6] or 0) and record.text("Priority") == "0" and is_held:
        before |= {"JobState": "PENDING", "Reason": "None", "Priority": match[6]}
        sizes = {"NumNodes": match[3], "NumTasks": match[4], "NumCPUs": match[5]}
        before |= {key: size for key, size in sizes.items() if size}
    return replace(record, fields={**record.fields, **before})
