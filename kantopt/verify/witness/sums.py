"""What tiers and limits are at least, as sums over groups of pods and over jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.departures import evictable
from kantopt.verify.disturbance import adds_up, disturbance
from kantopt.verify.metrics.allocation import offered_gpus
from kantopt.verify.metrics.unplaced import core, whole
from kantopt.verify.metrics.waiting import waits
from kantopt.verify.witness.groups import PriceGroup, job_and_pods


@dataclass(frozen=True, slots=True)
class Sum:
    """A sum that is at most the tier or limit that it stands for, and the most that this may be.

    ``constant + sum over groups of (out * pods that leave a node + evicted * evictions
    + missing * max(0, wanted - placed) - placed_weight * placed)
    + sum over jobs that are not placed of unplaced``.
    """

    constant: int
    out: tuple[int, ...]
    evicted: tuple[int, ...]
    missing: tuple[int, ...]
    wanted: tuple[int, ...]
    placed: tuple[int, ...]
    unplaced: Mapping[int, int]
    limit: int


class _Draft:
    """A sum in the making."""

    def __init__(self, groups: Sequence[PriceGroup]) -> None:
        zeros = [0] * len(groups)
        self.constant = 0
        self.out, self.evicted, self.missing = zeros[:], zeros[:], zeros[:]
        self.wanted, self.placed = zeros[:], zeros[:]
        self.unplaced: dict[int, int] = {}

    def finish(self, limit: int) -> Sum | None:
        """Return the sum, or ``None`` if it says nothing."""
        parts = (self.out, self.evicted, self.missing, self.placed)
        if not (any(map(any, parts)) or any(self.unplaced.values())):
            return None
        out, evicted, missing, placed = map(tuple, parts)
        return Sum(
            self.constant,
            out,
            evicted,
            missing,
            tuple(self.wanted),
            placed,
            self.unplaced,
            limit,
        )


def nothing(groups: Sequence[PriceGroup]) -> Sum:
    """Return the sum that is always 0."""
    zeros = (0,) * len(groups)
    return Sum(0, zeros, zeros, zeros, zeros, zeros, {}, 0)


def sum_of(tier: Tier, instance: Instance, groups: Sequence[PriceGroup], limit: int) -> Sum | None:
    """Return a sum that is at most a tier's value; ``None`` if there is none that says anything."""
    draft = _Draft(groups)
    if tier.metric is Metric.ALLOCATION:
        draft.constant = offered_gpus(instance, tier)
    for i, group in enumerate(groups):
        job, first = job_and_pods(instance, group)
        if not tier.concerns(job):
            continue
        match tier.metric:
            case Metric.UNPLACED if not tier.surplus and tier.unit != "jobs":
                wanted = _wanted(tier, instance, job, group)
                if wanted is not None:
                    draft.missing[i], draft.wanted[i] = tier.weight(first), wanted
            case Metric.UNPLACED if not tier.surplus:
                draft.unplaced[job.index] = 1
            case Metric.EVICTIONS if not adds_up(tier, job):
                # No sum over pods, but it counts if the job is placed now and is not in the end.
                if job.placed_with(instance.running_roles(job)):
                    draft.unplaced[job.index] = job.disruption_cost
            case Metric.WAITING if waits(instance, job):
                draft.unplaced[job.index] = job.waited_seconds
            case Metric.ALLOCATION:
                draft.placed[i] = first.gpu_milli
            case _ if adds_up(tier, job):
                evicted, moved = disturbance(tier, job, first)
                draft.out[i], draft.evicted[i] = moved, evicted - moved
    return draft.finish(limit)


def _wanted(tier: Tier, instance: Instance, job: Job, group: PriceGroup) -> int | None:
    """Pods of a group below which a tier counts each that is missing; ``None`` if it is not so."""
    if core(tier, instance, job) == whole(tier, instance, job):
        return group.count  # it spares none
    if group.whole and (not job.min_count or len(job.roles) == 1):
        return group.need
    return None


def limits_of(instance: Instance, groups: Sequence[PriceGroup]) -> Iterator[tuple[str, Sum]]:
    """Yield the model's limits as sums, by the names of their rows."""
    if not instance.on(Rule.LIMITS):
        return
    limits = instance.model.limits
    for name, limit, out, evicted in (
        ("limit evictions", limits.evictions, 0, 1),
        ("limit moves", limits.moves, 1, -1),
    ):
        draft = _Draft(groups)
        draft.out, draft.evicted = [out] * len(groups), [evicted] * len(groups)
        row = None if limit is None else draft.finish(limit)
        if row is not None:
            yield name, row


def least_placed(
    instance: Instance, groups: Sequence[PriceGroup], sums: Sequence[Sum]
) -> tuple[int, ...]:
    """Return how many pods of each group every plan within the limits of some sums has placed."""
    found = []
    for i, group in enumerate(groups):
        job, first = job_and_pods(instance, group)
        least = 0 if first.index in evictable(instance) else group.running
        if instance.on(Rule.REQUIRED) and job.index in instance.required:
            least = max(least, group.need)
        for row in sums:
            if any(row.placed):
                continue  # what others hold counts against it
            # In all other sums no other group's part is negative, nor another part of this one's.
            if row.missing[i]:
                least = max(least, row.wanted[i] - row.limit // row.missing[i])
            if row.evicted[i] > 0:
                each = row.evicted[i] + row.out[i]  # an evicted pod has left its node
                least = max(least, group.running - row.limit // each)
            if row.unplaced.get(job.index, 0) > row.limit:
                least = max(least, group.need)
        found.append(min(least, group.count))
    return tuple(found)
