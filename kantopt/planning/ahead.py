"""Who of the jobs that a plan places takes what another one, which it leaves pending, lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.problem.derived.focus import pending_podsets, wanted_pods
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement
from kantopt.search.state import State

_Guest = tuple[PodSet, int]
"""A pod set of another job, and its pods on a node that came with the plan."""


def in_the_way(instance: Instance, j: int, others: Sequence[Job], final: Placement) -> list[Job]:
    """Return those of some jobs that take what a job lacks, in the order given.

    It may be room on a node that would hold more of its pods without them, devices of a class that
    it asks for, quota, or places near which its pods may not be. Empty where what it lacks is
    nothing of these, such as room in one domain.
    """
    state = State(instance, final)
    guests: dict[int, list[_Guest]] = {}
    for other in others:
        for podset in pending_podsets(instance, other.index):
            for spot, pods in final.podsets[podset.index].items():
                guests.setdefault(spot.node, []).append((podset, pods))
    found: set[int] = set()
    for podset in pending_podsets(instance, j):
        for n in podset.allowed & guests.keys():
            found.update(_taking(state, podset, n, guests[n]))
        near = _minded(instance, podset.index)
        found.update(t.job for here in guests.values() for t, _ in here if t.index in near)
    found.update(_charged(state, j, others, final))
    return [other for other in others if other.index in found]


def _taking(state: State, podset: PodSet, n: int, guests: Sequence[_Guest]) -> Iterator[int]:
    """Yield the jobs on a node that take what it lacks for all the pods that it could hold."""
    asks = state.shape[podset.index].asks
    free = {r: max(0, int(state.free[r, n])) // amount for r, amount in asks}
    without = {
        r: (int(state.free[r, n]) + sum(k * t.requests[r] for t, k in guests)) // amount
        for r, amount in asks
    }
    room = min(podset.count, *without.values())
    classes = {need.device_class for need in podset.devices}
    for guest, _ in guests:
        if any(guest.requests[r] and free[r] < room for r, _ in asks) or any(
            need.device_class in classes for need in guest.devices
        ):
            yield guest.job


def _minded(instance: Instance, s: int) -> set[int]:
    """Return the pod sets whose places close places to a pod set, by R8 or R9."""
    found: set[int] = set()
    for term in instance.anti_affinities:
        if term.owner == s:
            found.update(term.others)
        elif s in term.others:
            found.add(term.owner)
    for spread in instance.spreads:
        if spread.owner == s:
            found.update(spread.counted)
    return found


def _charged(state: State, j: int, others: Sequence[Job], final: Placement) -> Iterator[int]:
    """Yield the jobs of a queue, or of its cohort, that use quota which a job lacks."""
    instance, queue = state.instance, state.instance.jobs[j].queue
    if queue is None:
        return
    demand = [0] * len(instance.resources)
    for s, pods in wanted_pods(instance, j).items():
        for r, amount in enumerate(instance.podsets[s].demand):
            demand[r] += pods * amount
    lacking = [
        r
        for r, amount in enumerate(demand)
        if amount
        and not state.quotas.allows(queue, [amount * (r == k) for k in range(len(demand))])
    ]
    rivals = instance.rivals(queue)
    for other in others:
        if other.queue not in rivals:
            continue
        podsets = pending_podsets(instance, other.index)
        if any(
            podset.demand[r] and final.placed(podset.index) for podset in podsets for r in lacking
        ):
            yield other.index
