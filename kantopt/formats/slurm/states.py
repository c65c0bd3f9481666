"""States of jobs, and why one that waits is not to be planned yet."""

from __future__ import annotations

import re
from typing import Literal

from kantopt.formats.slurm.records import Record

State = Literal["pending", "running", "completing", "ended"]

_RUNNING = {"RUNNING", "SUSPENDED", "CONFIGURING", "STOPPED", "RESIZING", "SIGNALING", "STAGE_OUT"}
_HELD = {
    "JobHeldUser": "held (JobHeldUser)",
    "JobHeldAdmin": "held (JobHeldAdmin)",
    "JobHoldMaxRequeue": "held (JobHoldMaxRequeue)",
    "Dependency": "that depend on others (Dependency)",
    "DependencyNeverSatisfied": "that depend on others (Dependency)",
    "BeginTime": "for a later time (BeginTime)",
    "JobArrayTaskLimit": "of arrays at their limit (JobArrayTaskLimit)",
    "Reservation": "for a reservation of another time (Reservation)",
    "Cleaning": "that are being cleaned up (Cleaning)",
}
_LIMIT = re.compile(
    r"(Assoc(?!iationJobLimit$)|Association|QOS(?!Grp)|InvalidQOS|InvalidAccount|Partition"
    r"|AccountNotAllowed|AccountingPolicy|BadConstraints|MaxMemPerLimit|FrontEndDown|Deadline)"
)


def state_of(record: Record) -> State:
    """Tell what a job does with nodes."""
    states = record.flags("JobState")
    if "COMPLETING" in states:
        return "completing"
    if "PENDING" in states or states & {"REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT"}:
        return "pending"
    if states & _RUNNING:
        return "running"
    if not states:
        record.problem("JobState", "a state such as PENDING or RUNNING")
    return "ended"


def is_suspended(record: Record) -> bool:
    """Whether a job has left its CPUs to others; its memory and GRES it keeps."""
    return "SUSPENDED" in record.flags("JobState")


def may_requeue(record: Record) -> bool:
    """Whether a job can be put back into the queue: a batch job whose user allows it."""
    return record.number("Requeue", 1) == 1 and record.number("BatchFlag", 1) == 1


def held(record: Record, moment: str | None) -> str:
    """Say why a job that waits cannot be given nodes by Slurm now; empty if it can.

    Parameters
    ----------
    record
        The job.
    moment
        When it was shown, if that is known.
    """
    reason = record.text("Reason")
    if reason in _HELD:
        return _HELD[reason]
    if re.search(r"\((unfulfilled|failed)\)", record.text("Dependency")):
        return _HELD["Dependency"]  # the reason may be one from before Slurm looked
    if moment is not None and (record.time("EligibleTime") or "") > moment:
        return _HELD[
            "BeginTime"
        ]  # one that was queued again has a reason only when it is looked at
    if is_held(record):
        return _HELD["JobHeldUser"]
    if _LIMIT.match(reason):
        return "kept by a limit of accounting, QOS or partition"
    return ""


def is_held(record: Record) -> bool:
    """Whether somebody holds a job, perhaps since it was queued again."""
    states = record.flags("JobState")
    return record.text("Priority") == "0" or bool(states & {"REQUEUE_HOLD", "SPECIAL_EXIT"})
