"""Of which queues KAI and Volcano evict jobs for one that waits in a queue of theirs.

Of its own queue those that are less important. Of others as much as these have beyond what they
deserve, if its own keeps within what it deserves itself: in KAI of any resource, and within all of
them, by the topmost queues above both that differ; in Volcano of those that the victim asks for,
down to what is guaranteed, by the queues of the jobs themselves. What more goes by fair shares,
which change with all that waits, is told as what may be evicted, and no plan evicts it. Pods of
other schedulers neither of them evicts, and nobody for a job whose queue the input does not have.
Jobs that name none are in the default queue of their system; where the input does not have it, no
plan evicts any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from kantopt.formats.kubernetes.gangs import Dialect
from kantopt.formats.kubernetes.kueue.quotas import ANY
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.queue_trees import upwards
from kantopt.formats.kubernetes.queues import DEFAULTS, KAI_UNITS, number
from kantopt.formats.view import View
from kantopt.schema.asks import asks, one_pod
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Victims

_UNLIMITED = 2**62


@dataclass(frozen=True, slots=True)
class _Share:
    """What a queue deserves, in base units, and the queue above it."""

    deserved: Mapping[str, int] = field(default_factory=dict)
    """Empty: nothing tells."""
    parent: str = ""
    """If it may be weighed by that."""
    reclaimable: bool = True
    guaranteed: Mapping[str, int] = field(default_factory=dict)
    """What no eviction takes from it."""
    as_asked: bool = False
    """Whether resources count only as far as pods ask for them: of victims and who waits."""

    def lets_go(self, used: Mapping[str, int], pod: Mapping[str, int]) -> bool:
        """Whether a pod is one that goes while the queue uses so much."""
        if any(used.get(r, 0) - pod.get(r, 0) < n for r, n in self.guaranteed.items()):
            return False
        told = self._told(pod)
        immediate = self.as_asked and not told  # what it has nobody deserves
        return immediate or any(used.get(r, 0) > n for r, n in told.items())

    def holds(self, used: Mapping[str, int], wants: Mapping[str, int]) -> bool:
        """Whether what it deserves holds what is asked for beside what is used."""
        told = self._told(wants)
        return bool(told) and all(used.get(r, 0) + wants.get(r, 0) <= n for r, n in told.items())

    def _told(self, asked: Mapping[str, int]) -> Mapping[str, int]:
        return {r: n for r, n in self.deserved.items() if r in asked or not self.as_asked}


def reclaims(
    objects: Objects,
    jobs: Sequence[Job],
    systems: Mapping[str, Dialect],
    held: Mapping[str, Fraction],
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
    held
        Whole GPUs that pods of KAI's queues hold by other names.
    """
    for system, read in ((Dialect.KAI, _kai), (Dialect.VOLCANO, _volcano)):
        shares = {name: read(view) for name, view in objects.named(system, "Queue").items()}
        own = [job for job in jobs if systems.get(job.full_name) is system]
        theirs = {
            job.queue_name
            for job in jobs
            if job.running and systems.get(job.full_name) is not system
        }
        held_here = held if system is Dialect.KAI else {}
        queues = _Queues(shares, own, held_here, theirs - {""}, DEFAULTS[system])
        yield from (queues.victims(job) for job in own if job.waiting)


_Kind = frozenset[frozenset[tuple[str, int]]]
"""What the pods of a job ask for, each kind of pod once."""


def _kind(job: Job) -> _Kind:
    return frozenset(
        frozenset((r, to_base(r, amount)) for r, amount in role.requests.items())
        for role in job.pod_sets
    )


