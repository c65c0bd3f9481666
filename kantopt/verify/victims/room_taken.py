"""Who took the room of a victim: directly, by way of moves, or by a rule that keeps it away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from kantopt.problem.cluster import Spot
from kantopt.problem.job import Job
from kantopt.schema.model import Rule
from kantopt.verify.rules.priority import Pods
from kantopt.verify.rules.quota import cohorts
from kantopt.verify.step import Step

FAR = 1_000
"""Distance of a job that took none of the room."""


class RoomTaken:
    """What a victim left, and how far from it jobs have taken what."""

    def __init__(
        self,
        step: Step,
        victim: Job,
        unit: Pods,
        rules: list[Rule],
    ) -> None:
        self.step, self.unit = step, unit
        self._taken: dict[int, tuple[int, Counter[tuple[int, Spot]]]] = {}
        """By job: the distance, and its pods that are so near."""
        if not rules or not {Rule.CAPACITY, Rule.DEVICES}.isdisjoint(rules):
            self._along_moves()
        if Rule.ANTI_AFFINITY in rules:
            self._repelled()
        if Rule.SPREAD in rules:
            self._pressed()
        if Rule.QUOTA in rules:
            self._of_quota(victim)

    def distance(self, job: Job) -> int:
        """How many moves lie between the victim and the job, and how close they meet there."""
        return self._taken[job.index][0] if job.index in self._taken else FAR

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
        while spots and hop < FAR:
            nodes = {spot.node for spot in spots}
            devices = {(spot.node, d) for spot in spots for d in spot.devices}
            onward: set[Spot] = set()
            for n in sorted(nodes):
                for s, spot, k in self.step.arrived_on.get(n, ()):
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
        # By node label and its value, who minds the unit there, or whom it minds.
        near: dict[tuple[str, str | None], set[int]] = {}
        for s, spot in self.unit:
            for t in instance.terms_of.get(s, ()):
                term = instance.anti_affinities[t]
                at = term.key, instance.label_domain(spot.node, term.key)
                near.setdefault(at, set()).update((term.owner, *term.others))
        for (key, domain), mates in near.items():
            for s, spot, k in self._bound():
                if s in mates and instance.label_domain(spot.node, key) == domain:
                    self._note(s, spot, k, 2)

    def _pressed(self) -> None:
        """Note pods that spread binds and that share a domain with what it counts of the unit."""
        instance = self.step.instance
        for spread in self.step.spreading:
            near = {
                instance.label_domain(spot.node, spread.key)
                for s, spot in self.unit
                if s in spread.counted and spot.node in spread.over
            }
            for s, spot, k in self._bound() if near else ():
                if s == spread.owner and instance.label_domain(spot.node, spread.key) in near:
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
        for arrived in self.step.arrived_on.values():
            for s, spot, k in arrived:
                if not self.step.instance.podsets[s].running:
                    yield s, spot, k
