"""For whom a victim gives way: who took its room, and had no other place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.verify.elsewhere import Elsewhere
from kantopt.verify.rules.priority import Pods, in_the_way, victim_units, without_lesser
from kantopt.verify.rules.quota import cohorts
from kantopt.verify.step import Loads, Step

MOST_TRIED = 6_000
"""Ways to place pods elsewhere that are judged for all victims of a plan together."""
EACH = 12
"""The same for one job and one victim."""
MOST_BEHIND = 8
"""Less important jobs of which it is asked whether they have another's place."""
_FAR = 1_000
"""Distance of a job that took none of the room."""


class Preemptors:
    """Names for each victim of a plan the newly placed job that it gives way to.

    Of the jobs that may evict it that is one of those that took its room, directly before
    indirectly (by way of pods that moved into it and left theirs), and that has no place otherwise;
    or a less important one that has the place which that one would have had.
    """

    def __init__(self, step: Step) -> None:
        self.step = step
        self._elsewhere = Elsewhere(step)
        self._tried = 0
        self._remaining: dict[int, tuple[Loads, Pods]] = {}

    def of(self, s: int, spot: Spot) -> Job | None:
        """Return the job that pods evicted from a spot give way to, if any may evict them."""
        return self._names.get((s, spot))

    def of_job(self, job: Job) -> Job | None:
        """Return the job that the first victims of a job give way to."""
        unit = next(victim_units(self.step, job), None)
        return None if unit is None else self.of(*min(unit))

    @cached_property
    def _names(self) -> dict[tuple[int, Spot], Job | None]:
        """Of all victims, in one order: how often other places are looked for is limited."""
        names: dict[tuple[int, Spot], Job | None] = {}
        for job in self.step.changed_jobs:
            for unit in victim_units(self.step, job):
                names.update(dict.fromkeys(unit, self._find(job, unit)))
        return names

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
        room = _Room(self.step, victim, unit, rules, self._arrivals)
        near = sorted(
            (distance, -job.priority, job.index)
            for job in may
            if (distance := room.distance(job)) < _FAR
        )
        if not near:
            return may[0]
        jobs = [self.step.instance.jobs[j] for _, _, j in near]
        for back in ({}, unit):  # no place at all but this; no place that would spare the victim
            for job in jobs:
                if not self._has_place(room, job, back):
                    return self._behind(room, job, may, unit)
        return jobs[0]

    def _behind(self, room: _Room, job: Job, may: list[Job], unit: Pods) -> Job:
        """Return the least important job that has the place which another would have had.

        Who comes first in the queue takes a free place first, of equals who is listed first. Where
        one who comes later has that place, the victim goes so that both are placed: for the later.
        So it does where the victim would fit back beside the first, were it not for the later.
        """
        pods = room.pods_of(job)
        behind = [x for x in may if (-x.priority, x.index) > (-job.priority, job.index)]
        behind.sort(key=lambda x: (x.priority, -x.index))
        for other in behind[:MOST_BEHIND]:
            if self._tried >= MOST_TRIED:
                break
            bound = [s for s in other.podsets if not self.step.instance.podsets[s].running]
            without = self.step.after.replace({s: {} for s in bound})
            step = Step(self.step.instance, self.step.before, without)
            self._tried += EACH
            elsewhere = Elsewhere(step)
            if elsewhere.fit_back(unit) or elsewhere.place(pods, {}, EACH) is not None:
                return other
        return job

    def _has_place(self, room: _Room, job: Job, back: Pods) -> bool:
        """Whether what a job has in the room would find another place."""
        if self._tried >= MOST_TRIED:
            return False
        placement = self._elsewhere.place(room.pods_of(job), back, EACH)
        self._tried += EACH
        return placement is not None

    @cached_property
    def _arrivals(self) -> dict[int, list[tuple[int, Spot, int]]]:
        """Pods that arrive, by node."""
        found: dict[int, list[tuple[int, Spot, int]]] = {}
        for s in self.step.changed:
            for spot, k in self.step.arrivals[s].items():
                found.setdefault(spot.node, []).append((s, spot, k))
        return found


class _Room:
    """What a victim left, and how far from it jobs have taken what."""

    def __init__(
        self,
        step: Step,
        victim: Job,
        unit: Pods,
        rules: list[Rule],
        arrivals: dict[int, list[tuple[int, Spot, int]]],
    ) -> None:
        self.step, self.unit = step, unit
        self._arrivals = arrivals
        self._taken: dict[int, tuple[int, Counter[tuple[int, Spot]]]] = {}
        """By job: the distance, and its pods that are so near."""
        if not rules or not {Rule.CAPACITY, Rule.DEVICES}.isdisjoint(rules):
            self._along_moves()
        if Rule.ANTI_AFFINITY in rules:
            self._repelled()
        if Rule.QUOTA in rules:
            self._of_quota(victim)

    def distance(self, job: Job) -> int:
        """How many moves lie between the victim and the job, and how close they meet there."""
        return self._taken[job.index][0] if job.index in self._taken else _FAR

    def pods_of(self, job: Job) -> list[tuple[int, Spot]]:
        """Pods of a job that are in the room."""
        return sorted(self._taken[job.index][1].elements()) if job.index in self._taken else []

    def _note(self, s: int, spot: Spot, pods: int, distance: int) -> None:
        j = self.step.instance.podsets[s].job
        nearest, taken = self._taken.get(j, (distance, Counter()))
        taken[s, spot] = pods
        self._taken[j] = (min(nearest, distance), taken)

    def _along_moves(self) -> None:
        """Go from the victim's nodes to what arrived there, and on to where that came from."""
        spots = {spot for _, spot in self.unit}
        seen: set[int] = set()
        hop = 0
        while spots and hop < _FAR:
            nodes = {spot.node for spot in spots}
            devices = {(spot.node, d) for spot in spots for d in spot.devices}
            onward: set[Spot] = set()
            for n in sorted(nodes):
                for s, spot, k in self._arrivals.get(n, ()):
                    if not self.step.instance.podsets[s].running:
                        same = not devices or any((n, d) in devices for d in spot.devices)
                        if s not in seen:
                            self._note(s, spot, k, hop + (0 if same else 1))
                    elif s not in seen:
                        onward.update(self.step.departures[s])
                        seen.add(s)
            seen |= {s for _, taken in self._taken.values() for s, _ in taken}
            spots, hop = onward - spots, hop + 2

    def _repelled(self) -> None:
        instance = self.step.instance
        back = {s for s, _ in self.unit}
        for term in instance.anti_affinities:
            mates = {term.owner, *term.others}
            if back.isdisjoint(mates):
                continue
            domains = {
                instance.label_domain(spot.node, term.key) for s, spot in self.unit if s in mates
            }
            for s, spot, k in self._bound():
                if s in mates and instance.label_domain(spot.node, term.key) in domains:
                    self._note(s, spot, k, 2)

    def _of_quota(self, victim: Job) -> None:
        instance = self.step.instance
        queues = {victim.queue}
        for _, members in cohorts(instance).items():
            indices = {queue.index for queue, _ in members}
            queues |= indices if victim.queue in indices else set()
        for s, spot, k in self._bound():
            if instance.job_of(s).queue in queues:
                self._note(s, spot, k, 3)

    def _bound(self) -> Iterator[tuple[int, Spot, int]]:
        """Pending pods that are bound."""
        for arrived in self._arrivals.values():
            for s, spot, k in arrived:
                if not self.step.instance.podsets[s].running:
                    yield s, spot, k
