"""Pods that a bound by prices counts together, and what tiers and limits say of their numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kantopt.problem.classes import Merged
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.metrics.unplaced import core, role_weights
from kantopt.verify.weight import weight


@dataclass(frozen=True, slots=True)
class PriceGroup:
    """Pods of one role, running and pending ones together where a move may pair them.

    Attributes
    ----------
    name
        Name of its row in a witness.
    podsets
        Indices, running before pending.
    home
        Pods that run on each node now.
    running, count
        Pods that run, and pods that there are.
    arriving
        Most pods that could arrive on nodes where they are not.
    leaves
        Whether pods of it may leave their nodes at all.
    """

    name: str
    podsets: tuple[int, ...]
    home: Mapping[int, int]
    running: int
    count: int
    arriving: int
    leaves: bool


@dataclass(frozen=True, slots=True)
class Sum:
    """``sum(out * left + evicted * evictions + missing * unplaced)`` over groups, and its limit.

    ``left`` counts the pods that leave a node. The sum is at most the tier or limit it stands for.
    """

    out: tuple[int, ...]
    evicted: tuple[int, ...]
    missing: tuple[int, ...]
    limit: int


def groups_of(merged: Merged) -> tuple[PriceGroup, ...]:
    """Return the groups of a question, pods that nothing tells apart counted together.

    Where running pods of a role may move, pending ones count with them: the gang rule binds none
    of these while some of those are evicted. Otherwise each pod set is a group.
    """
    instance = merged.instance
    groups = []
    for job in instance.jobs:
        for role in job.roles:
            paired = len(role.podsets) == 2 and instance.on(Rule.GANG)
            if paired and _may_move(instance, role.podsets[0]):
                groups.append(_group(merged, role.podsets))
            else:
                groups += [_group(merged, (s,)) for s in role.podsets]
    return tuple(groups)


def _group(merged: Merged, podsets: tuple[int, ...]) -> PriceGroup:
    instance = merged.instance
    first = instance.podsets[podsets[0]]
    original = merged.members[podsets[0]][0]
    name = f"{merged.original.job_of(original).name}/{first.name}"
    pinned, moves = instance.on(Rule.PINNED), _may_move(instance, podsets[0])
    home: dict[int, int] = {}
    for spot, pods in first.current.items():
        home[spot.node] = home.get(spot.node, 0) + pods
    count = sum(instance.podsets[s].count for s in podsets)
    running = first.count if first.running else 0
    return PriceGroup(
        name=f"pods {name} running" if first.running else f"pods {name}",
        podsets=podsets,
        home=home,
        running=running,
        count=count,
        arriving=count if moves or not first.running else 0,
        leaves=first.running and (moves or first.preemptible or not pinned),
    )


def _may_move(instance: Instance, s: int) -> bool:
    podset = instance.podsets[s]
    return podset.running and (podset.movable or not instance.on(Rule.PINNED))


def sum_of(tier: Tier, instance: Instance, groups: Sequence[PriceGroup], limit: int) -> Sum | None:
    """Return a sum over groups that is at most a tier's value; ``None`` if it would say nothing."""
    out, evicted, missing = ([0] * len(groups) for _ in range(3))
    for i, group in enumerate(groups):
        job, first = _of(instance, group)
        if tier.priority not in (None, job.priority):
            continue
        if tier.metric is Metric.UNPLACED:
            if counts_each_pod(tier, instance, job):
                missing[i] = weight(tier, first)
        elif tier.metric is Metric.EVICTIONS:
            # Of a job that is evicted as a whole the cost counts once: no sum over pods.
            evicted[i] = 0 if job.all_victims else first.disruption_cost
        elif tier.metric is Metric.MOVES:
            out[i], evicted[i] = 1, -1
        elif tier.metric is Metric.DISRUPTION_COST:
            out[i], evicted[i] = 1, 1
    if not (any(out) or any(evicted) or any(missing)):
        return None
    return Sum(tuple(out), tuple(evicted), tuple(missing), limit)


def counts_each_pod(tier: Tier, instance: Instance, job: Job) -> bool:
    """Whether each pod of a job that is not placed counts: not so of a gang that spares some."""
    if tier.surplus or tier.unit == "jobs":
        return False
    weights = role_weights(tier, instance, job)
    total = sum(w * role.count for w, role in zip(weights, job.roles, strict=True))
    return core(tier, instance, job) == total


def limits_of(instance: Instance, groups: Sequence[PriceGroup]) -> Iterator[tuple[str, Sum]]:
    """Yield the model's limits as sums, by the names of their rows."""
    limits = instance.model.limits
    nothing, one = (0,) * len(groups), (1,) * len(groups)
    if limits.evictions is not None and instance.on(Rule.LIMITS):
        yield "limit evictions", Sum(nothing, one, nothing, limits.evictions)
    if limits.moves is not None and instance.on(Rule.LIMITS):
        yield "limit moves", Sum(one, tuple(-x for x in one), nothing, limits.moves)


def least_placed(
    instance: Instance,
    groups: Sequence[PriceGroup],
    sums: Sequence[Sum],
    locks: Mapping[Tier, int],
) -> tuple[int, ...]:
    """Return how many pods of each group every plan within some locks has placed."""
    found = []
    for i, group in enumerate(groups):
        job, first = _of(instance, group)
        least = group.running if instance.on(Rule.PINNED) and not first.preemptible else 0
        for row in sums:
            # No other group makes these sums smaller: their terms are not negative.
            if row.missing[i] and not any(row.out):
                least = max(least, group.count - row.limit // row.missing[i])
            if row.evicted[i] > 0:
                each = row.evicted[i] + row.out[i]  # an evicted pod has left its node
                least = max(least, group.running - row.limit // each)
        for tier, value in locks.items():
            counted = tier.metric is Metric.UNPLACED and tier.unit == "jobs" and value == 0
            if counted and tier.priority in (None, job.priority) and not job.is_gang:
                least = max(least, group.count)
        found.append(least)
    return tuple(found)


def _of(instance: Instance, group: PriceGroup) -> tuple[Job, PodSet]:
    return instance.job_of(group.podsets[0]), instance.podsets[group.podsets[0]]
