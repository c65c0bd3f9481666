"""Ruin and recreate (Schrimpf et al. 2000): pending pods of a few nodes are placed anew.

Only pods that are free to go anywhere: where no rule ties pods to others, two of one kind are as
good as each other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from kantopt.clock import Deadline
from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.search.presolve import binding_queues
from kantopt.search.shapes import ClassNeed
from kantopt.search.state import State
from kantopt.verify.weight import weight

_NODES = (1, 2, 2, 3)
_SHARES = (0.3, 0.6, 1.0)
"""How many of the pods on a node are lifted."""
_NOISES = (0.1, 0.3, 0.6, 1.0)
"""By how many GPUs the size that the order goes by may be off."""
_MOST_WAITING = 6
"""Pods of one kind among those that wait that are tried at a time."""
_MOST_KINDS = 40
_CLOCK = 32
"""Trials between two looks at the clock."""
_CPU_ONLY = -100.0
"""Added to the size of pods without GPUs: they come after all others."""

_Place = tuple[int, int, tuple[int, ...]]
"""Kind of a pod, its node, and the devices that it holds there."""


def recreate(
    instance: Instance,
    placement: Placement,
    tiers: Sequence[Tier],
    deadline: Deadline,
    *,
    seed: int = 0,
) -> Placement:
    """Place more of the pending pods by placing others of them elsewhere.

    What runs stays where it is, and so do pods that rules tie to others. Again and again the loose
    pods of a few nodes are lifted, put together with some that wait, and placed in a random order
    that favours the large; what is no worse is kept (Schrimpf et al. 2000, J. Comput. Phys. 159).

    Parameters
    ----------
    placement
        A legal placement.
    deadline
        When to end; before that the search ends when it has long been in vain.
    seed
        Of the random choices.

    Returns
    -------
    Placement
        The placement itself if nothing more could be placed.
    """
    state = State(instance, placement)
    search = _Search(state, _kinds(state, tiers), random.Random(seed))
    return search.placed() if search.run(deadline) else placement


@dataclass(frozen=True, slots=True)
class _Kind:
    """Pods that rules and metrics do not tell apart.

    ``value`` is what one of them unplaced adds to the tiers, all tiers in one number, the most
    important in the highest digits; ``size`` is in GPUs, ``gpus`` in milli-GPU. ``other`` is the
    resource without GPUs of which the cluster has least for it.
    """

    podsets: tuple[int, ...]
    allowed: frozenset[int]
    asks: tuple[tuple[int, int], ...]
    need: ClassNeed | None
    device_asks: tuple[tuple[int, int], ...]
    priority: int
    value: int
    size: float
    gpus: int
    other: int | None


class _Room:
    """What a node has left within a trial.

    Plain lists, since a step of the state counts for all rules and a trial needs few of them. Only
    what is kept of a trial becomes steps.
    """

    __slots__ = ("devices", "free", "gpus", "n")

    def __init__(self, state: State, n: int, gpus: int) -> None:
        self.n = n
        self.free: list[int] = state.free[:, n].tolist()
        self.devices: list[list[int]] = state.devices[:, n].T.tolist()
        self.gpus = gpus
        """Milli-GPU."""

    def take(self, kind: _Kind, devices: Iterable[int]) -> None:
        """Let a pod of a kind take what it asks for."""
        free = self.free
        for r, amount in kind.asks:
            free[r] -= amount
        for d in devices:
            left = self.devices[d]
            for row, amount in kind.device_asks:
                left[row] -= amount
        self.gpus -= kind.gpus

    def give(self, kind: _Kind, devices: Iterable[int]) -> None:
        """Give back what a pod of a kind has taken."""
        free = self.free
        for r, amount in kind.asks:
            free[r] += amount
        for d in devices:
            left = self.devices[d]
            for row, amount in kind.device_asks:
                left[row] += amount
        self.gpus += kind.gpus


class _Search:
    def __init__(self, state: State, kinds: Sequence[_Kind], rng: random.Random) -> None:
        self.state = state
        self.kinds = kinds
        self.rng = rng
        instance = state.instance
        self.kind_of = [-1] * len(instance.podsets)
        """Kind of each pod set; -1 of those that are not loose."""
        self.waiting: dict[int, list[int]] = {}
        """Pods of each kind that are not placed, by pod set; a kind without any is missing."""
        for k, kind in enumerate(kinds):
            for s in kind.podsets:
                self.kind_of[s] = k
                if pods := instance.podsets[s].count - state.placed[s]:
                    self.waiting.setdefault(k, []).extend([s] * pods)
        left = {
            spot.node
            for podset in instance.podsets
            for spot, pods in podset.current.items()
            if state.spots[podset.index].get(spot, 0) < pods
        }
        self.nodes = [n for n in range(state.size) if n not in left]
        """Nodes that pods may come to and go from: room that others were evicted for stays."""
        self.holding = [
            n for n in self.nodes if any(self.kind_of[s] >= 0 for s, _ in state.bound_on.get(n, ()))
        ]
        """Nodes with loose pods: on others nothing can be exchanged."""
        self.gpus: list[int] = state.gpus_left().tolist()
        self.offered: list[list[int]] = np.maximum(state.capacity, 1).T.tolist()
        self.of_class: list[dict[int, list[int]]] = [{} for _ in instance.nodes]
        """Devices of each node by class."""
        for n, d in np.argwhere(state.device_class >= 0).tolist():
            self.of_class[n].setdefault(int(state.device_class[n, d]), []).append(d)

    def run(self, deadline: Deadline) -> bool:
        """Search until the time is up or nothing is found any more; return if anything was."""
        pods = sum(p.count for p in self.state.instance.podsets if self.kind_of[p.index] >= 0)
        patience = min(20_000, 200 + 20 * pods)
        idle, found, trials = 0, False, 0
        while idle < patience and self.waiting and self.holding:
            if trials % _CLOCK == 0 and deadline.cuts():
                break
            trials += 1
            idle += 1
            if self._try(self._draw()):
                idle, found = 0, True
        return found

    def _draw(self) -> list[_Room]:
        """Choose nodes: of two at random the one with more GPUs left, and any others."""
        rng, gpus = self.rng, self.gpus
        first, second = rng.choice(self.holding), rng.choice(self.holding)
        nodes = [first if gpus[first] >= gpus[second] else second]
        for _ in range(rng.choice(_NODES) - 1):
            n = rng.choice(self.nodes)
            if n not in nodes:
                nodes.append(n)
        return [_Room(self.state, n, gpus[n]) for n in nodes]

    def _try(self, rooms: list[_Room]) -> bool:
        """Place the pods of some nodes anew, unless that is worse; return whether it is better."""
        kinds = self.kinds
        lifted = self._lift(rooms)
        pool = [self.kind_of[s] for s, _ in lifted]
        gain = -sum(kinds[k].value for k in pool)
        pool += self._some_waiting()
        rank = self._ranks(pool)
        pool.sort(key=rank.__getitem__)
        placed: list[_Place] = []
        full: set[int] = set()
        for k in pool:
            if k in full:
                continue
            room, devices = self._best(kinds[k], rooms)
            if room is None:
                full.add(k)
                continue
            room.take(kinds[k], devices)
            placed.append((k, room.n, devices))
            gain += kinds[k].value
        if gain < 0:
            return False
        self._keep(lifted, placed)
        for room in rooms:
            self.gpus[room.n] = room.gpus
        return gain > 0

    def _lift(self, rooms: Iterable[_Room]) -> list[tuple[int, Spot]]:
        """Take pods away within a trial; return pod set and spot of each."""
        kinds, kind_of = self.kinds, self.kind_of
        random_, share = self.rng.random, self.rng.choice(_SHARES)
        lifted = []
        for room in rooms:
            for (s, spot), pods in self.state.bound_on.get(room.n, {}).items():
                k = kind_of[s]
                for _ in range(pods if k >= 0 else 0):
                    if random_() < share:
                        room.give(kinds[k], spot.devices)
                        lifted.append((s, spot))
        return lifted

    def _keep(self, lifted: Iterable[tuple[int, Spot]], placed: Iterable[_Place]) -> None:
        """Change the state by what a trial has made of its nodes."""
        state, waiting = self.state, self.waiting
        come = Counter(placed)
        for s, spot in lifted:
            k = self.kind_of[s]
            place = (k, spot.node, spot.devices)
            if come[place]:
                come[place] -= 1
            else:
                state.add(s, spot, -1)
                waiting.setdefault(k, []).append(s)
        for (k, n, devices), pods in come.items():
            for _ in range(pods):
                state.add(waiting[k].pop(), Spot(n, devices), 1)
            if not waiting.get(k, True):
                del waiting[k]

    def _some_waiting(self) -> list[int]:
        waiting = self.waiting
        chosen: Iterable[int] = waiting
        if len(waiting) > _MOST_KINDS:
            chosen = self.rng.sample(sorted(waiting), _MOST_KINDS)
        return [k for k in chosen for _ in range(min(len(waiting[k]), _MOST_WAITING))]

    def _ranks(self, pool: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Return what to place first: the important, then the large, not quite strictly."""
        random_, noise = self.rng.random, self.rng.choice(_NOISES)
        return {
            k: (-self.kinds[k].priority, -self.kinds[k].size - noise * random_()) for k in set(pool)
        }

    def _best(self, kind: _Kind, rooms: Iterable[_Room]) -> tuple[_Room | None, tuple[int, ...]]:
        """Node and devices for a pod: where fewest GPUs are left over, then where most else is."""
        other = kind.other
        best, chosen = None, None
        where: tuple[int, ...] = ()
        for room in rooms:
            free = room.free
            for r, amount in kind.asks:
                if free[r] < amount:
                    break
            else:
                if room.n not in kind.allowed:
                    continue
                devices: tuple[int, ...] = ()
                left = room.gpus
                if kind.need is not None:
                    left, devices = self._devices(kind.need, room)
                    if not devices:
                        continue
                share = free[other] / self.offered[room.n][other] if other is not None else 0.0
                rank = (left, -share if kind.size > 0 else share)
                if best is None or rank < best:
                    best, chosen, where = rank, room, devices
        return chosen, where

    def _devices(self, need: ClassNeed, room: _Room) -> tuple[int, tuple[int, ...]]:
        """Devices with least left that take a pod, and what they have left; none if too few do."""
        able, devices = [], room.devices
        for d in self.of_class[room.n].get(need.device_class, ()):
            left, total = devices[d], 0
            for row, amount in need.ask:
                if left[row] < amount:
                    break
                total += left[row]
            else:
                able.append((total, d))
        if len(able) < need.count:
            return 0, ()
        if need.count == 1:
            total, d = min(able)
            return total, (d,)
        able.sort()
        able = able[: need.count]
        return sum(total for total, _ in able), tuple(sorted(d for _, d in able))

    def placed(self) -> Placement:
        """Return the placement as it stands; of a kind the first pods have the places."""
        state = self.state
        changes: dict[int, dict[Spot, int]] = {}
        for kind in self.kinds:
            spots = [
                spot for s in kind.podsets for spot, k in state.spots[s].items() for _ in range(k)
            ]
            rest = iter(sorted(spots))
            for s in kind.podsets:
                changes[s] = Counter(islice(rest, state.instance.podsets[s].count))
        return state.placement().replace(changes)


