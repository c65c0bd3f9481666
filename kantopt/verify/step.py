"""A change from one placement to another, and what follows from it: what rules judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from kantopt.problem.cluster import Node, Spot
from kantopt.problem.difference import restarted
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet, Role, Spread
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.quantity import from_base
from kantopt.verify.usage import Usage

_NOTHING: Spots = {}


@dataclass(frozen=True, slots=True, order=True)
class Violation:
    """Where a rule does not hold, and by how much: ``subject: amount of limit``.

    ``rule`` is a :class:`Rule`, or ``actions`` for a plan whose actions contradict each other.
    """

    rule: str
    subject: str
    message: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.subject}: {self.message}"


def beyond(used: int, limit: int, resource: str, what: str = "") -> str:
    """Write an amount beside its limit, both as documents write them: ``9 of 8 cpu``."""
    return f"{from_base(resource, used)} of {from_base(resource, limit)} {what}{resource}"


def by_label(
    instance: Instance,
    placement: Placement,
    podsets: Iterable[int],
    key: str,
    over: frozenset[int] | None = None,
) -> dict[str, int]:
    """Count pods of some pod sets by the value of a node label; unlabelled nodes left out.

    ``over`` are the nodes on which they count; by default all.
    """
    counts: dict[str, int] = {}
    for s in podsets:
        for spot, pods in placement.podsets[s].items():
            if over is None or spot.node in over:
                domain = instance.label_domain(spot.node, key)
                if domain is not None:
                    counts[domain] = counts.get(domain, 0) + pods
    return counts


class Loads:
    """What pods take of nodes, devices and queues; kept up to date pod by pod.

    Rows of nodes are copied on write: a copy of a large cluster of which little changes is cheap.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        zeros = [0] * len(instance.resources)
        self.node = [list(zeros) for _ in instance.nodes]
        self.device = [[list(zeros) for _ in node.devices] for node in instance.nodes]
        self.usage = Usage(instance)
        self._own: set[int] | None = None
        """Nodes whose rows no copy shares; ``None``: all of them."""

    def add(self, s: int, spot: Spot, pods: int) -> None:
        """Add pods of a pod set on a spot; a negative number takes them away."""
        podset = self.instance.podsets[s]
        if self._own is not None and spot.node not in self._own:
            self._take(spot.node)
        load = self.node[spot.node]
        for r, amount in enumerate(podset.requests):
            if amount:
                load[r] += pods * amount
        if spot.devices:
            for device, request in self.device_requests(s, spot):
                taken = self.device[spot.node][device]
                for r, amount in enumerate(request):
                    if amount:
                        taken[r] += pods * amount
        queue = self.instance.jobs[podset.job].queue
        if queue is not None:
            self.usage.add(queue, podset.demand, pods, 0 if podset.running else pods)

    @property
    def queue(self) -> list[list[int]]:
        """What is used of each resource, by queue."""
        return self.usage.of

    def _take(self, n: int) -> None:
        """Have the rows of a node apart from those of copies."""
        assert self._own is not None
        self._own.add(n)
        self.node[n] = self.node[n][:]
        self.device[n] = [taken[:] for taken in self.device[n]]

    def device_requests(self, s: int, spot: Spot) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Devices of a spot with what one pod takes of each."""
        devices = self.instance.nodes[spot.node].devices
        needs = self.instance.podsets[s].devices
        for device in spot.devices:
            if device < len(devices):
                for need in needs:
                    if need.device_class == devices[device].device_class:
                        yield device, need.request

    def copy(self) -> Loads:
        """Return the same loads, to be changed apart."""
        twin = Loads.__new__(Loads)
        twin.instance = self.instance
        twin.node, twin.device = self.node[:], self.device[:]
        twin.usage = self.usage.copy()
        self._own, twin._own = set(), set()
        return twin

    def between(self, before: Placement, after: Placement) -> Loads:
        """Return the loads after a change of the placement that these are the loads of."""
        loads = self.copy()
        for s, (old, new) in enumerate(zip(before.podsets, after.podsets, strict=True)):
            if new is not old:
                for spot in {**old, **new}:
                    more = new.get(spot, 0) - old.get(spot, 0)
                    if more:
                        loads.add(s, spot, more)
        return loads

    @classmethod
    def of(cls, instance: Instance, placement: Placement) -> Loads:
        """Return the loads of a placement."""
        both = zip(instance.current.podsets, placement.podsets, strict=True)
        changed = sum(new is not old and new != old for old, new in both)
        if 2 * changed > len(placement.podsets):
            return cls.summed(instance, placement)
        return standing_loads(instance).between(instance.current, placement)

    @classmethod
    def summed(cls, instance: Instance, placement: Placement) -> Loads:
        """Return the loads of a placement, added up pod set by pod set."""
        loads = cls(instance)
        for s, spots in enumerate(placement.podsets):
            for spot, pods in spots.items():
                loads.add(s, spot, pods)
        return loads


@lru_cache(maxsize=4)
def standing_loads(instance: Instance) -> Loads:
    """Loads of what runs; not to be changed."""
    return Loads.summed(instance, instance.current)


def left_of(node: Node, standing: Loads, stays: Loads) -> Node:
    """Return a node with what it offers beside pods that stay, in place of its capacity.

    Before these it offers what it has, or what is taken of it now if that is more, for what is
    overcommitted may stay so.
    """
    n = node.index
    devices = zip(node.devices, standing.device[n], stays.device[n], strict=True)
    return replace(
        node,
        capacity=tuple(
            None if limit is None else max(limit, now) - taken
            for limit, now, taken in zip(
                node.capacity, standing.node[n], stays.node[n], strict=True
            )
        ),
        devices=tuple(
            replace(device, capacity=tuple(map(_left, device.capacity, now, taken)))
            for device, now, taken in devices
        ),
    )


def _left(have: int, now: int, taken: int) -> int:
    return max(have, now) - taken


class Step:
    """From one placement to another. Rules judge the difference, not what stood before.

    A step from nowhere makes every pod an arrival: it shows what is wrong with a placement as it
    stands. A step from the snapshot's placement shows what a plan does.
    """

    def __init__(self, instance: Instance, before: Placement, after: Placement) -> None:
        self.instance = instance
        self.before = before
        self.after = after
        self._counts: dict[tuple[tuple[int, ...], str], dict[str, int]] = {}

    @cached_property
    def standing(self) -> bool:
        """Whether this shows what is wrong with a placement as it stands."""
        return self.before is self.instance.nowhere

    @cached_property
    def changed(self) -> tuple[int, ...]:
        """Indices of the pod sets of which pods arrive or leave, at most."""
        both = zip(self.before.podsets, self.after.podsets, strict=True)
        found = {s for s, (old, new) in enumerate(both) if new is not old}
        return tuple(sorted(found | self.restarted))

    @cached_property
    def changed_podsets(self) -> tuple[PodSet, ...]:
        """Pod sets of which pods arrive or leave, at most, in their order."""
        return tuple(self.instance.podsets[s] for s in self.changed)

    @cached_property
    def changed_jobs(self) -> tuple[Job, ...]:
        """Jobs of which pods arrive or leave, at most, in their order."""
        found = {podset.job for podset in self.changed_podsets}
        return tuple(self.instance.jobs[j] for j in sorted(found))

    @cached_property
    def restarted(self) -> frozenset[int]:
        """Pod sets of jobs that restart as a whole: all their pods leave, and all arrive."""
        return restarted(self.instance, self.before, self.after)

    @cached_property
    def arrivals(self) -> tuple[Spots, ...]:
        """Pods per spot that come there, as they were not there before; indexed by pod set."""
        return self._more(self.before, self.after)

    @cached_property
    def departures(self) -> tuple[Spots, ...]:
        """Pods per spot that leave it; indexed by pod set."""
        return self._more(self.after, self.before)

    def _more(self, fewer: Placement, more: Placement) -> tuple[Spots, ...]:
        found: list[Spots] = [_NOTHING] * len(more.podsets)
        for s in self.changed:
            few = _NOTHING if s in self.restarted else fewer.podsets[s]
            found[s] = {
                x: k - few.get(x, 0) for x, k in more.podsets[s].items() if k > few.get(x, 0)
            }
        return tuple(found)

    @cached_property
    def placed(self) -> tuple[int, ...]:
        """Pods placed after; indexed by pod set."""
        return tuple(sum(spots.values()) if spots else 0 for spots in self.after.podsets)

    @cached_property
    def started(self) -> tuple[Job, ...]:
        """Jobs of which pending pods are bound, the most important first."""
        jobs = (
            job
            for job in self.changed_jobs
            if any(self.bound(s) for s in self.instance.pending_of(job.index))
        )
        return tuple(sorted(jobs, key=lambda job: (-job.priority, job.index)))

    @cached_property
    def spreading(self) -> tuple[Spread, ...]:
        """Spread constraints of pod sets of which pods arrive."""
        return tuple(spread for spread in self.instance.spreads if self.arrivals[spread.owner])

    @cached_property
    def loads(self) -> Loads:
        """Loads after."""
        return Loads.of(self.instance, self.after)

    def evicted(self, s: int) -> int:
        """Pods of a pod set that ran before and run nowhere after."""
        return max(0, self.before.placed(s) - self.after.placed(s))

    def moved(self, s: int) -> int:
        """Pods of a pod set that left a spot and arrived at another."""
        return min(sum(self.arrivals[s].values()), sum(self.departures[s].values()))

    def restarts(self, s: int) -> int:
        """Pods of a running pod set that are moved by a restart."""
        return self.moved(s) if self.instance.job_of(s).move_mode == "restart" else 0

    def bound(self, s: int) -> int:
        """Pods of a pod set that are placed after and were not before."""
        return max(0, self.after.placed(s) - self.before.placed(s))

    def role_placed(self, role: Role) -> int:
        """Pods of a role that are placed after, running and newly bound."""
        return sum(self.after.placed(s) for s in role.podsets)

    def satisfied(self, job: Job) -> bool:
        """Whether a job is placed: a gang with its minimum, any other job with all its pods."""
        return job.placed_with([self.role_placed(role) for role in job.roles])

    @cached_property
    def arrived_on(self) -> dict[int, list[tuple[int, Spot, int]]]:
        """Arrivals by node: pod set, spot and pods."""
        found: dict[int, list[tuple[int, Spot, int]]] = {}
        for s in self.changed:
            for spot, pods in sorted(self.arrivals[s].items()):
                found.setdefault(spot.node, []).append((s, spot, pods))
        return dict(sorted(found.items()))

    def count_by(self, podsets: tuple[int, ...], key: str) -> Mapping[str, int]:
        """Pods of some pod sets after, by the value of a node label; unlabelled nodes left out.

        Many pods may look at the same others: they are counted once.
        """
        counts = self._counts.get((podsets, key))
        if counts is None:
            counts = self._counts[podsets, key] = by_label(self.instance, self.after, podsets, key)
        return counts
