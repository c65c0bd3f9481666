"""Presolve: rules that no plan can break are left out (Andersen and Andersen 1995, redundancy).

A rule that binds nobody then costs a search nothing, and switches nothing off. Plans are judged
and put in order by the whole question. Bounds rest on both questions having the same plans: with
fewer rules more of the evicted fit back, so that leaving out one that may bind is no relaxation.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import gcd

from kantopt.problem.amounts import gpus_among
from kantopt.problem.cluster import Node
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity, AntiAffinity, Spread, TopologyNeed
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import most_on_nodes
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use


@lru_cache(maxsize=4)
def presolved(instance: Instance) -> Instance:
    """Return the question without what binds nobody; itself if there is no such thing.

    Pod sets, jobs and nodes keep their places, so that placements are placements of both.
    """
    budgets = _borne(instance)
    queues = binding_queues(instance)
    free = {job.index for job in instance.jobs if job.queue is not None and job.queue not in queues}
    needs = _needs(instance)
    apart = tuple(term for term in instance.anti_affinities if not _alone(instance, term))
    spreads = tuple(spread for spread in instance.spreads if not _even(instance, spread))
    near = tuple(near for near in instance.affinities if not _beside(instance, near))
    nodes = _alike(instance)
    same = (
        nodes == instance.nodes
        and needs == instance.topology_needs
        and len(apart) == len(instance.anti_affinities)
        and len(spreads) == len(instance.spreads)
        and len(near) == len(instance.affinities)
    )
    if same and not (budgets or free):
        return instance
    return replace(
        instance,
        nodes=nodes,
        jobs=tuple(replace(job, queue=None) if job.index in free else job for job in instance.jobs),
        podsets=tuple(
            replace(podset, budgets=()) if budgets.issuperset(podset.budgets) else podset
            for podset in instance.podsets
        )
        if budgets
        else instance.podsets,
        budgets=tuple(
            replace(budget, podsets=()) if budget.index in budgets else budget
            for budget in instance.budgets
        ),
        topology_needs=needs,
        anti_affinities=apart,
        spreads=spreads,
        affinities=near,
    )


def _alike(instance: Instance) -> tuple[Node, ...]:
    """Nodes without what tells them apart and matters to no plan; what tiers look at stays.

    A limit of a resource is left out where nobody reaches it on any node, for all pods that there
    are ask for less, or those for which another resource has room. Others are rounded down to what
    sums of requests can come to: nodes of a kind differ by less than a pod in their memory.
    """
    nodes, tiers = instance.nodes, tiers_of(instance)
    offers = [[node.capacity[r] for node in nodes] for r in range(len(instance.resources))]
    kinds = [len(set(limits)) for limits in offers]
    differing = {r for r, several in enumerate(kinds) if several > 1} - _looked_at(instance, tiers)
    if not differing:
        return nodes
    most_held = most_on_nodes(instance)  # more than the limit where more is taken now
    requests = {podset.requests for podset in instance.podsets}
    mix = {shape.requests for tier in tiers for shape in tier.mix}
    # Those go first that tell most nodes apart: of two that bind each other one has to stay.
    for r in sorted(differing, key=lambda r: (-kinds[r], r)):
        asking = [asked for asked in requests if asked[r]]
        total = sum(podset.count * podset.requests[r] for podset in instance.podsets)
        most = [[total] * len(nodes)]
        for q, limits in enumerate(offers):
            if q != r and asking and all(asked[q] for asked in asking):
                up, down = max({(a[r], a[q]) for a in asking}, key=lambda pair: Fraction(*pair))
                taken = (
                    held[q] if c is not None else None
                    for held, c in zip(most_held, limits, strict=True)
                )
                most.append([total if c is None else c * up // down for c in taken])
        beside = max((asked[r] for asked in mix), default=0)  # what is free a shape might take
        enough = [min(pods) + beside for pods in zip(*most, strict=True)]
        if all(c is None or c >= need for c, need in zip(offers[r], enough, strict=True)):
            offers[r] = [None] * len(nodes)
        else:
            unit = gcd(*(asked[r] for asked in requests | mix))
            offers[r] = [None if c is None else c - c % unit for c in offers[r]]
    capacities = zip(*offers, strict=True)
    return tuple(replace(node, capacity=c) for node, c in zip(nodes, capacities, strict=True))


def _looked_at(instance: Instance, tiers: Iterable[Tier]) -> set[int]:
    """Resources of which metrics look at how much nodes offer: GPUs, and what goals name."""
    found = {r for r, _ in gpus_among(instance.resources)}
    for tier in tiers:
        found |= {r for r, name in enumerate(instance.resources) if name == tier.offers}
        found |= {r for r in (tier.resource, *tier.resources) if r is not None}
    return found


def _borne(instance: Instance) -> frozenset[int]:
    """Budgets that bear whatever is done; pods under two bear nothing at all."""
    doubled = {b for podset in instance.podsets if len(podset.budgets) > 1 for b in podset.budgets}
    every = frozenset(budget.index for budget in instance.budgets if budget.podsets)
    if not instance.on(Rule.DISRUPTION):
        return every
    return every - binding_budgets(instance) - doubled


def _needs(instance: Instance) -> tuple[TopologyNeed, ...]:
    """Topology needs that ask for more than all nodes give: one domain, or any to slices of one."""
    levels = {level: set(of) for level, of in enumerate(instance.topology.domain_of)}
    one = {level for level, domains in levels.items() if domains == {0}}
    anywhere = {level for level, domains in levels.items() if None not in domains}
    found: list[TopologyNeed] = []
    for need in instance.topology_needs:
        asked = replace(
            need,
            index=len(found),
            required=None if need.required in one else need.required,
            preferred=None if need.preferred in one else need.preferred,
            slice_level=None
            if need.slice_size == 1 and need.slice_level in anywhere
            else need.slice_level,
        )
        if (asked.required, asked.preferred, asked.slice_level) != (None, None, None):
            found.append(asked)
    return tuple(found)


def _alone(instance: Instance, term: AntiAffinity) -> bool:
    """Whether a pod keeps away from nobody but itself."""
    return set(term.others) <= {term.owner} and instance.podsets[term.owner].count == 1


def _even(instance: Instance, spread: Spread) -> bool:
    """Whether all pods that a spread counts may be in one domain."""
    labelled = _labelled(instance, spread.key)
    return _pods_of(instance, spread.counted) <= spread.max_skew and labelled.issuperset(
        _reach(instance, spread.owner)
    )


@lru_cache(maxsize=16)
def _pods_of(instance: Instance, podsets: tuple[int, ...]) -> int:
    """Pods of some pod sets: each of a thousand may have a constraint that counts all of them."""
    return instance.pods_of(podsets)


@lru_cache(maxsize=16)
def _labelled(instance: Instance, key: str) -> frozenset[int]:
    """Nodes that are in a domain of a label."""
    return frozenset(node.index for node in instance.nodes if key in node.labels)


def _beside(instance: Instance, near: Affinity) -> bool:
    """Whether pods find one to be near wherever they may go, that no plan takes away."""
    homes = _stay_put(instance, near.anchors)
    return _around(instance, homes, near.keys).issuperset(_reach(instance, near.owner))


@lru_cache(maxsize=16)
def _around(instance: Instance, homes: frozenset[int], keys: tuple[str, ...]) -> frozenset[int]:
    """Nodes of which each label has the value that it has on one of some nodes."""
    kept = {(key, instance.label_domain(n, key)) for key in keys for n in homes}
    return frozenset(
        node.index
        for node in instance.nodes
        if all(key in node.labels and (key, node.labels[key]) in kept for key in keys)
    )


def _reach(instance: Instance, s: int) -> Iterable[int]:
    """Nodes that pods of a set may come to."""
    everywhere = not instance.on(Rule.ELIGIBILITY)
    return range(len(instance.nodes)) if everywhere else instance.podsets[s].allowed


@lru_cache(maxsize=16)
def _stay_put(instance: Instance, podsets: tuple[int, ...]) -> frozenset[int]:
    """Nodes with pods of some pod sets that are neither moved nor evicted."""
    free = freedom_of(instance)
    return frozenset(
        spot.node for s in podsets if free.fixed(s) for spot in instance.podsets[s].current
    )


@lru_cache(maxsize=8)
def binding_budgets(instance: Instance) -> frozenset[int]:
    """Return the budgets that bear fewer evictions than they have pods that run."""
    if not instance.on(Rule.DISRUPTION):
        return frozenset()
    return frozenset(
        budget.index
        for budget in instance.budgets
        if budget.allowed < instance.pods_of(budget.podsets)
    )


@lru_cache(maxsize=8)
def binding_queues(instance: Instance) -> frozenset[int]:
    """Return the queues that would use more than they may if all their pods were placed.

    That is more than their own limit or, together with their cohort, than what it shares.
    """
    if not (instance.on(Rule.QUOTA) and instance.queues):
        return frozenset()
    wanted = [[0] * len(instance.resources) for _ in instance.queues]
    for podset in instance.podsets:
        q = instance.jobs[podset.job].queue
        if q is not None:
            for r, amount in enumerate(podset.demand):
                wanted[q][r] += podset.count * amount
    found = set()
    for queue in instance.queues:
        for quota in queue.quotas:
            limit = queue_limit(queue, quota)
            if limit is not None and wanted[queue.index][quota.resource] > limit:
                found.add(queue.index)
    for members in cohorts(instance).values():
        if shared_use(members, wanted) > shared_limit(members):
            found |= {queue.index for queue, _ in members}
    return frozenset(found)


@lru_cache(maxsize=8)
def binding_namespaces(instance: Instance) -> frozenset[str]:
    """Return the namespaces in which more pods run than the model lets move."""
    limit = instance.model.limits.moves_per_namespace
    if limit is None:
        return frozenset()
    running: dict[str, int] = {}
    for podset in instance.podsets:
        if podset.running:
            namespace = instance.job_of(podset.index).namespace
            running[namespace] = running.get(namespace, 0) + podset.count
    return frozenset(namespace for namespace, pods in running.items() if pods > limit)
