"""What is evicted and what more could be: kept up to date from change to change."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric
from kantopt.search.shapes import Ints
from kantopt.search.state import Change, State
from kantopt.verify.metrics.displaced import running_parts
from kantopt.verify.metrics.unplaced import missing_of

NOBODY = -(2**63)
"""Below every priority."""
_MOST_ROOMS = 16
"""Priorities for which the room is kept up to date; for others it is added up anew."""
_DEARER = 100
"""Victims of a priority that cost as much as one of the next higher."""

_Place = tuple[int, Spot]


@dataclass(slots=True)
class Room:
    """What evicting all pods up to a priority would free on each node, and what it would cost."""

    free: Ints
    devices: Ints
    costs: Ints


class Level(NamedTuple):
    """Who may go: all pods up to a priority, and what gangs up to a higher one can do without."""

    priority: int
    spare: int | None = None

    def spares(self, priority: int) -> bool:
        """Whether of a priority only those may go whom gangs can do without."""
        return self.spare is not None and self.priority < priority <= self.spare


class Gone:
    """Evicted pods by job and by node, their cost, and the room that the others could still give.

    Parameters
    ----------
    state
        Tells which running pods came or went since it was last looked at.
    able
        Pod sets that may be evicted, by job.
    tied
        Jobs that may have to go as a whole.
    whole
        Whether one of those has to as it stands.
    spare
        Pods that a gang can do without as it stands.
    """

    def __init__(
        self,
        state: State,
        able: Mapping[int, list[int]],
        tied: Container[int],
        whole: Callable[[Job], bool],
        spare: Callable[[Job], int],
    ) -> None:
        self._state = state
        self._able = able
        self._tied = tied
        self._whole = whole
        self._spare = spare
        self._read = len(state.shifted)
        self._lost: dict[_Place, int] = {}
        """Pods that left a spot, by pod set and spot; less than 0 where pods arrived."""
        self._gone: dict[int, int] = {}
        """Pods that run nowhere any more, by pod set."""
        self._jobs: dict[int, set[_Place]] = {}
        self._nodes: dict[int, set[_Place]] = {}
        self._changed: list[int] = []
        self._harm: dict[int, int] = {}
        self._pods = 0
        self._lost_work = 0
        tiers = tiers_of(state.instance)
        split = {tier.priority for tier in tiers if tier.metric is Metric.DISPLACED}
        self._tiers = [
            tier
            for tier in tiers
            if tier.metric is Metric.DISPLACED
            or (tier.metric is Metric.EVICTIONS and tier.priority is not None)
            or (
                tier.metric is Metric.UNPLACED
                and tier.unit != "jobs"
                and not tier.of_waiting
                and (tier.surplus or tier.priority not in split)
            )
        ]
        """Those that a victim of some priority counts in."""
        self._by_gpus = {
            tier.priority
            for i, tier in enumerate(self._tiers)
            if tier.metric is Metric.DISPLACED
            and tier.unit == "milli-GPU"
            and not any(
                other.metric is Metric.EVICTIONS and other.priority == tier.priority
                for other in self._tiers[:i]
            )
        }
        """Priorities of which it counts more how many GPUs are displaced than how many pods."""
        unsplit = {None, *(state.instance.jobs[j].priority for j in able)} - split
        ranks = [
            tier.metric is Metric.EVICTIONS or tier.surplus
            for tier in tiers
            if tier.unit != "jobs"
            and (
                tier.metric in (Metric.DISPLACED, Metric.EVICTIONS)
                or (tier.metric is Metric.UNPLACED and (tier.surplus or tier.priority in unsplit))
            )
        ]
        self.spares_first = False in ranks and ranks == sorted(ranks)
        """Whether evicting whom gangs can do without is less harm than displacing anybody."""
        self._values: dict[Tier, dict[int, int]] = {
            tier: {} for tier in self._tiers if tier.metric is not Metric.EVICTIONS
        }
        """Value by job that has lost pods."""
        self._rooms: dict[int, Room] = {}
        self._spare_rooms: dict[Level, Room] = {}
        """What gangs can do without of the priorities that a level spares."""
        self._spared: dict[int, list[Change]] = {}
        """The pods by job, as they are in these rooms."""
        self._costs: dict[int, dict[int, int]] = {}
        """Cost by node of tied jobs, as it is in the rooms."""

    # -- what is gone

    def pods(self) -> int:
        """Pods that are gone."""
        self._sync()
        return self._pods

    def at(self, s: int, spot: Spot) -> int:
        """Pods that left a spot and run nowhere, at most."""
        return min(self._lost.get((s, spot), 0), self._gone.get(s, 0))

    def changed(self) -> Sequence[int]:
        """Return nodes in the order in which what evicted pods have left there changed."""
        self._sync()
        return self._changed

    def left_on(self, n: int) -> list[tuple[int, Spot, int]]:
        """Pod set, spot and number of the pods that left a node, of pod sets with evicted pods."""
        self._sync()
        return [
            (s, spot, self._lost[s, spot]) for s, spot in self._nodes.get(n, ()) if self._gone[s]
        ]

    def of(self, job: Job) -> dict[_Place, int]:
        """All places that pods of a job left."""
        return {place: self._lost[place] for place in sorted(self._jobs.get(job.index, ()))}

    def harm(self) -> list[int]:
        """What has no place and what evictions cost, in the order in which objectives ask for it.

        Then the cost by priority, the highest first, whatever they ask for, pods, and lost work.
        """
        self._sync()
        asked = [
            self._harm.get(tier.priority or 0, 0)
            if tier.metric is Metric.EVICTIONS
            else sum(self._values[tier].values())
            for tier in self._tiers
        ]
        costs = [self._harm.get(p, 0) for p in self._state.instance.priorities]
        return [*asked, *costs, self._pods, self._lost_work]

    def before_surplus(self, j: int) -> int | None:
        """Numbers of :meth:`harm` before what the members of a job above its minimum count in."""
        job = self._state.instance.jobs[j]
        found = (i for i, tier in enumerate(self._tiers) if tier.surplus and tier.concerns(job))
        return next(found, None)

    def podsets(self) -> list[int]:
        """Pod sets of which pods are gone."""
        self._sync()
        return sorted(s for s, gone in self._gone.items() if gone)

    def by_job(self, nodes: set[int], anywhere: set[int]) -> list[tuple[int, list[_Place]]]:
        """Places that pods left on some nodes, by job; of some jobs on any node."""
        self._sync()
        found = {j: [*self._jobs[j]] for j in anywhere & self._jobs.keys()}
        for place in (place for n in nodes for place in self._nodes.get(n, ())):
            j = self._state.instance.podsets[place[0]].job
            if j not in anywhere:
                found.setdefault(j, []).append(place)
        return [*found.items()]

    # -- what more could go

    def room(self, level: Level) -> Room:
        """Return the room that all pods who may go could still give."""
        self._sync()
        room = self._room(level.priority)
        return room if level.spare is None else self._with_spare(room, level)

    def _room(self, priority: int) -> Room:
        if priority not in self._rooms:
            if len(self._rooms) >= _MOST_ROOMS:
                del self._rooms[next(iter(self._rooms))]
            self._rooms[priority] = self._added_up(priority)
        return self._rooms[priority]

    def _added_up(self, priority: int) -> Room:
        state, room = self._state, self._no_room()
        jobs = [state.instance.jobs[j] for j in self._able]
        jobs = [job for job in jobs if job.priority <= priority]
        for job in jobs:
            costs = self._costs.get(job.index) or self._costs_of(job)
            if job.index in self._tied:
                self._costs[job.index] = costs
            for n, cost in costs.items():
                room.costs[n] += cost * self.dearer(job.priority, priority)
        pods = [
            (s, spot, pods)
            for job in jobs
            for s in self._able[job.index]
            for spot, pods in state.spots[s].items()
        ]
        state.give(pods, room.free, room.devices)
        return room

    def _with_spare(self, room: Room, level: Level) -> Room:
        """Return a room with what gangs of higher priorities can do without."""
        if level not in self._spare_rooms:
            if len(self._spare_rooms) >= _MOST_ROOMS:
                del self._spare_rooms[next(iter(self._spare_rooms))]
            more = self._spare_rooms[level] = self._no_room()
            for job in (self._state.instance.jobs[j] for j in self._able):
                if level.spares(job.priority):
                    self._spared[job.index] = self._spared_of(job)
                    self._add_spared(more, self._spared[job.index], 1)
        more = self._spare_rooms[level]
        return Room(room.free + more.free, room.devices + more.devices, room.costs + more.costs)

    def _spared_of(self, job: Job) -> list[Change]:
        """Pods by spot that a gang can do without, on each as if it were the only one."""
        spare = self._spare(job)
        return [
            (s, spot, min(pods, spare))
            for s in (self._able[job.index] if spare else ())
            for spot, pods in self._state.spots[s].items()
        ]

    def _add_spared(self, room: Room, pods: list[Change], times: int) -> None:
        podsets, going = self._state.instance.podsets, [(s, x, times * k) for s, x, k in pods]
        self._state.give(going, room.free, room.devices)
        for s, spot, k in going:
            room.costs[spot.node] += podsets[s].disruption_cost * k

    def _no_room(self) -> Room:
        state = self._state
        costs = np.zeros(state.size, dtype=np.int64)
        return Room(np.zeros_like(state.free), np.zeros_like(state.devices), costs)

    def toll(self, s: int, level: Level) -> int:
        """What evicting a pod costs beside others who may go; what gangs can spare is cheap."""
        job = self._state.instance.job_of(s)
        if level.spares(job.priority):
            return self._state.instance.podsets[s].disruption_cost
        return self.price(s) * self.dearer(job.priority, level.priority)

    def _costs_of(self, job: Job) -> dict[int, int]:
        """Cost of clearing each node of a job's pods; of one that must go whole, of all of it."""
        state = self._state
        whole = None
        if job.index in self._tied and self._whole(job):
            whole = sum(self.price(s) * state.placed[s] for s in job.podsets)
        costs: dict[int, int] = {}
        for s in self._able[job.index]:
            each = self.price(s)
            for spot, pods in state.spots[s].items():
                more = each * pods if whole is None else whole
                costs[spot.node] = costs.get(spot.node, 0) + more
        return costs

    def price(self, s: int) -> int:
        """What it costs to evict a pod: its GPUs first, where it is asked what is displaced."""
        podset = self._state.instance.podsets[s]
        asked = self._state.instance.jobs[podset.job].priority in self._by_gpus
        return podset.gpu_milli * asked + podset.disruption_cost

    @staticmethod
    def dearer(priority: int, most: int) -> int:
        """By how much more pods of a priority count where all up to some may go: the highest."""
        return _DEARER if priority == most else 1

    # -- keeping up

    def _sync(self) -> None:
        state = self._state
        if self._read == len(state.shifted):
            return
        places = dict.fromkeys(state.shifted[self._read :])
        self._read = len(state.shifted)
        shifted = [(s, spot, -more) for s, spot in places if (more := self._shift(s, spot))]
        instance = state.instance
        for s in dict.fromkeys(s for s, _, _ in shifted):
            self._count(s)
        for j in dict.fromkeys(instance.podsets[s].job for s, _, _ in shifted):
            self._displace(j)
        able = [x for x in shifted if x[0] in self._able.get(instance.podsets[x[0]].job, ())]
        for priority, room in self._rooms.items():
            pods = [x for x in able if instance.job_of(x[0]).priority <= priority]
            state.give(pods, room.free, room.devices)
            for s, spot, came in pods:
                if instance.podsets[s].job not in self._tied:
                    job = instance.job_of(s)
                    room.costs[spot.node] += (
                        came * self.price(s) * self.dearer(job.priority, priority)
                    )
        for j in dict.fromkeys(instance.podsets[s].job for s, _, _ in able):
            self._revalue(instance.jobs[j])

    def _shift(self, s: int, spot: Spot) -> int:
        """Note how many pods are gone from a spot; return by how many that are more."""
        podset = self._state.instance.podsets[s]
        lost = podset.current.get(spot, 0) - self._state.spots[s].get(spot, 0)
        more = lost - self._lost.get((s, spot), 0)
        if more:
            self._lost[s, spot] = lost
            self._list(podset.job, (s, spot), gone=lost > 0)
        return more

    def _list(self, j: int, place: _Place, *, gone: bool) -> None:
        n = place[1].node
        self._changed.append(n)
        for places, key in ((self._jobs, j), (self._nodes, n)):
            here = places.setdefault(key, set())
            if gone:
                here.add(place)
            else:
                here.discard(place)
            if not here:
                del places[key]

    def _count(self, s: int) -> None:
        """Count the pods of a pod set that run nowhere: those that moved are not evicted."""
        podset = self._state.instance.podsets[s]
        gone = podset.count - self._state.placed[s]
        before = self._gone.get(s, 0)
        more = gone - before
        self._gone[s] = gone
        if gone != before:
            # Its pods that moved count as having left their places as far as some are evicted.
            places = self._jobs.get(self._state.instance.podsets[s].job, ())
            self._changed += [spot.node for k, spot in places if k == s]
        self._pods += more
        self._lost_work += more * podset.lost_gpu_seconds
        priority = self._state.instance.jobs[podset.job].priority
        self._harm[priority] = self._harm.get(priority, 0) + more * podset.disruption_cost

    def _displace(self, j: int) -> None:
        """Work out what tiers count of a job that is displaced."""
        state = self._state
        job = state.instance.jobs[j]
        for tier, values in self._values.items():
            if not tier.concerns(job):
                continue
            displaced = tier.metric is Metric.DISPLACED
            part = running_parts(state.instance, tier)[j] if displaced else job
            placed = [sum(state.placed[s] for s in role.podsets) for role in part.roles]
            values[j] = missing_of(tier, state.instance, part, placed)

    def _revalue(self, job: Job) -> None:
        """Renew the cost of a tied job, and what it can do without."""
        if job.index in self._spared:
            old, new = self._spared[job.index], self._spared_of(job)
            self._spared[job.index] = new
            for level, room in self._spare_rooms.items() if old != new else ():
                if level.spares(job.priority):
                    self._add_spared(room, old, -1)
                    self._add_spared(room, new, 1)
        before = self._costs.get(job.index)
        if before is None:
            return
        after = self._costs[job.index] = self._costs_of(job)
        for n in before.keys() | after.keys():
            more = after.get(n, 0) - before.get(n, 0)
            if more:
                for priority, room in self._rooms.items():
                    if job.priority <= priority:
                        room.costs[n] += more * self.dearer(job.priority, priority)
