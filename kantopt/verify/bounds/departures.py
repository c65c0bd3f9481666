"""How many pods can leave their places? Arithmetic from limits, pins and the tiers above.

And what they can take of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import lru_cache

from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.fewest import fewest_of
from kantopt.verify.bounds.in_part import least_in_part
from kantopt.verify.in_use import fees_of, groups_of
from kantopt.verify.step import Loads

MOST_STEPS = 8
"""Most sizes of pods, the commonest, that room is measured by."""


@lru_cache(maxsize=4)
def evictable(instance: Instance) -> frozenset[int]:
    """Return the running pod sets that some plan could evict pods of; never too few."""
    if instance.model.limits.evictions == 0:
        return frozenset()
    pending = {podset.job for podset in instance.podsets if not podset.running}
    highest = max(
        (instance.jobs[j].priority for j in pending if instance.jobs[j].may_preempt), default=None
    )
    found = set()
    for podset in instance.podsets:
        if not podset.running or (instance.on(Rule.PINNED) and not podset.preemptible):
            continue
        if _kept(instance, podset):
            continue
        priority = instance.job_of(podset.index).priority
        if not instance.strict or (highest is not None and highest > priority):
            found.add(podset.index)
    return frozenset(found)


def _kept(instance: Instance, podset: PodSet) -> bool:
    """Whether disruption budgets let no pod of a pod set be evicted or restarted."""
    budgets = podset.budgets if instance.on(Rule.DISRUPTION) else ()
    return len(budgets) > 1 or any(instance.budgets[b].allowed <= 0 for b in budgets)


def may_move(instance: Instance, podset: PodSet) -> bool:
    """Whether some plan could move pods of a pod set; never too seldom."""
    pinned = instance.on(Rule.PINNED) and not podset.movable
    limits = (instance.model.limits.moves, _most_moves_of(instance, podset.job))
    if pinned or 0 in limits or not podset.running:
        return False
    return instance.job_of(podset.index).move_mode == "live" or not _kept(instance, podset)


def _most_moves_of(instance: Instance, j: int) -> int | None:
    """Return how many pods of a job may move at most; ``None`` without limit."""
    if not instance.on(Rule.LIMITS):
        return None
    return instance.jobs[j].move_limit(instance.model.limits.moves_per_job)


def may_leave(instance: Instance, podset: PodSet) -> bool:
    """Whether pods of a running pod set may be evicted or moved at all."""
    return podset.index in evictable(instance) or may_move(instance, podset)


@lru_cache(maxsize=4)
def _reached(instance: Instance) -> tuple[frozenset[int], ...]:
    """Return by resource the nodes on which some plan could let pods arrive that ask for it."""
    if not instance.on(Rule.ELIGIBILITY):
        return (frozenset(range(len(instance.nodes))),) * len(instance.resources)
    admitted: list[set[frozenset[int]]] = [set() for _ in instance.resources]
    for podset in instance.podsets:
        if not podset.running or may_move(instance, podset):
            for r, amount in enumerate(podset.demand):
                if amount:
                    admitted[r].add(podset.allowed)
    return tuple(frozenset[int]().union(*each) for each in admitted)


def most_held(
    instance: Instance, n: int, capacity: Sequence[int | None], taken: Sequence[int]
) -> tuple[int | None, ...]:
    """Return the most that pods can hold of a node, or of a device there, by resource.

    That is what it offers, or what is taken of it now, for what is overcommitted may stay so. Where
    nobody can arrive who asks for it, it is no more than is taken. ``None``: without limit.
    """
    rows = zip(capacity, taken, _reached(instance), strict=True)
    return tuple(
        limit if limit is None else max(limit, now) if n in nodes else now
        for limit, now, nodes in rows
    )


@lru_cache(maxsize=4)
def most_on_nodes(instance: Instance) -> tuple[tuple[int | None, ...], ...]:
    """Return the most that pods can hold of each node, its devices left aside."""
    standing = Loads.of(instance, instance.current).node
    return tuple(
        most_held(instance, node.index, node.capacity, standing[node.index])
        for node in instance.nodes
    )


def most_moves(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Most pods that a plan may move which is no worse than some values in the tiers above."""
    most = sum(podset.count for podset in instance.podsets if may_move(instance, podset))
    if instance.model.limits.moves is not None:
        most = min(most, instance.model.limits.moves)
    disturbing = (Metric.MOVES, Metric.DISRUPTION_COST)
    values = (v for t, v in above.items() if t.metric in disturbing and t.priority is None)
    return min([most, *values])


