"""A question divided into parts that share nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kantopt.problem.amounts import gpus_among
from kantopt.problem.cluster import Spot
from kantopt.problem.derived.parts import Atlas, Part, Share
from kantopt.problem.freedom import Freedom, freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.parts.ties import Ties
from kantopt.verify.bounds.whole_nodes import gpus_within_capacity
from kantopt.verify.step import standing_loads

_WHOLE = (Metric.FRAGMENT_RATE, Metric.FAIR_SHARE)
"""Metrics that look at pods of several parts at once."""


def parts_of(instance: Instance, tiers: Sequence[Tier]) -> tuple[Part, ...]:
    """Return the parts of a question, largest last; nodes on which nothing can change are in none.

    No rule and none of the tiers that :func:`summed` counts looks at pods of two parts at once.
    So a placement is legal if what it is in each part is legal there, and its values are sums
    over the parts and a constant. One thing is shared all the same: under ``priority: strict`` a
    job that is placed in one part may be what an eviction in another needs (see :class:`Part`).
    Where pods are evicted, :func:`kantopt.search.parts.assembly.justified` tells.

    Raises
    ------
    ValueError
        If a tier is no sum over the parts.
    """
    if summed(instance, tiers) < len(tiers):
        raise ValueError("a tier that is no sum over parts")
    freedom = freedom_of(instance)
    shares = _shares_of(instance, tiers, freedom)
    atlas = Atlas(instance)
    shares.sort(key=lambda share: (len(share.nodes) * len(share.jobs), share.nodes))
    return tuple(Part(atlas, share) for share in _with_outsiders(instance, freedom, shares))


def changing_part(instance: Instance, tiers: Sequence[Tier]) -> Part:
    """Return what could change of a question in which nobody is evicted, as one part."""
    shares = _shares_of(instance, tiers, freedom_of(instance))
    bystanders: dict[int, dict[Spot, int]] = {}
    for share in shares:
        for s, spots in share.bystanders.items():
            bystanders.setdefault(s, {}).update(spots)
    together = Share(
        tuple(sorted(n for share in shares for n in share.nodes)),
        tuple(sorted(j for share in shares for j in share.jobs)),
        bystanders,
        frozenset(quota for share in shares for quota in share.quotas),
    )
    return Part(Atlas(instance), together)


def _shares_of(instance: Instance, tiers: Sequence[Tier], freedom: Freedom) -> list[Share]:
    if any(not freedom.changes(j) for j in instance.required):
        return [_everything(instance)]  # whether it is placed is for no part to say
    return Ties(instance, tiers, freedom).shares()


def summed(instance: Instance, tiers: Sequence[Tier]) -> int:
    """Return how many tiers, from the first on, are sums over nodes and jobs up to a constant.

    Some need not be: what is above a target, domains and jobs of one queue, which may lie in
    several parts, whom pods would rather be near, ``fragment_rate``, which rounds a sum over all
    nodes, and ``allocation``, which counts no less than 0, as shows if pods hold more GPUs than
    there are.
    """
    for i, tier in enumerate(tiers):
        if tier.target or tier.metric in _WHOLE:
            return i
        if tier.metric is Metric.PREFERENCES and (instance.wishes or instance.evens):
            return i
        if tier.metric is Metric.ALLOCATION and not _gpus_hold(instance):
            return i
    return len(tiers)


def _everything(instance: Instance) -> Share:
    return Share(
        tuple(range(len(instance.nodes))),
        tuple(range(len(instance.jobs))),
        quotas=frozenset(
            (queue.index, quota.resource) for queue in instance.queues for quota in queue.quotas
        ),
    )


def _with_outsiders(
    instance: Instance, freedom: Freedom, shares: Sequence[Share]
) -> Iterator[Share]:
    """Add to each share the most important job elsewhere, if pods could be evicted for it."""
    victims = {
        podset.job: instance.jobs[podset.job].priority
        for podset in instance.podsets
        if freedom.evictions[podset.index]
    }
    tops = [
        max((instance.jobs[j].priority for j in share.jobs if freedom.preempts(j)), default=None)
        for share in shares
    ]
    known = sorted((top for top in tops if top is not None), reverse=True)
    for share, top in zip(shares, tops, strict=True):
        others = known[1:] if top is not None and top == known[0] else known
        lowest = min((victims[j] for j in share.jobs if j in victims), default=None)
        if instance.strict and others and lowest is not None and lowest < others[0]:
            yield replace(share, outsider=others[0])
        else:
            yield share


def _gpus_hold(instance: Instance) -> bool:
    """Whether no plan can have pods hold more GPUs than their nodes have."""
    if not gpus_within_capacity(instance):
        return False
    loads, gpus = standing_loads(instance), gpus_among(instance.resources)
    for podset in instance.podsets:
        for spot in podset.current:
            on_devices = (request for _, request in loads.device_requests(podset.index, spot))
            requests = (podset.requests, *on_devices)
            if sum(milli * each[r] for each in requests for r, milli in gpus) != podset.gpu_milli:
                return False  # its devices are not those that it asks for
    return True
