"""What must leave nodes for pods of required jobs, node by node: a knapsack cover in part.

Enough may be free of all nodes together, and on no node enough for one pod. Where ``k`` pods
arrive that ask for ``d`` of a resource of which a node has ``f`` free, rule R1 has pods leave it
that hold ``k d - f`` at least. Each pod that leaves a node is evicted or moves, and costs a tier at
least the cheaper of what the rules and the tiers above let it do. So the node costs ``c(k)``, the
largest over the resources ``r`` of

    min sum of cost_i x_i  with  sum of min(a_ir, k d_r - f_r) x_i >= k d_r - f_r,  0 <= x_i <= 1,

``a_ir`` being what pod ``i`` holds: nothing gives more than is missing (Carr, Fleischer, Leung and
Phillips 2000). Before that go, and are paid for, pods without which the others do not hold it. A
job that goes as a whole pays once and gives all that it has on the node.

Of the nodes of a domain ``sum of c_n(k_n)`` is at least the sum of the greatest convex functions
below, of which the cheapest steps are taken for as many pods as must arrive; jobs that go as a
whole share what they cost among its nodes by their pods there. Nor is it below the dearest step of
the pods that come cheapest, each job at its full cost: some node takes that step. The best domain
of the level that is required counts, or all nodes. Of several required jobs the dearest counts, for
what leaves may leave for all; those of one shape that are bound to no domain are put together.

What devices have free, and where pods go that move, is left out: plans pay no less for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.kept import PER_TIER, kept_with_instance
from kantopt.problem.node_room import alike_nodes, room_by_kind
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.departures import evictable, may_move
from kantopt.verify.bounds.room import required_level
from kantopt.verify.step import standing_loads

_MOST_STEPS = 8
"""Most pods beyond those that a node has room for of which the cost is worked out one by one."""
_MOST_PRIORITIES = 16
"""Most priorities each of which is looked at by itself: it takes a look at all that runs."""
_LIMITING = (Metric.EVICTIONS, Metric.MOVES, Metric.DISRUPTION_COST)

_Points = list[tuple[int, int]]
"""Pods that arrive on a node, and what that costs at least; the first for nothing."""


class _Arrivals(NamedTuple):
    """Pods of a shape that arrive in any plan, in one domain of a level if there is one."""

    requests: Amounts
    devices: tuple[DeviceNeed, ...]
    allowed: frozenset[int] | None
    level: int | None


class _Leaving(NamedTuple):
    """Pods that may leave a node: what it costs for each, what each holds, and their number."""

    cost: int
    holds: Amounts
    pods: int


def least_to_clear(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return what a tier comes to at least, so that required jobs fit on nodes."""
    if tier.priority is not None and len(instance.priorities) > _MOST_PRIORITIES:
        return 0
    if not _arriving(instance):
        return 0
    limits = tuple((other, value) for other, value in above.items() if other.metric in _LIMITING)
    return _least(tier, instance, limits)


@kept_with_instance(most=1)
def _arriving(instance: Instance) -> dict[_Arrivals, int]:
    """Pods of required jobs that must arrive and for which no domain has room as it is."""
    found = Counter[_Arrivals]()
    counts = instance.on(Rule.REQUIRED) and instance.on(Rule.CAPACITY)
    for j in instance.required if counts else ():
        job = instance.jobs[j]
        for i, role in enumerate(job.roles):
            if role.pending is None:
                continue
            running = 0 if role.running is None else instance.podsets[role.running].count
            podset, pods = instance.podsets[role.pending], job.needed(role) - running
            allowed = podset.allowed if instance.on(Rule.ELIGIBILITY) else None
            level = required_level(instance, j, i)
            each = _Arrivals(podset.requests, podset.devices, allowed, level)
            found[each] = found[each] + pods if level is None else max(found[each], pods)
    return {each: pods for each, pods in found.items() if pods > 0 and _lacks(instance, each, pods)}


def _lacks(instance: Instance, arrivals: _Arrivals, pods: int) -> bool:
    """Whether no domain has room for pods as long as nobody leaves."""
    return all(
        sum(_free(instance, arrivals, n, pods) for n in region) < pods
        for region in _regions(instance, arrivals)
    )


def _regions(instance: Instance, arrivals: _Arrivals) -> Iterator[list[int]]:
    """Return nodes on which pods may arrive together."""
    domains: Iterable[Iterable[int]] = [range(len(instance.nodes))]
    if arrivals.level is not None:
        domains = (domain.nodes for domain in instance.topology.domains[arrivals.level])
    for region in domains:
        yield [n for n in region if arrivals.allowed is None or n in arrivals.allowed]


