"""What must leave nodes for pods of required jobs, node by node: a knapsack cover in part.

So for those of goals to place jobs, in plans that reach these. Nodes to be emptied are as if a pod
of all that a node offers arrived on each, and so are those of a domain that has to be emptied.

Enough may be free of all nodes together, and on no node enough for one pod. Where ``k`` pods
arrive that ask for ``d`` of a resource of which a node has ``f`` free, rule R1 has pods leave it
that hold ``k d - f`` at least. So the node costs ``c(k)``, the largest over the resources ``r`` of

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

Pods that no plan evicts and that hold as many GPUs as each arrival take another place as if they
arrived there, but for daemons and those that end by themselves: of both together as many more are
on all nodes as arrive, and where there are more, others leave. If ``e`` of ``m`` leave the domain,
others leave for ``m - e`` more within it and for ``e`` more elsewhere, at costs as above, and ``e``
pods move: the least over ``e`` counts.

What devices have free, and where others go that move, is left out: plans pay no less for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from math import ceil
from typing import NamedTuple

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.kept import PER_TIER, kept_with_instance
from kantopt.problem.node_room import alike_nodes, room_by_kind
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.bounds.leaving import (
    Leaving,
    costs_of_leaving,
    cover,
    least_to_free,
    leaving,
    ways_to_leave,
)
from kantopt.verify.bounds.room import required_level
from kantopt.verify.disturbance import DISRUPTION
from kantopt.verify.in_use import groups_of, members_in_use
from kantopt.verify.step import standing_loads

_MOST_STEPS = 8
"""Most pods beyond those that a node has room for of which the cost is worked out one by one."""
_MOST_SWAPS = 64
"""Most arrivals of which swaps are counted."""
_MOST_PRIORITIES = 16
"""Most priorities each of which is looked at by itself: it takes a look at all that runs."""

_Points = list[tuple[int, int]]
"""Pods that arrive on a node, and what that costs at least; the first for nothing."""


class _Arrivals(NamedTuple):
    """Pods of a shape that arrive in any plan, in one domain of a level if there is one."""

    requests: Amounts
    devices: tuple[DeviceNeed, ...]
    allowed: frozenset[int] | None
    level: int | None


def least_to_clear(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return what a tier comes to at least, so that required jobs fit on nodes."""
    if tier.priority is not None and len(instance.priorities) > _MOST_PRIORITIES:
        return 0
    arriving = [*_arriving(instance, _forced(instance, above)).items(), *_emptied(instance, above)]
    if not arriving:
        return 0
    limits = tuple((other, value) for other, value in above.items() if other.metric in DISRUPTION)
    return _least(tier, instance, limits, tuple(arriving))


def _forced(instance: Instance, above: Mapping[Tier, int]) -> frozenset[int]:
    """Return the jobs that must be placed: required ones, and those of goals that are reached."""
    reached = [
        tier
        for tier, value in above.items()
        if tier.metric is Metric.UNPLACED and tier.unit == "jobs"
        if tier.of_waiting and not value
    ]
    forced = {job.index for job in instance.jobs if any(tier.concerns(job) for tier in reached)}
    return instance.required.union(forced) if instance.on(Rule.REQUIRED) else frozenset(forced)


def _emptied(instance: Instance, above: Mapping[Tier, int]) -> Iterator[tuple[_Arrivals, int]]:
    """Yield what arrives as if: on nodes that are emptied at the values of tiers above."""
    for tier, value in above.items() if instance.on(Rule.CAPACITY) else ():
        if tier.metric is Metric.UNDRAINED and instance.drained and not value:
            yield _whole(instance, instance.drained), len(instance.drained)
        if tier.metric in (Metric.NODES_IN_USE, Metric.DOMAINS_IN_USE):
            podsets = (podset for podset in instance.podsets if not podset.daemon)
            used = {spot.node for podset in podsets for spot in podset.current}
            groups = members_in_use(groups_of(instance, tier), used)
            more, nodes = len(groups) - value, frozenset(chain(*groups.values()))
            if more > 0:
                pods = more if tier.level is None else min(map(len, groups.values()))
                yield _whole(instance, nodes, tier.level), pods


@kept_with_instance(most=16)
def _whole(instance: Instance, nodes: frozenset[int], level: int | None = None) -> _Arrivals:
    """Return pods of what each of some nodes offers beside daemons and what ends by itself."""
    offers = {n: [limit or 0 for limit in instance.nodes[n].capacity] for n in nodes}
    for podset in instance.podsets:
        for spot, pods in podset.current.items() if podset.daemon or podset.leaving else ():
            if spot.node in offers:
                rows = zip(offers[spot.node], podset.requests, strict=True)
                offers[spot.node] = [offer - pods * amount for offer, amount in rows]
    least = (max(0, min(column)) for column in zip(*offers.values(), strict=True))
    return _Arrivals(tuple(least), (), nodes, level)


@kept_with_instance(most=8)
def _arriving(instance: Instance, jobs: frozenset[int]) -> dict[_Arrivals, int]:
    """Pods of jobs that must arrive and for which no domain has room as it is."""
    found = Counter[_Arrivals]()
    for j in jobs if instance.on(Rule.CAPACITY) else ():
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
def _least(
    tier: Tier,
    instance: Instance,
    limits: tuple[tuple[Tier, int], ...],
    arriving: tuple[tuple[_Arrivals, int], ...],
) -> int:
    """Return the cost of the dearest of the arrivals, at the values of tiers above."""
    evicted, moved = ways_to_leave(instance, limits)
    costs = costs_of_leaving(tier, instance, evicted, moved)
    if not any(costs.values()):
        return 0

    def of_regions(arrivals: _Arrivals, pods: int) -> Iterator[int | None]:
        swapped = _swapped(tier, instance, costs, evicted, arrivals, pods)
        for region in _regions(instance, arrivals):
            cost = _of_region(tier, instance, costs, arrivals, pods, region)
            if cost is not None:
                for swaps in swapped:
                    cost = max(cost, swaps.least(frozenset(region)))
            yield cost

    return max(_cheapest(of_regions(*each)) for each in arriving)


