"""For whom a victim gives way: who took its room, and had no other place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from kantopt.verify.rules.priority import Pods, in_the_way, victim_units, without_lesser
from kantopt.verify.step import Loads, Step
from kantopt.verify.victims.elsewhere import Elsewhere, changed, free_spots
from kantopt.verify.victims.made_way import Changes, MadeWay
from kantopt.verify.victims.room_taken import FAR, RoomTaken

MOST_TRIED = 6_000
"""Ways to place pods elsewhere that are judged for all victims of a plan together."""
MANY = 500
"""Nodes and queues beyond which these are fewer: a judge of the whole looks at all of them."""
EACH = 12
"""The same for one job and one victim."""
MOST_JUDGED = 5_000
"""The same times how often it is judged as a whole whether a victim would be back without a job."""
MOST_BEHIND = 8
"""Less important jobs of which it is asked whether they have another's place."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A step, the same as another one if both change the same: they may be made apart."""

    step: Step
    over: Callable[[], bool]

    def __hash__(self) -> int:
        return id(self.step.instance)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Asked):
            return NotImplemented
        a, b = self.step, other.step
        return a.instance is b.instance and (a.before, a.after) == (b.before, b.after)


def preemptors_of(step: Step, over: Callable[[], bool] = lambda: False) -> Preemptors:
    """Return for whom victims give way: order and document ask the same, one after the other.

    Whoever asks first says when the time for it is ``over``.
    """
    return _kept(_Asked(step, over))


@lru_cache(maxsize=4)  # what victims do next is asked in between
def _kept(asked: _Asked) -> Preemptors:
    return Preemptors(asked.step, asked.over)