class _Queues:
    """What queues of one system deserve, and what jobs that run have of them."""

    def __init__(
        self,
        shares: Mapping[str, _Share],
        jobs: Iterable[Job],
        held: Mapping[str, Fraction],
        shared: AbstractSet[str],
        default: str,
    ) -> None:
        self._shares = shares
        self._parents = {name: share.parent for name, share in shares.items()}
        self._default = default
        """Where jobs are that name no queue; these say so themselves if the input has it."""
        self._shared = {*shared}
        """Names of queues that jobs of others bear as well, or that not all of its jobs bear: no
        plan tells them apart."""
        self._known: dict[tuple[str, str], tuple[set[bool], dict[str, int]]] = {}
        self._run: dict[str, set[int]] = {}
        self._kinds: dict[str, set[_Kind]] = {}
        self._used: dict[str, Counter[str]] = {}
        for job in jobs:
            if job.running:
                queue = job.queue_name or default
                if not job.queue_name:
                    self._shared.add(queue)
                self._run.setdefault(queue, set()).add(job.priority or 0)
                self._kinds.setdefault(queue, set()).add(_kind(job))
                for name in upwards(queue, self._parents):
                    self._used.setdefault(name, Counter()).update(asks(job))
        gpus: dict[str, Fraction] = {}
        for queue, amount in held.items():
            for name in upwards(queue, self._parents):
                gpus[name] = gpus.get(name, Fraction(0)) + amount
        for name, amount in gpus.items():
            self._used.setdefault(name, Counter())[KAI_UNITS["gpu"][0]] += ceil(amount)

    def victims(self, job: Job) -> Victims:
        """Say of which queues a job that waits evicts jobs."""
        own = job.queue_name or self._default
        found = {own: ANY}
        beyond = set[str]()
        wants = asks(job, least=True) or asks(one_pod(job))
        left = dict[str, dict[str, str | int]]()
        excess = dict[str, dict[str, str | int]]()
        pushes = min(self._run.get(own, ()), default=_UNLIMITED) < (job.priority or 0)
        if own in self._shared or not job.queue_name:
            found.clear()
            beyond |= {own} if pushes else set()
        for other, priorities in self._run.items():
            goes = self._goes(own, wants, other)
            if goes and other in self._shared:
                goes = None
            if goes:
                found[other] = ANY
                owner, theirs = self._apart(own, other)
                excess[other] = self._excess(theirs)
                if not pushes:  # who has victims in its own queue may need no others
                    left[owner] = self._left(owner, wants)
            if goes is None or (goes and max(priorities) >= (job.priority or 0)):
                beyond.add(other)
        return Victims(
            job=job.full_name,
            queues=found,
            nominal_left=left.pop(own, {}),
            left_above=left,
            excess={name: amounts for name, amounts in excess.items() if amounts},
            beyond=tuple(sorted(beyond)),
            queued_only=True,
        )

    def _excess(self, owner: str) -> dict[str, str | int]:
        """Return what a queue has beyond what it deserves."""
        used = self._used[owner]
        over = {r: used[r] - n for r, n in self._shares[owner].deserved.items()}
        return {r: from_base(r, n) for r, n in over.items() if n > 0}

    def _left(self, owner: str, wants: Iterable[str]) -> dict[str, str | int]:
        """Return what a queue has left of what it deserves, of what a job asks for."""
        used, deserved = self._used.get(owner, Counter[str]()), self._shares[owner].deserved
        return {
            r: from_base(r, deserved[r] - used[r])
            for r in wants
            if deserved.get(r, _UNLIMITED) < _UNLIMITED
        }

    def _goes(self, queue: str, wants: Counter[str], other: str) -> bool | None:
        """Whether a queue's jobs go for one of another; ``None``: that is by fair shares."""
        mine, theirs = self._apart(queue, other)
        if not (mine and theirs):
            return False
        share, own = self._shares[theirs], self._shares[mine]
        if not share.reclaimable:
            return False
        go, most = self._weighed(theirs, other)
        if True not in go:
            return False
        # One number for a queue cannot say which of its jobs go, nor after which no more do.
        enough = all(wants[r] <= amount for r, amount in most.items())
        sure = share.deserved and False not in go and enough
        return True if sure and own.holds(self._used.get(mine, {}), wants) else None

    def _weighed(self, theirs: str, other: str) -> tuple[set[bool], dict[str, int]]:
        """Return whether jobs of a queue go, and how much may be wanted of what it has too much of.

        It is weighed by ``theirs``, which is itself or above it. The last to go may be as large as
        pods are, but for what is guaranteed.
        """
        if (theirs, other) not in self._known:
            share, used = self._shares[theirs], self._used[theirs]
            pods = [[dict(pod) for pod in kind] for kind in self._kinds[other]]
            go = {any(share.lets_go(used, pod) for pod in kind) for kind in pods}
            largest = Counter[str]()
            for pod in (pod for kind in pods for pod in kind):
                largest |= Counter(pod)
            most = {
                r: used[r] - n + largest[r] - 1 for r, n in share.deserved.items() if used[r] > n
            }
            for r, n in share.guaranteed.items():
                most[r] = min(most.get(r, used[r] - n), used[r] - n)
            self._known[theirs, other] = go, most
        return self._known[theirs, other]

    def _apart(self, own: str, other: str) -> tuple[str, str]:
        """Return the queues by which two are weighed: the topmost above them that differ."""
        mine, theirs = ([*upwards(name, self._parents)] for name in (own, other))
        while mine and theirs and mine[-1] == theirs[-1]:
            mine.pop()
            theirs.pop()
        return mine[-1] if mine else "", theirs[-1] if theirs else ""


def _kai(view: View) -> _Share:
    spec, deserved = view.at("spec"), {}
    for key, (resource, scale) in KAI_UNITS.items():
        quota = number(spec.at("resources", key), "quota") or 0
        deserved[resource] = _UNLIMITED if quota < 0 else int(quota * scale)
    return _Share(deserved, spec.text("parentQueue"))


def _volcano(view: View) -> _Share:
    spec = view.at("spec")
    deserved = spec.amounts("deserved", up=False)
    guaranteed = spec.at("guarantee").amounts("resource", up=False)
    for resource, amount in guaranteed.items():
        deserved[resource] = max(amount, deserved.get(resource, 0))
    reclaimable = spec.raw.get("reclaimable") is not False
    # Volcano weighs the queues of jobs themselves and asks none above: its ancestorReclaimLevel,
    # of the scheduler's configuration, is 0 unless told.
    return _Share(deserved, "", reclaimable, guaranteed, as_asked=True)