def _cheapest(regions: Iterable[int | None]) -> int:
    """Return the least that any region costs; 0 where none will do, of which others speak."""
    least: int | None = None
    for cost in regions:
        if cost is not None and (least is None or cost < least):
            least = cost
            if not least:
                break
    return least or 0


def _of_region(
    tier: Tier,
    instance: Instance,
    costs: Mapping[int, int],
    arrivals: _Arrivals,
    pods: int,
    region: Sequence[int],
) -> int | None:
    """Return what so many pods that arrive in a region cost at least; ``None``: they cannot."""

    def points(there: Mapping[int, Sequence[Leaving]]) -> list[_Points]:
        return [
            _points(_spare(instance, arrivals, n), _room(instance, arrivals, n, pods), each)
            for n, each in there.items()
        ]

    alone = leaving(tier, instance, costs, region, shared=False)
    shared = leaving(tier, instance, costs, region, shared=True)
    full = points(alone)
    dearest = _dearest_step(full, pods)
    if dearest is None:
        return None
    slopes = map(_slopes, full if shared == alone else points(shared))
    left, found = pods, Fraction(0)
    for slope, more in sorted(chain.from_iterable(slopes)):
        found += slope * min(more, left)
        left -= min(more, left)
    return max(dearest, ceil(found))


def _points(spare: Sequence[tuple[int, int, int]], room: int, pods: Sequence[Leaving]) -> _Points:
    """Return what it costs at least that pods arrive on a node, from those on that it has room for.

    Beyond a number of pods all that the node could hold cost no more than these.
    """
    free = max(0, min([room, *(left // amount for _, amount, left in spare)]))
    found = [(free, 0)]
    for k in range(free + 1, min(room, free + _MOST_STEPS) + 1):
        cost = least_to_free({r: k * amount - left for r, amount, left in spare}, pods)
        if cost is None:
            return found
        found.append((k, max(cost, found[-1][1])))
    if found[-1][0] < room:
        found.append((room, found[-1][1]))
    return found


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


def _slopes(points: _Points) -> list[tuple[Fraction, int]]:
    """Return the steps of the greatest convex function below, each with its pods."""
    at, cost = points[0]
    found = [(Fraction(0), at)]
    while at < points[-1][0]:
        slope, to, then = min((Fraction(c - cost, k - at), -k, c) for k, c in points if k > at)
        found.append((slope, -to - at))
        at, cost = -to, then
    return found


@dataclass(frozen=True, slots=True)
class _Swaps:
    """What arrivals cost where pods that hold as much of a resource can only change places.

    Attributes
    ----------
    holds, resource
        How much they hold of which resource.
    steps
        What it costs at least that one more of those or of the arrivals is on a node, for how many
        more, and the node; the cheapest first.
    movers
        By node: those that may move.
    pods
        Arrivals.
    """

    holds: int
    resource: int
    steps: Sequence[tuple[Fraction, int, int]]
    movers: Mapping[int, Sequence[Leaving]]
    pods: int

    def least(self, region: frozenset[int]) -> int:
        """Return what it costs at least that all arrive in a region."""
        within, beside = list[Fraction](), list[Fraction]()
        for slope, more, n in self.steps:
            side = within if n in region else beside
            side += [slope] * min(more, self.pods - len(side))
            if len(within) == len(beside) == self.pods:
                break
        movers = [each for n in region for each in self.movers[n]]
        most = sum(each.holds[self.resource] * each.pods for each in movers) // self.holds
        return min(
            (
                ceil(sum(within[: self.pods - out]))
                + ceil(sum(beside[:out]))
                + (cover(out * self.holds, self.resource, movers) if out else 0)
                for out in range(min(self.pods, most, len(beside)) + 1)
                if self.pods - out <= len(within)
            ),
            default=0,
        )


def _swapped(
    tier: Tier,
    instance: Instance,
    costs: Mapping[int, int],
    evicted: frozenset[int],
    arrivals: _Arrivals,
    pods: int,
) -> list[_Swaps]:
    """Return GPUs of which pods that no plan evicts hold as much as each arrival."""
    nodes = range(len(instance.nodes))
    found = []
    for r, holds in enumerate(arrivals.requests) if pods <= _MOST_SWAPS else ():
        if not (holds and gpu_milli(instance.resources[r], 1)):
            continue
        as_large = (s for s in costs if instance.podsets[s].requests[r] == holds)
        same = frozenset(s for s in as_large if instance.podsets[s].is_drained) - evicted
        if not same:
            continue
        reached = frozenset(nodes)
        if arrivals.allowed is not None and instance.on(Rule.ELIGIBILITY):
            reached = arrivals.allowed.union(*(instance.podsets[s].allowed for s in same))
        others = leaving(tier, instance, costs, nodes, shared=True, but=same)
        movers = leaving(tier, instance, costs, nodes, shared=True, but=costs.keys() - same)
        steps = []
        for n in reached:
            spare = [each for each in _spare(instance, arrivals, n) if each[0] == r]
            steps += [(*step, n) for step in _slopes(_points(spare, pods, others[n]))]
        steps.sort()
        found.append(_Swaps(holds, r, steps, movers, pods))
    return found
