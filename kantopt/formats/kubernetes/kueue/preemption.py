"""Of which queues Kueue evicts jobs for one that waits, by what their ClusterQueues say.

Of its own queue those that are less important (``withinClusterQueue``); of others of its cohort
those whose queue has borrowed what it needs (``reclaimWithinCohort``), and unless it may borrow at
the same time (``borrowWithinCohort``) only if its own queue's quota, or that of a cohort above it
and not above the other, holds it beside all that runs there. Where shares decide whether it may
borrow, what may go so is told, and no plan evicts it. Where there is quota enough Kueue evicts
nobody, unless it looks for places itself: then kube-scheduler does, by priority.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from math import inf

from kantopt.formats.kubernetes.kueue.quotas import ANY, Owner
from kantopt.formats.kubernetes.queue_trees import upwards
from kantopt.formats.notes import Notes
from kantopt.schema.asks import asks
from kantopt.schema.jobs import Job
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import Victims


def evictable(
    queues: Mapping[str, Owner],
    owned: Collection[Owner],
    parents: Mapping[str, str],
    running: Sequence[Job],
    waiting: Sequence[Job],
    notes: Notes,
) -> tuple[list[Job], list[Victims]]:
    """Say for each job that waits for Kueue of which queues it evicts jobs, and how important ones.

    Of those that it would let go as they are, which are for kube-scheduler then, nothing is said.

    Parameters
    ----------
    queues
        All ClusterQueues by name.
    owned
        What cohorts own themselves.
    parents
        The cohort above each.
    running, waiting
        All jobs; those that hold their quota use it.
    notes
        Takes queues whose flavors are not told apart.

    Returns
    -------
    tuple[list[Job], list[Victims]]
        The jobs that wait, whose policy is that of their class where kube-scheduler asks it.
    """
    lending = _Lending(queues, owned, parents, running, waiting)
    jobs, found = list[Job](), list[Victims]()
    for job in waiting:
        if lending.concerns(job):
            free, policy = lending.free(job), queues[job.queue_name].preemption
            if free or (free is None and not (policy.own or policy.others)):
                job = job.model_copy(update={"preemption_policy": None})
            if not free:
                found.append(lending.victims(job, notes, perhaps=free is None))
        jobs.append(job)
    return jobs, found


class _Lending:
    """What queues own, and what the jobs that hold their quota use of it."""

    def __init__(
        self,
        queues: Mapping[str, Owner],
        owned: Collection[Owner],
        parents: Mapping[str, str],
        running: Sequence[Job],
        waiting: Sequence[Job],
    ) -> None:
        self._queues = queues
        self._used = {name: Counter[str]() for name in queues}
        self._run: dict[str, set[int]] = {name: set() for name in queues}
        self._least: dict[str, int] = {}
        """By queue, what kube-scheduler takes the least important jobs for that run."""
        for job in (*running, *(job for job in waiting if job.quota_reserved)):
            if job.queue_name in queues:
                self._used[job.queue_name] += asks(job)
        for job in running:
            self._run.setdefault(job.queue_name, set()).add(job.priority or 0)
            pods = (job.priority if job.pod_priority is None else job.pod_priority) or 0
            self._least[job.queue_name] = min(self._least.get(job.queue_name, ANY), pods)
        self._borrowed = {n: _over(queue, self._used[n]) for n, queue in queues.items()}
        self._line = partial(upwards, parents=parents)
        self._cohorts = _summed((*queues.values(), *owned), parents, self._used)
        self._called = {own.inside: own.name for own in owned}
        self._over = {name: _over(cohort, cohort.used) for name, cohort in self._cohorts.items()}
        self._pools = {name: self._pool(queue) for name, queue in queues.items()}
        for job in filter(self.concerns, waiting):
            self._pools[job.queue_name].wanted += asks(job, least=True)
        self._told: set[str] = set()
        """Queues of which it is noted that flavors are not told apart."""

    def _pool(self, queue: Owner) -> _Cohort:
        if queue.cohort:
            return self._cohorts[queue.cohort]
        alone = _Cohort()
        alone.add(queue, self._used[queue.name])
        return alone

    def concerns(self, job: Job) -> bool:
        """Whether a job waits for Kueue."""
        exists = job.quota_reserved or any(role.pods for role in job.pod_sets)
        return job.queue_name in self._queues and not exists

    def free(self, job: Job) -> bool | None:
        """Whether Kueue lets a job go as it is: there is quota for all; ``None``: it may."""
        queue, wants = self._queues[job.queue_name], asks(job, least=True)
        pool, used = self._pools[queue.name], self._used[queue.name]
        lacks = any(
            pool.used[r] + n > pool.nominal[r] or used[r] + n > queue.most.get(r, inf)
            for r, n in wants.items()
            if r in queue.nominal
        )
        if lacks or queue.finds == {True}:
            return False
        return None if queue.finds - {False} or pool.lacking() & wants.keys() else True

    def victims(self, job: Job, notes: Notes, *, perhaps: bool) -> Victims:
        """Say of which queues Kueue evicts jobs for one that waits, and perhaps kube-scheduler."""
        queue, wants = self._queues[job.queue_name], asks(job, least=True)
        policy, priority = queue.preemption, job.priority or 0
        found = {queue.name: ANY} if policy.own else {}
        beyond = {queue.name} if policy.equal and priority in self._run[queue.name] else set()
        lacking = self._lacking(queue, wants)
        # What its queue owns may do for it once jobs of this queue have gone as well.
        alone = bool(found) and min(self._run[queue.name], default=ANY) < priority
        alone = alone and all(wants[r] <= n for r, n in queue.nominal.items())
        others = [*self._reclaims(queue, lacking, notes)]
        owners = {name: self._owner(queue, wants, name) for name in {o.inside for o in others}}
        left = dict[str, dict[str, str | int]]()
        excess = dict[str, dict[str, str | int]]()
        for other in others:
            owner, unsure = owners[other.inside]
            most = policy.borrowing if owner is None else ANY
            if most is not None:
                found[other.name] = most
                excess[other.name] = self._excess(other, lacking)
            if owner is not None and policy.borrowing != ANY:
                left |= owner
            if (owner is not None or policy.fair or unsure or alone) and any(
                policy.any_priority if number >= priority else most is None or number > most
                for number in self._run[other.name]
            ):
                beyond.add(other.name)
        if perhaps:
            pods = priority if job.pod_priority is None else job.pod_priority
            less = {name for name, least in self._least.items() if name and least < pods}
            beyond |= {name for name in less if found.get(name) != ANY}
        return Victims(
            job=job.full_name,
            queues=found,
            nominal_left=left.pop(queue.name, {}),
            left_above=left,
            excess={name: amounts for name, amounts in excess.items() if amounts},
            beyond=tuple(sorted(beyond)),
        )

    def _owner(
        self, queue: Owner, wants: Mapping[str, int], other: str
    ) -> tuple[dict[str, dict[str, str | int]] | None, bool]:
        """Return who owns what holds a job, with what is left of it, and whether others might.

        That is its queue, or the topmost cohort above this, and not above the ``other``, that holds
        it; where shares decide, the one below what is above both.
        """
        above = {*self._line(other)}
        below = takewhile(lambda name: name not in above, self._line(queue.inside))
        levels = [(queue.name, _Cohort(Counter(queue.nominal), self._used[queue.name]))]
        levels += [(self._called[name], self._cohorts[name]) for name in below]
        owner, unsure = None, False
        for name, each in levels[-1:] if queue.preemption.fair else levels:
            left = {r: each.nominal[r] - each.used[r] for r in wants if r in each.nominal}
            if any(map(each.vague, left)):
                unsure = True
            elif all(wants[r] <= n for r, n in left.items()):
                owner = {name: {r: from_base(r, n) for r, n in left.items()}}
        return owner, unsure

    def _excess(self, other: Owner, wants: Iterable[str]) -> dict[str, str | int]:
        """Return what a queue has borrowed of what is lacking."""
        nominal, used = other.nominal, self._used[other.name]
        over = {r: used[r] - nominal[r] for r in wants if r in nominal}
        return {r: from_base(r, n) for r, n in over.items() if n > 0}

    def _lacking(self, queue: Owner, wants: Iterable[str]) -> frozenset[str]:
        """Return what a job asks for that its cohort may lack: for this alone Kueue evicts.

        If that is nothing, it may lack a place.
        """
        found = frozenset(wants)
        return (found & self._pools[queue.name].lacking()) or found

    def _reclaims(self, queue: Owner, lacking: frozenset[str], notes: Notes) -> Iterator[Owner]:
        """Yield the queues that have borrowed something that a job needs.

        So have all cohorts between them and the first that is above both.
        """
        above = {*self._line(queue.inside)}
        for other in self._queues.values() if queue.preemption.others else ():
            lends = other.cohort == queue.cohort and other.name != queue.name
            if not lends or lacking.isdisjoint(self._borrowed[other.name]):
                continue
            between = takewhile(lambda name: name not in above, self._line(other.inside))
            if not any(lacking.isdisjoint(self._over[name]) for name in between):
                vague = {each.name for each in (queue, other) if any(map(each.vague, lacking))}
                for name in sorted(vague - self._told):
                    text = "queues of several flavors take back, and give, as if of one"
                    notes.add(f"{text}: of which they have too much is not known", name)
                self._told |= vague
                yield other


def _summed(
    owners: Iterable[Owner], parents: Mapping[str, str], used: Mapping[str, Mapping[str, int]]
) -> dict[str, _Cohort]:
    """Return what each cohort of a tree and all below it own and use; walks each once."""
    found: dict[str, _Cohort] = {}
    for owner in owners:
        if owner.cohort:
            line = upwards(owner.inside, parents)
            new = [*takewhile(lambda name: name not in found, line)]
            found.update((name, _Cohort()) for name in reversed(new))
            found[owner.inside].add(owner, used.get(owner.name, {}))
    for name, cohort in reversed(found.items()):
        if above := parents.get(name, ""):
            found[above].add(cohort, cohort.used)
    return found


@dataclass(slots=True)
class _Cohort:
    """What a cohort and all below it own and use together."""

    nominal: Counter[str] = field(default_factory=Counter)
    used: Counter[str] = field(default_factory=Counter)
    wanted: Counter[str] = field(default_factory=Counter)
    """By all who wait; of roots, and queues without a cohort, only."""
    flavors: dict[str, frozenset[str]] = field(default_factory=dict)
    limited: frozenset[str] = frozenset()

    def add(self, part: Owner | _Cohort, used: Mapping[str, int]) -> None:
        """Count a queue, what a cohort owns, or one below."""
        self.nominal.update(part.nominal)
        self.used.update(used)
        self.limited |= part.limited
        for name, flavors in part.flavors.items():
            self.flavors[name] = self.flavors.get(name, frozenset()).union(flavors)

    def lacking(self) -> frozenset[str]:
        """Return the resources that there may be too little of for all who wait."""
        return frozenset(
            r
            for r, amount in self.wanted.items()
            if r in self.nominal and (self.vague(r) or self.used[r] + amount > self.nominal[r])
        )

    def vague(self, resource: str) -> bool:
        """Whether several flavors have a resource, or only some of it is lent."""
        return resource in self.limited or len(self.flavors.get(resource, ())) > 1


def _over(owner: Owner | _Cohort, used: Counter[str]) -> frozenset[str]:
    """Return the resources of which more is used than is owned, or may be."""
    nominal = owner.nominal.items()
    return frozenset(r for r, n in nominal if used[r] > n or (used[r] and owner.vague(r)))
