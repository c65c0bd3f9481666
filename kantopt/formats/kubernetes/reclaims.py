"""Of which queues KAI and Volcano evict jobs for one that waits in a queue of theirs.

Of its own queue those that are less important. Of others as much as these have beyond what they
deserve, if its own keeps within what it deserves itself. What more goes by fair shares, which
change with all that waits, is told as what may be evicted, and no plan evicts it. Pods of other
schedulers neither of them evicts, and nobody for a job whose queue the input does not have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from kantopt.formats.kubernetes.gangs import Dialect
from kantopt.formats.kubernetes.jobs import Member
from kantopt.formats.kubernetes.kueue.preemption import ANY
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.queues import KAI_UNITS, number
from kantopt.formats.view import View
from kantopt.schema.asks import asks
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import Victims

_SCHEDULERS = {"kai-scheduler": Dialect.KAI, "volcano": Dialect.VOLCANO}
_UNLIMITED = 2**62


def scheduled_by(member: Member) -> Dialect | None:
    """Return which of the two schedules a pod, if either does, and Kueue has no say in it."""
    if member.pod.local_queue:
        return None
    if member.gang is not None and member.gang.dialect in _SCHEDULERS.values():
        return member.gang.dialect
    return _SCHEDULERS.get(member.pod.scheduler)


@dataclass(frozen=True, slots=True)
class _Share:
    """What a queue deserves, in base units, and the queue above it."""

    deserved: Mapping[str, int] = field(default_factory=dict)
    """Empty: nothing tells."""
    parent: str = ""
    reclaimable: bool = True


def reclaims(
    objects: Objects, jobs: Sequence[Job], systems: Mapping[str, Dialect]
) -> Iterator[Victims]:
    """Say for each job that waits for KAI or Volcano of which queues it evicts jobs.

    Parameters
    ----------
    objects
        Those of the input.
    jobs
        All jobs, those that run and those that wait.
    systems
        By name of a job which of the two schedules it.
    """
    for system, read in ((Dialect.KAI, _kai), (Dialect.VOLCANO, _volcano)):
        shares = {name: read(view) for name, view in objects.named(system, "Queue").items()}
        own = [job for job in jobs if systems.get(job.full_name) is system]
        queues = _Queues(shares, own)
        yield from (queues.victims(job) for job in own if job.waiting)


class _Queues:
    """What queues of one system deserve, and what jobs that run have of them."""

    def __init__(self, shares: Mapping[str, _Share], jobs: Iterable[Job]) -> None:
        self._shares = shares
        self._run: dict[str, set[int]] = {}
        self._used: dict[str, Counter[str]] = {}
        for job in jobs:
            if job.running:
                self._run.setdefault(job.queue_name, set()).add(job.priority or 0)
                for name in self._line(job.queue_name):
                    self._used.setdefault(name, Counter()).update(asks(job))

    def victims(self, job: Job) -> Victims:
        """Say of which queues a job that waits evicts jobs."""
        found, beyond = {job.queue_name: ANY} if job.queue_name else {}, []
        wants = asks(job, least=True)
        for other, priorities in self._run.items():
            goes = self._goes(job.queue_name, wants, other)
            if goes:
                found[other] = ANY
            if goes is None or (goes and max(priorities) >= (job.priority or 0)):
                beyond.append(other)
        return Victims(
            job=job.full_name, queues=found, beyond=tuple(sorted(beyond)), queued_only=True
        )

    def _goes(self, queue: str, wants: Counter[str], other: str) -> bool | None:
        """Whether a queue's jobs go for one of another; ``None``: that is by fair shares."""
        mine, theirs = self._apart(queue, other)
        if not (mine and theirs):
            return False
        share, own = self._shares[theirs], self._shares[mine]
        used = self._used[theirs]
        beyond = any(used[r] > n for r, n in share.deserved.items() if r in wants)
        if not share.reclaimable or (share.deserved and not beyond):
            return False
        had = self._used.get(mine, Counter[str]())
        within = all(had[r] + wants[r] <= n for r, n in own.deserved.items() if r in wants)
        return True if share.deserved and own.deserved and within else None

    def _apart(self, own: str, other: str) -> tuple[str, str]:
        """Return the queues by which two are weighed: the topmost above them that differ."""
        mine, theirs = self._line(own), self._line(other)
        while mine and theirs and mine[-1] == theirs[-1]:
            mine.pop()
            theirs.pop()
        return mine[-1] if mine else "", theirs[-1] if theirs else ""

    def _line(self, name: str) -> list[str]:
        """Return a queue and those above it, as far as the input has them."""
        found: list[str] = []
        while name in self._shares and name not in found:
            found.append(name)
            name = self._shares[name].parent
        return found


def _kai(view: View) -> _Share:
    spec, deserved = view.at("spec"), {}
    for key, (resource, scale) in KAI_UNITS.items():
        quota = number(spec.at("resources", key), "quota") or 0
        deserved[resource] = _UNLIMITED if quota < 0 else int(quota * scale)
    return _Share(deserved, spec.text("parentQueue"))


def _volcano(view: View) -> _Share:
    spec = view.at("spec")
    deserved = spec.amounts("deserved", up=False)
    for resource, amount in spec.at("guarantee").amounts("resource", up=False).items():
        deserved[resource] = max(amount, deserved.get(resource, 0))
    return _Share(deserved, spec.text("parent"), spec.raw.get("reclaimable") is not False)
