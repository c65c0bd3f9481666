"""Victims that a plan could have spared: those in their room have a place elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.verify.rules.priority import Pods, victim_units
from kantopt.verify.step import Step
from kantopt.verify.victims.elsewhere import Elsewhere

MOST_IN_ROOM = 12
"""Pods that arrived on a victim's nodes: of more no other places are looked for."""

MOST_LOOKS = 3_000
"""How often other places are looked for, for all victims together."""
MOST_WORK = 2_000_000
"""The same times the pod sets of the question, each of which a look goes through."""


@dataclass(frozen=True, slots=True)
class Spared:
    """A victim, and a placement in which it stays and all else has a place."""

    job: Job
    placement: Placement
    elsewhere: tuple[str, ...]
    """Which jobs would be elsewhere, and where."""

    def __str__(self) -> str:
        return f"could have been spared: {', '.join(self.elsewhere)}"


def could_be_spared(step: Step, over: Callable[[], bool] = lambda: False) -> Iterator[Spared]:
    """Yield victims that could stay if arrived pods in their room went to places that are free.

    Each by itself, and found by a look at a few places: that none is yielded proves nothing. Ends
    when ``over`` says so.
    """
    if not step.instance.strict:
        return
    free = Elsewhere(step)
    looks, most = 0, min(MOST_LOOKS, MOST_WORK // max(1, len(step.instance.podsets)))
    for job in step.changed_jobs:
        if not any(step.evicted(s) for s in job.podsets):
            continue
        for unit in victim_units(step, job):
            groups = _groups(step, _in_room(step, unit))
            for pods in dict.fromkeys(map(tuple, map(sorted, groups))):
                if over() or looks >= most:
                    return
                looks += 1
                placement = free.place(pods, unit)
                if placement is not None:
                    yield Spared(job, placement, _places(step, placement))
                    break


def _in_room(step: Step, unit: Pods) -> list[tuple[int, Spot]]:
    """Pods that arrived where the victim was, or where a term of anti-affinity keeps it away."""
    instance = step.instance
    nodes = {spot.node for _, spot in unit}
    back = {s for s, _ in unit}
    domains = {
        (term.key, instance.label_domain(spot.node, term.key))
        for term in instance.anti_affinities
        for s, spot in unit
        if not back.isdisjoint((term.owner, *term.others))
    }
    pods: Counter[tuple[int, Spot]] = Counter()
    for s in step.changed:
        for spot, k in step.arrivals[s].items():
            if spot.node in nodes or any(
                domain is not None and instance.label_domain(spot.node, key) == domain
                for key, domain in domains
            ):
                pods[s, spot] += k
    return sorted(pods.elements())


def _groups(step: Step, pods: list[tuple[int, Spot]]) -> Iterator[list[tuple[int, Spot]]]:
    """Which of the pods in the room to place elsewhere: one, those of one job, ever more, all."""
    if len(pods) > MOST_IN_ROOM:
        return
    yield from ([pod] for pod in dict.fromkeys(pods))
    podsets = step.instance.podsets
    for j in sorted({podsets[s].job for s, _ in pods}):
        yield [(s, spot) for s, spot in pods if podsets[s].job == j]
    by_size = sorted(pods, key=lambda pod: (sum(podsets[pod[0]].demand), pod))
    for order in (by_size, by_size[::-1]):
        yield from (order[:k] for k in range(2, len(order) + 1))


def _places(step: Step, placement: Placement) -> tuple[str, ...]:
    """Say who is elsewhere than after the step, victims apart: on free nodes, or where it was."""
    instance = step.instance
    found = set()
    for s, after in enumerate(step.after.podsets):
        for spot, k in placement.podsets[s].items() if placement.podsets[s] is not after else ():
            stays = step.before.podsets[s].get(spot, 0) > after.get(spot, 0)
            if k > after.get(spot, 0) and not (stays and step.evicted(s)):
                says = "can stay" if stays else "has a place"
                found.add(
                    f"{instance.job_of(s).name} {says} on node {instance.nodes[spot.node].name}"
                )
    return tuple(sorted(found))


def with_victims_spared(
    instance: Instance, placement: Placement, over: Callable[[], bool]
) -> Iterator[Placement]:
    """Yield placements with ever fewer victims, as long as one more could be spared."""
    while True:
        step = Step(instance, instance.current, placement)
        found = next(could_be_spared(step, over), None)
        if found is None:
            return
        placement = found.placement
        yield placement
