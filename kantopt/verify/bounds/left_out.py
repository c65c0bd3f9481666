"""Who can be left out? Sums of the sizes of jobs, given how much stays unplaced at their priority.

What the tiers above leave unplaced is known from both sides: their values are the most, their own
bounds the least. Gangs are left out whole, so that not every amount is a sum of some; and of the
sums that are left each takes so many jobs, evictions and evicted pods at least. All jobs of one
priority are tried at once, amount by amount (Bellman 1957).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import NamedTuple

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.alike_jobs import alike_jobs
from kantopt.verify.bounds.cover import portions

MOST_STEPS = 8_000_000
"""Most entries of tables that are filled; beyond, fewer of the tiers above are looked at."""


class Loss(NamedTuple):
    """What it means to leave a job, or a pod of one, out."""

    weight: int
    jobs: int
    cost: int
    pods: int


@dataclass(frozen=True, slots=True)
class Losses:
    """All that could be left out at one priority, and how often.

    ``slack`` is weight of gangs that may lose any part of it at no cost that is known.
    """

    counts: Mapping[Loss, int]
    slack: int


Core = Callable[[Tier, Instance, Job], int]


def losses(instance: Instance, tier: Tier, core: Core) -> Losses:
    """Return what could be left out of what an ``unplaced`` tier of one priority counts."""
    counts: Counter[Loss] = Counter()
    slack = 0
    for job, number in alike_jobs(instance, tier):
        mass = core(tier, instance, job)
        if not mass:
            continue
        if not job.is_gang:
            counts.update({loss: number * k for loss, k in _of_pods(instance, tier, job)})
        elif all_or_nothing(instance, job):
            counts[Loss(mass, 1, *_eviction(instance, job))] += number
        else:
            slack += number * mass
    return Losses(counts, slack)


def all_or_nothing(instance: Instance, job: Job) -> bool:
    """Whether a job that is not placed has no pods in the end.

    So the gang rule has it, but for gangs some of whose pods run while it is not placed now.
    """
    if not (job.is_gang and instance.on(Rule.GANG)):
        return False
    running = instance.running_roles(job)
    return not any(running) or job.placed_with(running)


def _eviction(instance: Instance, job: Job) -> tuple[int, int]:
    """Cost and pods of evicting all that runs of a job."""
    running = [instance.podsets[s] for s in instance.running_of(job.index)]
    cost = sum(podset.disruption_cost * podset.count for podset in running)
    if job.all_victims:
        cost = job.disruption_cost if running else 0
    return cost, instance.running_pods(job.index)


def _of_pods(instance: Instance, tier: Tier, job: Job) -> Iterator[tuple[Loss, int]]:
    """Yield the pods of a job that is no gang: each is left out by itself.

    Of several pods it is not known which is the one that leaves the job unplaced.
    """
    alone = int(job.count == 1)
    found: Counter[Loss] = Counter()
    for s in job.podsets:
        podset = instance.podsets[s]
        each = tier.weight(podset)
        if not each:
            continue
        if not podset.running:
            found[Loss(each, alone, 0, 0)] += podset.count
        elif not job.all_victims:
            found[Loss(each, alone, podset.disruption_cost, 1)] += podset.count
        elif alone:
            found[Loss(each, 1, job.disruption_cost, 1)] += 1
        else:
            found[Loss(each, 0, 0, 1)] += podset.count
    yield from found.items()


def least_left_out(
    instance: Instance,
    above: Mapping[Tier, int],
    whose: tuple[int, bool | None, bool],
    what: str,
    bound: Callable[[Tier, Instance, Mapping[Tier, int]], int],
    core: Core,
) -> int:
    """Return the fewest jobs, evictions by cost or evicted pods at one priority.

    Parameters
    ----------
    above
        Most of each tier above.
    whose
        Which jobs, as of :attr:`kantopt.problem.tiers.Tier.whose`.
    what
        The field of :class:`Loss` that is counted.
    bound, core
        How a tier of ``unplaced`` is bounded, and what a job of it cannot do without.
    """
    if not _has_gangs(instance):
        return 0  # where each pod counts for itself nothing is whole
    higher: dict[Tier, int] = {}
    weighed: Tier | None = None
    most = least = 0
    limits = {"jobs": None, "cost": None} if what == "pods" else {"jobs": None}
    found: dict[str, int | None] = dict(limits) if what != "jobs" else {}
    for tier, value in above.items():
        if tier.priority == whose[0] and not tier.surplus:
            unplaced = tier.metric is Metric.UNPLACED and tier.whose == whose
            if unplaced and tier.unit == "jobs":
                if "jobs" in found:
                    found["jobs"] = value
            elif unplaced and weighed is None:
                weighed, most = tier, value
                least = bound(tier, instance, higher)
            elif tier.metric is Metric.EVICTIONS and not tier.counts_pods and "cost" in found:
                found["cost"] = value
        higher[tier] = value
    if weighed is None or least <= 0 or least > most:
        return 0
    return _fewest(
        instance, weighed, core, least, most, what, (found.get("jobs"), found.get("cost"))
    )


@lru_cache(maxsize=4)
def _has_gangs(instance: Instance) -> bool:
    return any(job.is_gang and job.count > 1 for job in instance.jobs)


@kept_with_instance(most=256)
def _fewest(
    instance: Instance,
    tier: Tier,
    core: Core,
    least: int,
    most: int,
    what: str,
    limits: tuple[int | None, int | None],
) -> int:
    """Return the least of a field over all sums of weights from ``least`` to ``most``."""
    import numpy as np

    lost = losses(instance, tier, core)
    unit = gcd(*(loss.weight for loss in lost.counts)) or 1
    least = -(-(least - lost.slack) // unit)
    room = most // unit
    if least <= 0:
        return 0
    parts = list(_parts(lost, unit, room))
    jobs, cost = limits
    # Tables that would be too large leave tiers out: that admits more, so a bound stays one.
    if cost is not None and (room + 1) * (1 + (jobs or 0)) * (1 + cost) * len(parts) > MOST_STEPS:
        cost = None
    if jobs is not None and (room + 1) * (1 + jobs) * (1 + (cost or 0)) * len(parts) > MOST_STEPS:
        jobs = None
    if (room + 1) * (1 + (jobs or 0)) * (1 + (cost or 0)) * len(parts) > MOST_STEPS:
        return 0
    never = 2**62
    table = np.full((room + 1, 1 + (jobs or 0), 1 + (cost or 0)), never, dtype=np.int64)
    table[0, 0, 0] = 0
    for loss in parts:
        w = loss.weight
        u = 0 if jobs is None else loss.jobs
        e = 0 if cost is None else loss.cost
        if w > room or u > (jobs or 0) or e > (cost or 0):
            continue
        before = table[: room + 1 - w, : table.shape[1] - u, : table.shape[2] - e]
        added = before + min(int(getattr(loss, what)), 2**40)
        table[w:, u:, e:] = np.minimum(table[w:, u:, e:], added)
    fewest = int(table[least:].min())
    return 0 if fewest >= never else fewest


def _parts(lost: Losses, unit: int, room: int) -> Iterator[Loss]:
    """Yield what may be left out in portions, so that any number of them is a sum."""
    for loss, count in lost.counts.items():
        for k in portions(min(count, room // max(1, loss.weight // unit))):
            yield Loss(loss.weight // unit * k, loss.jobs * k, loss.cost * k, loss.pods * k)