def _kinds(state: State, tiers: Sequence[Tier]) -> list[_Kind]:
    instance = state.instance
    queues, may = binding_queues(instance), freedom_of(instance)
    units = [t for t in tiers if t.metric is Metric.UNPLACED and not t.surplus]
    alike: dict[tuple[Hashable, tuple[int, ...]], list[PodSet]] = {}
    for podset in instance.podsets:
        free = may.binds[podset.index] and podset.index not in may.tied
        job = instance.jobs[podset.job]
        if not free or job.index in instance.required or job.queue in queues:
            continue
        single = podset.count == 1 and len(job.podsets) == 1
        gang = job.is_gang and instance.on(Rule.GANG) and not single
        if gang or len(podset.devices) > 1:
            continue
        missed = tuple(_missing(tier, podset, job, single) for tier in units)
        key = (podset.requests, podset.devices, podset.allowed, job.priority)
        alike.setdefault((key, missed), []).append(podset)
    bases = [1] * len(units)
    for (_, missed), podsets in alike.items():
        pods = sum(podset.count for podset in podsets)
        bases = [base + each * pods for base, each in zip(bases, missed, strict=True)]
    kinds = []
    for (_, missed), podsets in alike.items():
        value = 0
        for each, base in zip(missed, bases, strict=True):
            value = value * base + each
        if value:
            kinds.append(_kind(state, podsets, value))
    return kinds


def _missing(tier: Tier, podset: PodSet, job: Job, single: bool) -> int:
    """What one pod that is not placed adds to a tier; a job of several counts when all are."""
    if not tier.concerns(job):
        return 0
    if tier.unit == "jobs":
        return int(single)
    return weight(tier, podset)


def _kind(state: State, podsets: Sequence[PodSet], value: int) -> _Kind:
    first, instance = podsets[0], state.instance
    shape, offered = state.shape[first.index], state.offered.sum(axis=1).tolist()
    shares = [
        (amount / offered[r], r)
        for r, amount in shape.asks
        if offered[r] and not state.gpu_weight[r]
    ]
    share, other = max(shares, default=(0.0, None))
    return _Kind(
        podsets=tuple(podset.index for podset in podsets),
        allowed=first.allowed,
        asks=shape.asks,
        need=shape.needs[0] if shape.needs else None,
        device_asks=shape.needs[0].ask if shape.needs else (),
        priority=instance.jobs[first.job].priority,
        value=value,
        size=first.gpu_milli / 1000 if first.gpu_milli else _CPU_ONLY + share,
        gpus=first.gpu_milli,
        other=other,
    )
