"""What is minimised, and what may not get worse, as sums over patterns of change and groups.

A tier of disruption is a sum over groups of interchangeable pods: so much for each pod that
leaves a node, so much for each that is not placed again. The tiers above it, locked at their
values, are inequalities over the same numbers. Rules that count alone cannot say are left out:
what is proved without them holds with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from kantopt.cp.masters.merged import merged_bound
from kantopt.cp.masters.patterns import Groups, Weights
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.search.chains.scope import Group, Scope
from kantopt.search.shapes import Ints, Mask
from kantopt.verify.disturbance import DISRUPTION, adds_up, disturbance
from kantopt.verify.metrics.unplaced import core, whole


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One tier of disruption to be minimised.

    Attributes
    ----------
    groups
        Indices into the scope's groups: those that ask for something that can run short.
    ask
        Request per pod, in units that share no divisor; (R, G).
    room
        What pods of the groups can have of each node, never more than all of them ask for; (R, N).
    home
        Pods that run on each node now; (G, N).
    welcome
        Whether a node admits arriving pods of a group; (G, N).
    running, count, low
        Pods that run, that there are, and that stay placed in every plan; (G,).
    still
        Whether no pod may leave its node, for what the locks say; (G,).
    """

    scope: Scope
    groups: tuple[int, ...]
    ask: Ints
    room: Ints
    home: Ints
    welcome: Mask
    running: Ints
    count: Ints
    low: Ints
    still: Mask
    objective: Weights
    """What is minimised, below its limit."""
    locks: tuple[Weights, ...]
    locked: tuple[int, ...]
    """Index of the tier that each lock stands for."""

    def merged_bound(self) -> int:
        """Return a lower bound on the objective, as if all nodes were one.

        A node that is overcommitted now may stay so: it counts with what is taken of it.
        """
        offer = np.maximum(self.room, self.ask @ self.home).sum(axis=1)
        return merged_bound(self.ask.tolist(), offer.tolist(), self.numbers())

    def numbers(self) -> Groups:
        """Return the groups for a solver."""
        return Groups(
            running=self.running.tolist(),
            count=self.count.tolist(),
            low=self.low.tolist(),
            objective=self.objective,
            locks=self.locks,
        )

    def least_whole(self, bound: int) -> int:
        """Return the least value of the objective that whole pods make, ``bound`` or more.

        Each pod that moves, is evicted or is not placed adds its weight, where the locks let one
        do that; the sum is a multiple of what divides all of these (Chvatal-Gomory rounding). So
        evictions at a cost of two where no pod may move never cost three.
        """
        may = np.ones_like(_each(self.objective), dtype=np.bool_)
        for lock in self.locks:
            adds = _each(lock)
            if (adds >= 0).all():
                may &= adds <= lock.limit
        step = gcd(*_each(self.objective)[may].tolist())
        return -(-bound // step) * step if step else bound


def holds_for_all(instance: Instance, scope: Scope) -> bool:
    """Whether a bound on plans that change the scope's pods alone is a bound on all plans.

    So it is if every pod is in a group, may not change by any plan, or takes none of the room that
    the groups are left, where it is: without it there is as much. And if no role may evict running
    pods to bind others in their stead, which would be a move that no tier counts (the gang rule).
    """
    inside = {s for group in scope.groups for s in group.podsets}
    may = freedom_of(instance)
    for podset in instance.podsets:
        if podset.index in inside:
            continue
        placed = scope.start.placed(podset.index)
        takes = placed and any(podset.demand[r] for r in scope.resources)
        takes = takes or any(podset.index in those for those in scope.apart)
        if takes and not may.fixed(podset.index):
            return False
    halves = [role for job in instance.jobs for role in job.roles if len(role.podsets) == 2]
    return instance.on(Rule.GANG) or not halves


def program_of(scope: Scope, tiers: Sequence[Tier], values: Sequence[int], t: int) -> Program:
    """Return the program of minimising tier ``t`` while those above it keep their values."""
    chosen = tuple(g for g, group in enumerate(scope.groups) if any(group.request))
    groups = [scope.groups[g] for g in chosen]
    instance, nodes = scope.instance, len(scope.instance.nodes)
    ask = np.array([group.request for group in groups], dtype=np.int64).T
    room = np.array(scope.room, dtype=np.int64)
    count = np.array([instance.pods_of(group.podsets) for group in groups], dtype=np.int64)
    room = np.minimum(room, (ask * count).sum(axis=1)[:, None])
    for r in range(len(ask)):
        unit = gcd(*ask[r].tolist())
        ask[r], room[r] = ask[r] // unit, room[r] // unit
    home = np.zeros((len(groups), nodes), dtype=np.int64)
    welcome = np.ones((len(groups), nodes), dtype=np.bool_)
    for i, group in enumerate(groups):
        home[i, list(group.home)] = list(group.home.values())
        if group.homebound:
            welcome[i] = False
        elif group.allowed is not None:
            welcome[i] = np.isin(np.arange(nodes), list(group.allowed))
    above = [(tier, _most(tiers[:t], values, i)) for i, tier in enumerate(tiers[:t])]
    told = [(tier, most) for tier, most in above if most is not None]
    low = np.array([_low(instance, group, told) for group in groups], dtype=np.int64)
    rows = [None if most is None else _row(instance, groups, tier, most) for tier, most in above]
    locked = tuple(i for i, row in enumerate(rows) if row is not None)
    locks = [row for row in rows if row is not None]
    running = np.array([group.running for group in groups], dtype=np.int64)
    still = np.zeros(len(groups), dtype=np.bool_)
    for row in locks:
        # Where evictions count against what leaves (moves), leaving costs nothing to the evicted.
        out, evicted = np.array(row.out), np.array(row.evicted)
        still |= (out > row.limit) & ((evicted >= 0) | (low >= running))
    objective = _row(instance, groups, tiers[t], values[t])
    if objective is None:
        raise ValueError(f"{tiers[t].name} is no tier of disruption")
    return Program(
        scope=scope,
        groups=chosen,
        ask=ask,
        room=room,
        home=home,
        welcome=welcome,
        running=running,
        count=count,
        low=low,
        still=still,
        objective=objective,
        locks=tuple(locks),
        locked=locked,
    )


def _each(row: Weights) -> Ints:
    """Return what a pod adds that moves, is evicted, or is not placed; (3, G)."""
    out, evicted, missing = np.array([row.out, row.evicted, row.missing], dtype=np.int64)
    return np.stack([out, out + evicted, missing])


def _most(tiers: Sequence[Tier], values: Sequence[int], i: int) -> int | None:
    """Most that a tier is measured at; of members above minima, together with those below.

    What gangs lack below their minima and above is all that they lack: ``None`` where the tier of
    those below is not among those above.
    """
    tier, most = tiers[i], tiers[i].most(values[i])
    if not tier.surplus:
        return most
    below = [k for k, x in enumerate(tiers[:i]) if x == replace(tier, surplus=False)]
    return most + tiers[below[0]].most(values[below[0]]) if below else None


def _low(instance: Instance, group: Group, above: Sequence[tuple[Tier, int]]) -> int:
    """Pods of a group that every plan as good as the values above places."""
    job, first = instance.jobs[group.job], instance.podsets[group.podsets[0]]
    low = group.running - freedom_of(instance).evictions[first.index] if group.running else 0
    for tier, value in above:
        if not tier.concerns(job):
            continue
        if tier.metric is Metric.UNPLACED and _counts_all(instance, tier, job):
            count = instance.pods_of(group.podsets)
            if tier.unit == "jobs":
                low = max(low, count if value == 0 else 0)
            elif pod := tier.weight(first):
                low = max(low, count - value // pod)
        elif tier.metric in (Metric.DISPLACED, Metric.EVICTIONS, Metric.DISRUPTION_COST):
            pod, _ = disturbance(tier, job, first)
            if adds_up(tier, job):
                low = max(low, group.running - value // pod if pod else 0)
            elif tier.metric is Metric.EVICTIONS and pod > value:
                low = max(low, group.running)
    return low


def _counts_all(instance: Instance, tier: Tier, job: Job) -> bool:
    """Whether each pod of a job that is not placed counts: not so of a gang that spares some.

    With those above the minimum, see :func:`_most`, all do.
    """
    return tier.surplus or core(tier, instance, job) == whole(tier, instance, job)


def _row(instance: Instance, groups: Sequence[Group], tier: Tier, value: int) -> Weights | None:
    """Return what a tier is at least, as a sum over groups, or ``None`` if that says nothing."""
    out, evicted, missing = ([0] * len(groups) for _ in range(3))
    for i, group in enumerate(groups):
        job, first = instance.jobs[group.job], instance.podsets[group.podsets[0]]
        if not tier.concerns(job):
            continue
        if tier.metric is Metric.UNPLACED:
            if tier.unit != "jobs" and _counts_all(instance, tier, job):
                missing[i] = tier.weight(first)
        elif tier.metric in (Metric.DISPLACED, *DISRUPTION) and adds_up(tier, job):
            gone, out[i] = disturbance(tier, job, first)
            evicted[i] = gone - out[i]
    if tier.metric not in DISRUPTION and not (any(missing) or any(evicted)):
        return None
    return Weights(out, evicted, missing, value)