class Preemptors:
    """Names for each victim of a plan the newly placed job that it gives way to.

    Of the jobs that may evict it that is one of those that took its room, directly before
    indirectly (by way of pods that moved into it and left theirs), and that has no place otherwise,
    first of all one without which the victim would fit back; or a less important one that has the
    place which that one would have had. Equals that each need a victim have one each, as far as
    they are in its room: who is bound does not have to wait for the victims of others. Once the
    time is over no other places are looked for.
    """

    def __init__(self, step: Step, over: Callable[[], bool] = lambda: False) -> None:
        self.step = step
        self._over = over
        self._elsewhere = Elsewhere(step)
        self._made_way = MadeWay(step)
        self._tried = self._judged = 0
        self._size = len(step.instance.nodes) + len(step.instance.queues)
        self._most = MOST_TRIED * MANY // max(MANY, self._size)
        self._rooms: dict[tuple[object, ...], int] = {}
        self._now: dict[int, bool] = {}
        self._undone: dict[int, Changes] = {}
        """Moves that made way for a job alone, undone: the same for each victim."""
        self._remaining: dict[int, tuple[Loads, Pods]] = {}
        self._named_for = Counter[int]()
        """Victims by the job that they give way to."""
        self._would_have: dict[int, set[int]] = {}
        """By job: the equals that would have had its place, and whose victims are its own."""
        self._victims_of: dict[int, list[Pods]] = {}
        """By job: one or two that would fit back without it."""

    def of(self, s: int, spot: Spot) -> Job | None:
        """Return the job that pods evicted from a spot give way to, if any may evict them."""
        return self._names.get((s, spot))

    def of_job(self, job: Job) -> Job | None:
        """Return the job that the first victims of a job give way to."""
        unit = next(victim_units(self.step, job), None)
        return None if unit is None else self.of(*min(unit))

    def all_of(self, job: Job) -> set[Job | None]:
        """Return all jobs that pods of a job give way to; ``None`` among them: nobody for some."""
        return {heir for (s, _), heir in self._names.items() if s in job.podsets}

    @cached_property
    def _names(self) -> dict[tuple[int, Spot], Job | None]:
        """Of all victims, in one order: how often other places are looked for is limited."""
        names: dict[tuple[int, Spot], Job | None] = {}
        for job, unit in self._units:
            heir = self._find(job, unit)
            names.update(dict.fromkeys(unit, heir))
            if heir is not None:
                self._named_for[heir.index] += 1
        return names

    @cached_property
    def _units(self) -> list[tuple[Job, Pods]]:
        """Victims, as they would be put back."""
        jobs = self.step.changed_jobs
        return [(job, unit) for job in jobs for unit in victim_units(self.step, job)]

    @cached_property
    def _victims_on(self) -> dict[int, list[tuple[Job, Pods]]]:
        """The same by node."""
        found: dict[int, list[tuple[Job, Pods]]] = {}
        for job, unit in self._units:
            for n in {spot.node for _, spot in unit}:
                found.setdefault(n, []).append((job, unit))
        return found

    def _find(self, victim: Job, unit: Pods) -> Job | None:
        may = [
            job
            for job in self.step.started
            if self.step.instance.may_evict_for(job.index, victim.index)
        ]
        if not may:
            return None
        if victim.priority not in self._remaining:
            self._remaining[victim.priority] = without_lesser(self.step, victim)
        rules = in_the_way(self.step, self._remaining[victim.priority], unit)
        room = RoomTaken(self.step, victim, unit, rules)
        near = sorted(
            (distance, -job.priority, 0 if distance else self._named_for[job.index], job.index)
            for job in may
            if (distance := room.distance(job)) < FAR
        )
        if not near:
            return may[0]
        jobs = [self.step.instance.jobs[j] for *_, j in near]
        for back in ({}, unit):  # no place at all but this; no place that would spare the victim
            first: Job | None = None
            for job in jobs:
                if not self._has_place(room, job, back):
                    if self._kept_out_by(job, unit):
                        return self._behind(room, job, may, unit)
                    first = first or job
            if first is not None:
                return self._behind(room, first, may, unit)
        return jobs[0]

    def _kept_out_by(self, job: Job, unit: Pods) -> bool:
        """Whether the victim would fit back without a job, and without moves that made way for it.

        Else it is others who have its room, and the job perhaps what was free beside it.
        """
        bound, loads, named = self._bound(job), self._loads, self._named
        self._made_way.shift(loads, named, bound, -1)
        undone = self._undone.get(job.index)
        if undone is None:
            undone = self._undone[job.index] = self._made_way.undo(loads, named, bound)
        else:
            self._made_way.shift(loads, named, undone, 1)
        fits = not in_the_way(self.step, (loads, named), unit)
        self._made_way.shift(loads, named, undone, -1)
        self._made_way.shift(loads, named, bound, 1)
        return fits

    def _behind(self, room: RoomTaken, job: Job, may: list[Job], unit: Pods) -> Job:
        """Return the least important job that has the place which another would have had.

        Who comes first in the queue takes a free place first. Where one who comes later has that
        place, the victim goes so that both are placed: for the later. So it does where the victim
        would fit back beside the first, were it not for the later and for moves that made way.
        """
        pods = room.pods_of(job)
        for other in self._queued_behind(job, may):
            if self._tried_enough():
                break
            equal = other.priority == job.priority
            if equal and self._needs_its_place(other, job, unit):
                continue
            if self._gives_way_to(other, pods, unit):
                if equal:
                    self._would_have.setdefault(other.index, set()).add(job.index)
                return other
        return job

    def _needs_its_place(self, other: Job, job: Job, unit: Pods) -> bool:
        """Whether a job would not have the place of an equal, were it before that in the queue.

        Others would have it, one for each pod; or it takes a victim as well, and the job had no
        room without one either.
        """
        others = self._would_have.get(other.index, set()) - {job.index}
        if others and len(others) >= sum(k for *_, k in self._bound(other)):
            return True
        return not self._fits_now(job) and self._has_a_victim(other, unit)

    def _has_a_victim(self, job: Job, unit: Pods) -> bool:
        """Whether another victim than this would fit back where it was without a job."""
        if job.index not in self._victims_of:
            may_evict = self.step.instance.may_evict_for
            beside = (
                other
                for n in sorted({spot.node for _, spot, _ in self._bound(job)})
                for victim, other in self._victims_on.get(n, ())
                if may_evict(job.index, victim.index)
            )
            fit = (other for other in islice(beside, EACH) if self._kept_out_by(job, other))
            self._victims_of[job.index] = list(islice(fit, 2))
        return any(other is not unit for other in self._victims_of[job.index])

    def _gives_way_to(self, other: Job, pods: list[tuple[int, Spot]], unit: Pods) -> bool:
        """Whether without a job the victim would fit back, perhaps with some pods elsewhere.

        The latter as the plan is otherwise, or with those back that made way.
        """
        back = self._kept_out_by(other, unit)
        bound, loads, named = self._bound(other), self._loads, self._named
        self._made_way.shift(loads, named, bound, -1)
        worth = back or self._may_fit(pods, bound)
        first = [(s, spot, 1) for s, spot in pods]
        self._made_way.shift(loads, named, first, -1)
        undone = self._made_way.undo(loads, named, bound)
        self._made_way.shift(loads, named, undone, -1)
        self._made_way.shift(loads, named, [*first, *bound], 1)
        if not (worth or undone):
            return False
        self._tried += EACH
        return (
            back
            or (worth and self._place_without(bound, pods, (), unit))
            or (bool(undone) and self._place_without(bound, pods, undone, unit))
        )

    def _queued_behind(self, job: Job, may: list[Job]) -> list[Job]:
        """Return some jobs that come after a job in the queue, the last first.

        Of equals who has room as things stand comes first, for that one needs no victim by itself;
        then who is listed first.
        """
        lesser = [x for x in may if x.priority < job.priority]
        lesser = sorted(lesser, key=lambda x: (x.priority, -x.index))[:MOST_BEHIND]
        lesser.sort(key=lambda x: (x.priority, self._fits_now(x)))
        equals = sorted((x for x in may if x.priority == job.priority), key=lambda x: -x.index)
        later = [x for x in equals if x.index > job.index][:MOST_BEHIND]
        earlier = [x for x in equals if x.index < job.index][:MOST_BEHIND]
        if not (later or earlier) or len(lesser) >= MOST_BEHIND:
            return lesser
        if self._fits_now(job):
            behind = [x for x in (*later, *earlier) if not self._fits_now(x)]
            behind += [x for x in later if self._fits_now(x)]
        else:
            behind = [x for x in later if not self._fits_now(x)]
        return [*lesser, *behind][:MOST_BEHIND]

    def _fits_now(self, job: Job) -> bool:
        """Whether all that the plan binds of a job has room as things stand, pod by pod."""
        if job.index not in self._now:
            if len(self._now) * EACH >= self._most:
                return False
            self._now[job.index] = self._first_fit(job)
        return self._now[job.index]

    def _first_fit(self, job: Job) -> bool:
        instance, before = self.step.instance, self.step.before
        loads = Loads.of(instance, before)
        places: dict[int, Counter[Spot]] = {}
        for s in instance.pending_of(job.index):
            n, found = 0, places.setdefault(s, Counter())
            for _ in range(self.step.after.placed(s)):
                nodes = range(n, len(instance.nodes))
                spot = next(free_spots(instance, loads, s, nodes), None)
                if spot is None:
                    return False
                loads.add(s, spot, 1)
                found[spot] += 1
                n = spot.node
        with_it = before.replace({s: dict(spots) for s, spots in places.items()})
        return not any(fault.rule != Rule.REQUIRED for fault in check(instance, with_it))

    def _bound(self, job: Job) -> Changes:
        """Pods of a job that the plan binds."""
        new = self.step.instance.pending_of(job.index)
        return [(s, spot, k) for s in new for spot, k in self.step.after.podsets[s].items()]

    @cached_property
    def _loads(self) -> Loads:
        """Loads after the step, from which pods are taken for a while."""
        return self.step.loads.copy()

    @cached_property
    def _named(self) -> Pods:
        """Pods after the step that anti-affinity names, from which some are taken as well."""
        after = self.step.after.podsets
        return {(s, spot): k for s in self._made_way.mates for spot, k in after[s].items()}

    def _may_fit(self, pods: list[tuple[int, Spot]], freed: Changes) -> bool:
        """Whether there is room for so many pods now that some are gone; by resources of nodes."""
        nodes = {spot.node for _, spot, _ in freed}
        for s, wanted in Counter(s for s, _ in pods).items():
            podset = self.step.instance.podsets[s]
            asked = (podset.requests, podset.allowed, podset.count)
            if asked not in self._rooms:
                every = range(len(self.step.instance.nodes))
                self._rooms[asked] = sum(_holds(self.step.loads, s, n) for n in every)
            more = sum(
                _holds(self._loads, s, n) - _holds(self.step.loads, s, n) for n in sorted(nodes)
            )
            if self._rooms[asked] + more < wanted:
                return False
        return True

    def _place_without(
        self,
        bound: Changes,
        pods: list[tuple[int, Spot]],
        undone: Sequence[tuple[int, Spot, int]],
        back: Pods,
    ) -> bool:
        """Whether pods would find another place if some were not bound, and others back."""
        if self._judged * self._size >= MOST_JUDGED or self._over():
            return False
        self._judged += 1
        changes = Counter[tuple[int, Spot]]()
        for s, spot, k in (*undone, *((s, spot, -k) for s, spot, k in bound)):
            changes[s, spot] += k
        without = changed(self.step.after, changes)
        step = Step(self.step.instance, self.step.before, without)
        step.loads = self.step.loads.between(self.step.after, without)
        fuller = self._elsewhere, {spot.node for (_, spot), k in changes.items() if k < 0}
        return Elsewhere(step, fuller).place(pods, back, EACH) is not None

    def _has_place(self, room: RoomTaken, job: Job, back: Pods) -> bool:
        """Whether what a job has in the room would find another place."""
        if self._tried_enough():
            return False
        placement = self._elsewhere.place(room.pods_of(job), back, EACH)
        self._tried += EACH
        return placement is not None

    def _tried_enough(self) -> bool:
        return self._tried >= self._most or self._over()


def _holds(loads: Loads, s: int, n: int) -> int:
    """Pods of a pod set that a node has room for by its own resources; many if they ask none.

    Devices are left aside: never less than there is room for.
    """
    podset = loads.instance.podsets[s]
    if n not in podset.allowed:
        return 0
    rooms = (
        (limit - load) // amount
        for amount, load, limit in zip(
            podset.requests, loads.node[n], loads.instance.nodes[n].capacity, strict=True
        )
        if amount and limit is not None
    )
    return max(0, min(rooms, default=podset.count))
