"""Pods that wait, by kinds: what ruin and recreate need not tell apart."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from kantopt.problem.freedom import freedom_of
from kantopt.problem.job import Job, PodSet
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.search.presolve import binding_queues
from kantopt.search.shapes import ClassNeed
from kantopt.search.state import State

_CPU_ONLY = -100.0
"""Added to the size of pods without GPUs: they come after all others."""


@dataclass(frozen=True, slots=True)
class LooseKind:
    """Pods that rules and metrics do not tell apart.

    ``value`` is what one of them unplaced adds to the tiers, all tiers in one number, the most
    important in the highest digits; ``size`` is in GPUs, ``gpus`` in milli-GPU. ``other`` is the
    resource without GPUs of which the cluster has least for it.
    """

    podsets: tuple[int, ...]
    allowed: frozenset[int]
    asks: tuple[tuple[int, int], ...]
    need: ClassNeed | None
    device_asks: tuple[tuple[int, int], ...]
    priority: int
    value: int
    size: float
    gpus: int
    other: int | None


def kinds_of(state: State, tiers: Sequence[Tier]) -> list[LooseKind]:
    """Return the kinds of pods that wait and may go by themselves, of no queue that may bind.

    Parameters
    ----------
    state
        What runs and what has been placed; says of whom neighbours say the same.
    tiers
        Of which those of unplaced pods make the ``value`` of a kind.
    """
    instance = state.instance
    queues, may = binding_queues(instance), freedom_of(instance)
    units = [t for t in tiers if t.counts_unplaced]
    alike: dict[tuple[Hashable, tuple[int, ...]], list[PodSet]] = {}
    for podset in instance.podsets:
        free = may.binds[podset.index] and podset.index not in may.close
        job = instance.jobs[podset.job]
        if not free or job.index in instance.required or job.queue in queues:
            continue
        single = podset.count == 1 and len(job.podsets) == 1
        gang = job.is_gang and instance.on(Rule.GANG) and not single
        if gang or len(podset.devices) > 1:
            continue
        missed = tuple(_missing(tier, podset, job, single) for tier in units)
        kin = state.neighbours.kin(podset.index)
        key = (podset.requests, podset.devices, podset.allowed, job.priority, kin)
        alike.setdefault((key, missed), []).append(podset)
    bases = [1] * len(units)
    for (_, missed), podsets in alike.items():
        pods = sum(podset.count for podset in podsets)
        bases = [base + each * pods for base, each in zip(bases, missed, strict=True)]
    kinds = []
    for (_, missed), podsets in alike.items():
        value = 0
        for each, base in zip(missed, bases, strict=True):
            value = value * base + each
        if value:
            kinds.append(_kind(state, podsets, value))
    return kinds


def _missing(tier: Tier, podset: PodSet, job: Job, single: bool) -> int:
    """What one pod that is not placed adds to a tier; a job of several counts when all are."""
    if not tier.concerns(job):
        return 0
    if tier.unit == "jobs":
        return int(single)
    return tier.weight(podset)


def _kind(state: State, podsets: Sequence[PodSet], value: int) -> LooseKind:
    first, instance = podsets[0], state.instance
    shape, offered = state.shape[first.index], state.offered.sum(axis=1).tolist()
    shares = [
        (amount / offered[r], r)
        for r, amount in shape.asks
        if offered[r] and not state.gpu_weight[r]
    ]
    share, other = max(shares, default=(0.0, None))
    return LooseKind(
        podsets=tuple(podset.index for podset in podsets),
        allowed=first.allowed,
        asks=shape.asks,
        need=shape.needs[0] if shape.needs else None,
        device_asks=shape.needs[0].ask if shape.needs else (),
        priority=instance.jobs[first.job].priority,
        value=value,
        size=first.gpu_milli / 1000 if first.gpu_milli else _CPU_ONLY + share,
        gpus=first.gpu_milli,
        other=other,
    )
