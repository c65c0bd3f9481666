"""Who of those that wait starts with nobody gone, and who not even on an empty cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.schema import jobs as docs
from kantopt.schema.model import Model, Rule
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.verify.metrics.unplaced import never_starts
from kantopt.verify.rules import is_legal
from kantopt.verify.rules.quota import queue_limit, shared_limits
from kantopt.verify.step import Loads
from kantopt.verify.victims.elsewhere import changed, free_spots


@dataclass(frozen=True, slots=True)
class Unaided:
    """Jobs that wait and for which nobody needs to be evicted, or in vain."""

    fit: frozenset[str] = frozenset()
    """Those that have room as things stand, all beside each other."""
    never: frozenset[str] = frozenset()
    """Those of which provably no plan places a pod."""


def unaided(snapshot: ClusterSnapshot, pending: Sequence[docs.Job], model: Model) -> Unaided:
    """Place jobs where there is room."""
    instance = build_instance(snapshot, pending, model)
    never = (job.name for job in instance.jobs if never_starts(instance, job))
    return Unaided(frozenset(_Filling(instance).names()), frozenset(never))


_Places = list[tuple[int, Spot]]
"""Pod sets and spots of new pods."""


class _Filling:
    """Where jobs that wait fit beside each other, found by one look at each; some may be missed."""

    def __init__(self, instance: Instance) -> None:
        self._instance = instance
        self._loads = Loads.of(instance, instance.current).copy()
        self._first: dict[tuple[object, ...], int] = {}
        """First node that may have room for another pod, by what it asks and where it may go."""

    def names(self) -> list[str]:
        """Name the jobs that start so: all rules hold with them."""
        instance = self._instance
        waiting = [job for job in instance.jobs if instance.pending_of(job.index)]
        # Of those that look at others, or at domains, most is left to the judge.
        looks = {j for s in instance.named for j in [instance.podsets[s].job]}
        looks.update(instance.needs_of)
        waiting.sort(key=lambda job: (job.index in looks, -job.priority))
        started = [(job, found) for job in waiting if (found := self._start(job)) is not None]
        low, high = 0, len(started)
        while low < high:  # as many of the first as are legal
            middle = (low + high + 1) // 2
            pods = Counter(at for _, places in started[:middle] for at in places)
            legal = is_legal(instance, changed(instance.current, pods))
            low, high = (middle, high) if legal else (low, middle - 1)
        return [job.name for job, _ in started[:low]]

    def _start(self, job: Job) -> _Places | None:
        """Place all pods of a job in one of the regions that it may use."""
        pods = [
            s
            for s in self._instance.pending_of(job.index)
            for _ in range(self._instance.podsets[s].count)
        ]
        for i, region in enumerate(self._regions(job)):
            places: _Places = []
            for s in pods:
                spot = self._spot(s, i, region, keep=not places)
                if spot is None:
                    break
                places.append((s, spot))
                self._loads.add(s, spot, 1)
            if len(places) == len(pods) and self._holds(job):
                return places
            for s, spot in places:
                self._loads.add(s, spot, -1)
        return None

    def _spot(self, s: int, i: int, region: Sequence[int], *, keep: bool) -> Spot | None:
        podset = self._instance.podsets[s]
        kind = i, len(region), podset.requests, podset.devices, podset.allowed
        first = self._first.get(kind, 0)
        nodes = islice(enumerate(region), first, None)
        for at, n in nodes:
            for spot in free_spots(self._instance, self._loads, s, (n,)):
                if keep:  # nothing is there that may leave again
                    self._first[kind] = at
                return spot
        if keep:
            self._first[kind] = len(region)
        return None

    def _regions(self, job: Job) -> Iterator[Sequence[int]]:
        instance = self._instance
        needs = instance.needs_of.get(job.index, ())
        levels = {need.required for need in needs if need.required is not None}
        if not (levels and instance.on(Rule.TOPOLOGY)):
            yield range(len(instance.nodes))
        else:
            yield from (domain.nodes for domain in instance.topology.domains[max(levels)])

    def _holds(self, job: Job) -> bool:
        """Whether its queue, and the cohort of that, have quota for a job that is there."""
        if job.queue is None or not self._instance.on(Rule.QUOTA):
            return True
        queue, limits = self._instance.queues[job.queue], shared_limits(self._instance)
        usage = self._loads.usage
        sets = [self._instance.podsets[s] for s in self._instance.pending_of(job.index)]
        for quota in queue.quotas:
            r, limit = quota.resource, queue_limit(queue, quota)
            if not any(podset.demand[r] for podset in sets):
                continue
            if limit is not None and usage.of[queue.index][r] > limit:
                return False
            if queue.cohort:
                over = usage.shared[queue.cohort, r] - limits[queue.cohort, r]
                if over > usage.unused(queue.index, r):
                    return False
        return True
