"""How jobs of Slurm are told apart: by the ids that ``squeue`` shows and ``scontrol`` takes.

``1234``, a task of an array ``1234_7``, a component of a heterogeneous job ``1234+1``. All
components start together, so a heterogeneous job is one job, ``1234``, with a pod set for each
component, which bears its id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from kantopt.formats.slurm import names
from kantopt.formats.slurm.records import Record

MOST_TASKS = 1000
"""Tasks of an array that wait and are planned; the others wait behind them."""
_TASKS = re.compile(r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?", re.ASCII)


def tasks_of(record: Record) -> Sequence[int | None]:
    """Return the array tasks that a record stands for; of no array one that is ``None``."""
    text = record.text("ArrayTaskId")
    if not record.text("ArrayJobId") or not text:
        return [None]
    tasks: list[int] = []
    for item in text.split("%")[0].split(","):
        match = _TASKS.fullmatch(item.strip())
        if match is None:
            if item.strip() != "...":  # squeue cuts long lists short
                record.problem("ArrayTaskId", "tasks such as 7 or 0-9%2")
            continue
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        tasks += range(first, last + 1, max(step, 1))
    return tasks


def id_of(record: Record, task: int | None = None) -> str:
    """Return the id of a job, of one task of its array, or of a component."""
    array, leader = record.text("ArrayJobId"), record.text("HetJobId")
    if task is not None:
        return f"{array}_{task}"
    if leader and leader != "0":
        return f"{leader}+{record.number('HetJobOffset')}"
    return record.name


def owner_of(record: Record) -> str:
    """Return the namespace of a job: its account, else its user."""
    return record.text("Account") or user_of(record) or "default"


def user_of(record: Record) -> str:
    """Return the user of a job."""
    return record.text("UserName") or re.sub(r"\(\d+\)$", "", record.text("UserId"))


def uid_of(record: Record, name: str) -> str:
    """Return what tells a job from a later one of the same id: the id, @, when it was submitted.

    That time is in seconds since 1970.
    """
    moment = record.time("SubmitTime")
    return name if moment is None else f"{name}@{int(datetime.fromisoformat(moment).timestamp())}"


def labels_of(record: Record) -> dict[str, str]:
    """Return what tells pods of a job from others: its name, user, partitions and QOS."""
    found = {
        names.JOB_NAME: record.text("JobName"),
        names.USER: user_of(record),
        names.JOB_PARTITION: record.text("Partition"),
        names.QOS: record.text("QOS"),
    }
    return {key: value for key, value in found.items() if value}