def _spare(instance: Instance, arrivals: _Arrivals, n: int) -> list[tuple[int, int, int]]:
    """Return resources that pods ask for, with how much, and what a node has free of them."""
    capacity, taken = instance.nodes[n].capacity, standing_loads(instance).node[n]
    return [
        (r, amount, limit - taken[r])
        for r, (amount, limit) in enumerate(zip(arrivals.requests, capacity, strict=True))
        if amount and limit is not None
    ]


def _room(instance: Instance, arrivals: _Arrivals, n: int, most: int) -> int:
    """Return how many of the pods an empty node holds, but no more than ``most``."""
    needs = arrivals.devices if instance.on(Rule.DEVICES) else ()
    rooms = room_by_kind(instance, arrivals.requests, needs, most, capacity=True)
    return rooms[alike_nodes(instance)[n]]


def _free(instance: Instance, arrivals: _Arrivals, n: int, most: int) -> int:
    """Return how many of the pods a node holds as long as nobody leaves it, its devices aside."""
    rooms = [spare // amount for _, amount, spare in _spare(instance, arrivals, n)]
    return max(0, min([_room(instance, arrivals, n, most), *rooms]))


@kept_with_instance(most=PER_TIER)
def _least(tier: Tier, instance: Instance, limits: tuple[tuple[Tier, int], ...]) -> int:
    """Return the cost of the dearest of the arrivals, at the values of tiers above."""
    costs = _costs(tier, instance, *_ways(instance, limits))
    if not any(costs.values()):
        return 0
    return max(
        _cheapest(_of_region(tier, instance, costs, arrivals, pods, region) for region in regions)
        for arrivals, pods in _arriving(instance).items()
        for regions in [_regions(instance, arrivals)]
    )


def _cheapest(regions: Iterable[int | None]) -> int:
    """Return the least that any region costs; 0 where none will do, of which others speak."""
    least: int | None = None
    for cost in regions:
        if cost is not None and (least is None or cost < least):
            least = cost
            if not least:
                break
    return least or 0


@kept_with_instance(most=16)
def _ways(
    instance: Instance, limits: tuple[tuple[Tier, int], ...]
) -> tuple[frozenset[int], frozenset[int]]:
    """Return pod sets of which pods may be evicted, and moved, at the values of tiers above."""
    by_priority: dict[int | None, list[tuple[Tier, int]]] = {}
    for tier, value in limits:
        by_priority.setdefault(tier.priority, []).append((tier, value))

    def within(s: int, metric: Metric) -> bool:
        podset, job = instance.podsets[s], instance.job_of(s)
        for tier, value in (*by_priority.get(None, ()), *by_priority.get(job.priority, ())):
            cost = 0
            if tier.metric is Metric.DISRUPTION_COST:
                cost = 2 if metric is Metric.EVICTIONS else 1
            elif tier.metric is metric:
                cost = 1
                if metric is Metric.EVICTIONS and not tier.counts_pods:
                    cost = job.disruption_cost if job.all_victims else podset.disruption_cost
            if cost > value:
                return False
        return True

    moving = (podset.index for podset in instance.podsets if may_move(instance, podset))
    return (
        frozenset(s for s in evictable(instance) if within(s, Metric.EVICTIONS)),
        frozenset(s for s in moving if within(s, Metric.MOVES)),
    )


def _costs(
    tier: Tier, instance: Instance, evicted: frozenset[int], moved: frozenset[int]
) -> dict[int, int]:
    """Return what a pod that leaves its node costs a tier at least, of pod sets that may."""
    found = {}
    for s in evicted | moved:
        podset, job = instance.podsets[s], instance.job_of(s)
        if not tier.concerns(job):
            cost = 0
        elif tier.metric is Metric.LOST_GPU_SECONDS:
            cost = 0 if s in moved and job.move_mode == "live" else podset.lost_gpu_seconds
        elif tier.metric is Metric.EVICTIONS:
            cost = 1 if tier.counts_pods else podset.disruption_cost
            if job.all_victims and not tier.counts_pods:
                cost = job.disruption_cost
            cost *= s not in moved
        elif tier.metric is Metric.DISRUPTION_COST:
            cost = 1 if s in moved else 2
        else:
            cost = podset.migration_mib if tier.metric is Metric.MIGRATION_COST else 1
            cost *= s not in evicted
        found[s] = cost
    return found


def _whole(tier: Tier, instance: Instance, costs: Mapping[int, int], j: int) -> int | None:
    """Return what a job costs as soon as one pod leaves that costs anything; ``None``: by pods."""
    job = instance.jobs[j]
    if tier.metric is Metric.EVICTIONS and not tier.counts_pods:
        return job.disruption_cost if job.all_victims else None
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


def _of_region(
    tier: Tier,
    instance: Instance,
    costs: Mapping[int, int],
    arrivals: _Arrivals,
    pods: int,
    region: Sequence[int],
) -> int | None:
    """Return what so many pods that arrive in a region cost at least; ``None``: they cannot."""
    standing = _standing(instance)
    wholes: dict[int, int | None] = {}
    members = Counter[int]()
    for n in region:
        for s, there in standing[n].items():
            if costs.get(s):
                j = instance.podsets[s].job
                if j not in wholes:
                    wholes[j] = _whole(tier, instance, costs, j)
                members[j] += there

    def points(n: int, *, shared: bool) -> _Points:
        apart: list[_Leaving] = []
        whole: dict[int, list[_Leaving]] = {}
        for s, there in standing[n].items():
            if s in costs:
                podset = instance.podsets[s]
                each = _Leaving(costs[s], podset.requests, there)
                if costs[s] and wholes[podset.job] is not None:
                    whole.setdefault(podset.job, []).append(each)
                else:
                    apart.append(each)
        for j, parts in whole.items():
            held = zip(*([amount * p.pods for amount in p.holds] for p in parts), strict=True)
            cost = wholes[j] or 0
            if shared:
                cost = cost * sum(p.pods for p in parts) // members[j]
            apart.append(_Leaving(cost, tuple(map(sum, held)), 1))
        return _points(instance, arrivals, n, pods, apart)

    full = [points(n, shared=False) for n in region]
    dearest = _dearest_step(full, pods)
    if dearest is None:
        return None
    divided = any(whole is not None for whole in wholes.values())
    parts = [points(n, shared=True) for n in region] if divided else full
    return max(dearest, _cheapest_steps(parts, pods))


def _points(
    instance: Instance, arrivals: _Arrivals, n: int, most: int, leaving: Sequence[_Leaving]
) -> _Points:
    """Return what it costs at least that pods arrive on a node, from those on that it has room for.

    Beyond a number of pods all that the node could hold cost no more than these.
    """
    room, free = _room(instance, arrivals, n, most), _free(instance, arrivals, n, most)
    found = [(free, 0)]
    spare = _spare(instance, arrivals, n)
    for k in range(free + 1, min(room, free + _MOST_STEPS) + 1):
        cost = _clear({r: k * amount - left for r, amount, left in spare}, leaving)
        if cost is None:
            return found
        found.append((k, max(cost, found[-1][1])))
    if found[-1][0] < room:
        found.append((room, found[-1][1]))
    return found


def _clear(missing: Mapping[int, int], leaving: Sequence[_Leaving]) -> int | None:
    """Return the least that pods cost which hold what is missing; ``None``: they do not hold it.

    First go those of whom not all may stay, then of each resource the cheapest.
    """
    stay = {r: sum(each.holds[r] * each.pods for each in leaving) - k for r, k in missing.items()}
    if any(most < 0 for most in stay.values()):
        return None
    left, forced, others = dict(missing), 0, []
    for each in leaving:
        staying = min([each.pods, *(stay[r] // each.holds[r] for r in stay if each.holds[r])])
        gone = each.pods - staying
        forced += each.cost * gone
        others.append(each._replace(pods=staying))
        for r in left:
            left[r] -= each.holds[r] * gone
    return forced + max((_cover(k, r, others) for r, k in left.items() if k > 0), default=0)


def _cover(missing: int, r: int, leaving: Sequence[_Leaving]) -> int:
    """Return the least that pods cost which hold so much of a resource, the last in part.

    At any price ``p`` that is ``p missing - sum of max(0, p a_i - cost_i)`` at least, and at that
    of the last pod as much. Rounded up: costs are whole numbers.
    """
    giving = [(each.cost, min(each.holds[r], missing), each.pods) for each in leaving]
    giving = sorted((g for g in giving if g[1]), key=lambda g: g[0] / g[1])
    left = missing
    for price, per, pods in giving:
        left -= per * pods
        if left <= 0:
            won = sum(k * max(0, price * a - cost * per) for cost, a, k in giving)
            return max(0, -((won - price * missing) // per))
    return 0


def _dearest_step(nodes: Iterable[_Points], pods: int) -> int | None:
    """Return the cost of the dearest of the cheapest steps for so many pods; ``None``: too few."""
    steps = [
        (cost, k - before)
        for points in nodes
        for (before, _), (k, cost) in zip([(0, 0), *points], points, strict=False)
    ]
    for cost, more in sorted(steps):
        pods -= more
        if pods <= 0:
            return cost
    return None


def _cheapest_steps(nodes: Iterable[_Points], pods: int) -> int:
    """Return the least sum of convex functions below those of nodes, for so many pods together."""
    slopes: list[tuple[Fraction, int]] = []
    for points in nodes:
        at, cost = points[0]
        pods -= at
        while at < points[-1][0]:
            slope, to, then = min((Fraction(c - cost, k - at), -k, c) for k, c in points if k > at)
            slopes.append((slope, -to - at))
            at, cost = -to, then
    found = Fraction(0)
    for slope, more in sorted(slopes):
        taken = max(0, min(more, pods))
        found += slope * taken
        pods -= taken
    return ceil(found)
