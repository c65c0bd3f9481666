"""What leaves nodes: what a pod that goes costs a tier, and the least that makes some room.

A pod that leaves its node is evicted or moves, and costs a tier at least the cheaper of what the
rules and the tiers above let it do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.bounds.departures import evictable, may_move
from kantopt.verify.bounds.in_part import least_in_part
from kantopt.verify.disturbance import adds_up, disturbance


class Leaving(NamedTuple):
    """Pods that may leave a node: what it costs for each, what each holds, and their number."""

    cost: int
    holds: Amounts
    pods: int


@kept_with_instance(most=16)
def ways_to_leave(
    instance: Instance, limits: tuple[tuple[Tier, int], ...]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return pod sets of which pods may be evicted, and moved, at the values of tiers above."""
    by_priority: dict[int | None, list[tuple[Tier, int]]] = {}
    for tier, value in limits:
        by_priority.setdefault(tier.priority, []).append((tier, value))

    def within(s: int, way: int) -> bool:
        podset, job = instance.podsets[s], instance.job_of(s)
        asked = (*by_priority.get(None, ()), *by_priority.get(job.priority, ()))
        return all(disturbance(tier, job, podset)[way] <= value for tier, value in asked)

    moving = (podset.index for podset in instance.podsets if may_move(instance, podset))
    return (
        frozenset(s for s in evictable(instance) if within(s, 0)),
        frozenset(s for s in moving if within(s, 1)),
    )


def costs_of_leaving(
    tier: Tier, instance: Instance, evicted: frozenset[int], moved: frozenset[int]
) -> dict[int, int]:
    """Return what a pod that leaves its node costs a tier at least, of pod sets that may."""
    found = {}
    for s in evicted | moved:
        job = instance.job_of(s)
        ways = zip(disturbance(tier, job, instance.podsets[s]), (evicted, moved), strict=True)
        found[s] = min(cost for cost, able in ways if s in able) if tier.concerns(job) else 0
    return found


def _whole(tier: Tier, instance: Instance, costs: Mapping[int, int], j: int) -> int | None:
    """Return what a job costs as soon as one pod leaves that costs anything; ``None``: by pods."""
    job = instance.jobs[j]
    if tier.metric is Metric.EVICTIONS and not tier.counts_pods:
        return None if adds_up(tier, job) else job.disruption_cost
    if j not in instance.together:
        return None
    return sum(costs.get(s, 0) * instance.podsets[s].count for s in instance.running_of(j))


@kept_with_instance(most=1)
def _standing(instance: Instance) -> list[Counter[int]]:
    """Return the pods on each node by pod set."""
    found = [Counter[int]() for _ in instance.nodes]
    for podset in instance.podsets:
        for spot, pods in podset.current.items():
            found[spot.node][podset.index] += pods
    return found


def leaving(
    tier: Tier,
    instance: Instance,
    costs: Mapping[int, int],
    nodes: Iterable[int],
    *,
    shared: bool,
    but: AbstractSet[int] = frozenset(),
) -> dict[int, list[Leaving]]:
    """Return what may leave each of some nodes, ``but`` for some pod sets.

    A job that goes as a whole costs what it does on each node, or has that ``shared`` among these
    nodes by its pods there.
    """
    standing = _standing(instance)
    members = Counter[int]()
    found: dict[int, list[Leaving]] = {n: [] for n in nodes}
    for n in found:
        for s, there in standing[n].items():
            if costs.get(s):
                members[instance.podsets[s].job] += there
    wholes = {j: _whole(tier, instance, costs, j) for j in members}
    for n, apart in found.items():
        together: dict[int, list[Leaving]] = {}
        for s, there in standing[n].items():
            if s in costs and s not in but:
                podset = instance.podsets[s]
                each = Leaving(costs[s], podset.requests, there)
                whole = costs[s] and wholes[podset.job] is not None
                (together.setdefault(podset.job, []) if whole else apart).append(each)
        for j, parts in together.items():
            held = zip(*([amount * p.pods for amount in p.holds] for p in parts), strict=True)
            cost = wholes[j] or 0
            if shared:
                cost = cost * sum(p.pods for p in parts) // members[j]
            apart.append(Leaving(cost, tuple(map(sum, held)), 1))
    return found


def least_to_free(missing: Mapping[int, int], pods: Sequence[Leaving]) -> int | None:
    """Return the least that pods cost which hold what is missing; ``None``: they do not hold it.

    First go those of whom not all may stay, then of each resource the cheapest.
    """
    stay = {r: sum(each.holds[r] * each.pods for each in pods) - k for r, k in missing.items()}
    if any(most < 0 for most in stay.values()):
        return None
    left, forced, others = dict(missing), 0, []
    for each in pods:
        staying = min([each.pods, *(stay[r] // each.holds[r] for r in stay if each.holds[r])])
        gone = each.pods - staying
        forced += each.cost * gone
        others.append(each._replace(pods=staying))
        for r in left:
            left[r] -= each.holds[r] * gone
    return forced + max((cover(k, r, others) for r, k in left.items() if k > 0), default=0)


def cover(missing: int, r: int, pods: Sequence[Leaving]) -> int:
    """Return the least that pods cost which hold so much of a resource, the last in part."""
    return least_in_part(((p.cost, min(p.holds[r], missing), p.pods) for p in pods), missing)
