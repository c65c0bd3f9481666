"""Jobs of a dump, each try of one told from the next: what became of a try in a later dump.

Slurm gives a job that is requeued the same id, a later time of submission and one more restart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kantopt.formats.pair import Key
from kantopt.formats.slurm.gather import Records
from kantopt.formats.slurm.identity import id_of, owner_of, tasks_of, uid_of
from kantopt.formats.slurm.records import Record
from kantopt.formats.slurm.states import State, state_of
from kantopt.schema.history import Became

_ENDS: Mapping[str, Became] = {
    "COMPLETED": "finished",
    "CANCELLED": "cancelled",
    "PREEMPTED": "preempted",
    "NODE_FAIL": "node gone",
    "REVOKED": "unknown",
}
"""What a state says of a job that has ended; all others are failures of its own."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """A try of a job, of a task of an array or of a component, as one dump shows it."""

    id: str
    record: Record
    state: State

    @property
    def owner(self) -> str:
        """Namespace of the job."""
        return owner_of(self.record)

    @property
    def job(self) -> tuple[str, str]:
        """Namespace and name of the job, which components have in common."""
        return self.owner, self.id.partition("+")[0]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Nodes that it holds or held."""
        return tuple(sorted(set(self.record.hosts("NodeList"))))

    @property
    def identity(self) -> tuple[str, int]:
        """What no other try of any job has."""
        return uid_of(self.record, self.id), self.restarts

    @property
    def restarts(self) -> int:
        """How often the job had been requeued before."""
        return self.record.number("Restarts")

    def key(self, host: str) -> Key:
        """Return the pod that it is on a node, named as the import names pods."""
        name = self.id if len(self.hosts) == 1 else f"{self.id}:{host}"
        return self.owner, name, uid_of(self.record, self.id)


def attempts_of(records: Records) -> dict[str, Attempt]:
    """Return the jobs of a dump by id, tasks of arrays each by themselves."""
    found = {}
    for record in records.of("JobId"):
        state = state_of(record)
        tasks = tasks_of(record)
        for task in [None] if tasks is None else tasks:
            name = id_of(record, task)
            found[name] = Attempt(name, record, state)
    return found


def became(was: Attempt, now: Attempt | None) -> tuple[Became, str] | None:
    """Say what became of a try that ran; ``None``: it runs on.

    Parameters
    ----------
    was, now
        What each dump shows under its id; ``None``: nothing.
    """
    if now is None:
        return "unknown", f"job {was.id} has ended, and Slurm has forgotten how"
    if now.identity != was.identity:
        if now.restarts > was.restarts:
            return "requeued", f"Restarts={was.restarts}, then {now.restarts}"
        return "unknown", f"{was.id} is the id of another job by now"
    if now.state == "running":
        return None
    states = now.record.flags("JobState")
    reason = now.record.text("Reason")
    told = f"JobState={'+'.join(sorted(states))}" + (f" Reason={reason}" if reason else "")
    if now.state == "pending" or "PENDING" in states:
        return "requeued", told
    ends = sorted(states - {"COMPLETING"})
    if not ends:
        return "unknown", f"{told}, not how it ends"
    return next((_ENDS[state] for state in ends if state in _ENDS), "failed"), told