def most_evictions(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Most pods that a plan may evict which is no worse than some values in the tiers above."""
    most = instance.pods_of(evictable(instance))
    if instance.model.limits.evictions is not None:
        most = min(most, instance.model.limits.evictions)
    costs = (
        v // 2
        for t, v in above.items()
        if t.metric is Metric.DISRUPTION_COST and t.priority is None
    )
    return min([most, *costs])


def _in_use(
    instance: Instance, group_of: Sequence[int | None]
) -> tuple[dict[int, int], dict[int, int]]:
    """Return the pods of groups of nodes in use, and of those of which all pods may leave.

    Daemons keep nothing in use; nodes in no group (``None``) are not counted. With more pods of a
    job than it bears moves of a group stays in use, unless they may be evicted.
    """
    pods: dict[int, int] = {}
    stays: set[int] = set()
    moved = Counter[tuple[int, int]]()
    for podset in instance.podsets:
        if podset.daemon:
            continue
        leaves = may_leave(instance, podset)
        for spot, number in podset.current.items():
            group = group_of[spot.node]
            if group is not None:
                pods[group] = pods.get(group, 0) + number
                if not leaves:
                    stays.add(group)
                elif podset.index not in evictable(instance):
                    moved[group, podset.job] += number
    for (group, j), number in moved.items():
        most = _most_moves_of(instance, j)
        if most is not None and number > most:
            stays.add(group)
    return pods, {group: k for group, k in pods.items() if group not in stays}


def fewest_in_use(instance: Instance, tier: Tier, above: Mapping[Tier, int]) -> int:
    """Return how many of the domains, or nodes, that a tier counts stay in use.

    At least those that limits and pins do not let become empty, and as many as hold what nothing
    may evict.
    """
    in_use, counts = _leaving(instance, tier)
    left = most_moves(instance, above) + most_evictions(instance, above)
    for pods in counts:
        if pods > left:
            break
        left -= pods
        in_use -= 1
    return max(in_use, _fewest_to_hold(instance, tier))


@lru_cache(maxsize=16)
def _fewest_to_hold(instance: Instance, tier: Tier) -> int:
    """Fewest domains or nodes, the roomiest first, that hold the pods which no plan evicts."""
    groups = groups_of(instance, tier)
    return max((_roomiest(wanted, rooms, groups) for wanted, rooms in to_hold(instance)), default=0)


@lru_cache(maxsize=4)
def to_hold(instance: Instance) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return what the pods that no plan evicts take, and what each node has room for of that.

    Pods of sizes ``a`` on nodes of sizes ``b`` have ``sum of a // t <= sum of b // t``, whatever
    the step ``t``: a pair for each resource and step. A node offers what it has, or what is taken
    of it now. Daemons are not among the pods.
    """
    if not instance.on(Rule.CAPACITY):
        return ()
    stay = [
        podset
        for podset in instance.podsets
        if podset.running and not podset.daemon and podset.index not in evictable(instance)
    ]
    found = []
    for r in range(len(instance.resources)):
        sizes = Counter[int]()
        for podset in stay:
            sizes[podset.requests[r]] += podset.count
        if not any(sizes) or any(node.capacity[r] is None for node in instance.nodes):
            continue
        rooms = [node[r] or 0 for node in most_on_nodes(instance)]
        for step in {1, *(size for size, _ in sizes.most_common(MOST_STEPS) if size)}:
            wanted = sum(size // step * count for size, count in sizes.items())
            found.append((wanted, tuple(room // step for room in rooms)))
    return tuple(found)


def _roomiest(wanted: int, rooms: Sequence[int], groups: Sequence[int | None]) -> int:
    """Fewest groups that hold so many steps; what is in no group holds some for nothing."""
    together = Counter[int | None]()
    for room, group in zip(rooms, groups, strict=True):
        together[group] += room
    wanted -= together.pop(None, 0)
    fewest = fewest_of(together.values(), wanted)
    return len(together) if fewest is None else fewest


@lru_cache(maxsize=16)
def emptied(instance: Instance, tier: Tier) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Return the fees of all nodes in use that a tier counts, and of those that can be emptied.

    The latter each with the pods that leave it, the most per pod first.
    """
    fees, nodes = fees_of(instance, tier), counted(instance, tier)
    in_use, free = _in_use(instance, [n if n in nodes else None for n in range(len(fees))])
    groups = [(fees[n], number) for n, number in free.items() if fees[n]]
    groups.sort(key=lambda item: (-Fraction(*item), item))
    return sum(fees[n] for n in in_use), tuple(groups)


def to_drain(instance: Instance) -> dict[int, int]:
    """Return the pods that are to leave nodes to be emptied, by running pod set."""
    return {
        podset.index: sum(k for x, k in podset.current.items() if x.node in instance.drained)
        for podset in instance.podsets
        if podset.running and podset.is_drained
    }


def fewest_departures(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return how many pods must leave their nodes: as many as keep the emptiest groups in use.

    So many groups have to be emptied as are in use now beyond what the tiers above allow, and
    each takes all its pods to leave. Of nodes to be emptied all pods beyond those allowed leave. Of
    nodes with fees as many are emptied as bring these down to what is allowed.
    """
    fewest = 0
    for tier, value in above.items():
        if tier.metric in (Metric.NODES_IN_USE, Metric.DOMAINS_IN_USE):
            in_use, counts = _leaving(instance, tier)
            fewest = max(fewest, sum(counts[: max(0, in_use - value)]))
        if tier.metric in (Metric.COST, Metric.ENERGY):
            # As much as is in use beyond what is allowed has to go, the last node in part.
            in_use, groups = emptied(instance, tier)
            pods = least_in_part(((number, fee, 1) for fee, number in groups), in_use - value)
            fewest = max(fewest, pods)
        if tier.metric is Metric.UNDRAINED:
            fewest = max(fewest, sum(to_drain(instance).values()) - value)
    return fewest


@lru_cache(maxsize=16)
def _leaving(instance: Instance, tier: Tier) -> tuple[int, tuple[int, ...]]:
    """Return how many groups are in use, and the pods that leave each to empty it, ascending."""
    in_use, free = _in_use(instance, groups_of(instance, tier))
    return len(in_use), tuple(sorted(free.values()))
