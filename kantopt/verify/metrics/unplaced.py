"""M1 unplaced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd

from kantopt.problem.amounts import gpus_among
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.kept import PER_TIER, kept_with_instance
from kantopt.problem.tiers import Tier, concerned
from kantopt.schema.model import Metric, Rule
from kantopt.verify.bounds.alike_jobs import alike_jobs
from kantopt.verify.bounds.departures import evictable, most_held, most_on_nodes
from kantopt.verify.bounds.fewest import fewest_of
from kantopt.verify.bounds.left_out import least_left_out
from kantopt.verify.bounds.room import most_pods
from kantopt.verify.bounds.shortage import bound_shortage
from kantopt.verify.step import Loads, Step


def role_weights(tier: Tier, instance: Instance, job: Job) -> list[int]:
    """Weight of one pod of each role of a job."""
    return [tier.weight(instance.podsets[role.podsets[0]]) for role in job.roles]


def whole(tier: Tier, instance: Instance, job: Job) -> int:
    """Weight of all members of a job."""
    weights = role_weights(tier, instance, job)
    return sum(w * role.count for w, role in zip(weights, job.roles, strict=True))


def core(tier: Tier, instance: Instance, job: Job) -> int:
    """Weight of the members that a job cannot do without; of a job that is no gang, of all."""
    if not job.is_gang:
        return whole(tier, instance, job)
    weights = role_weights(tier, instance, job)
    mass = sum(w * role.min_count for w, role in zip(weights, job.roles, strict=True))
    short = max(0, job.min_count - sum(role.min_count for role in job.roles))
    for w, role in sorted(zip(weights, job.roles, strict=True), key=lambda item: item[0]):
        taken = min(short, role.count - role.min_count)
        mass += w * taken
        short -= taken
    return mass


def missing(tier: Tier, step: Step, job: Job) -> int:
    """Weight of the members of a job that are not placed, as far as the tier counts them."""
    return missing_of(tier, step.instance, job, [step.role_placed(role) for role in job.roles])


def missing_of(tier: Tier, instance: Instance, job: Job, placed: Sequence[int]) -> int:
    """Weight of what a tier counts with so many pods by role: members below minCount, or others."""
    below = missing_core(tier, instance, job, placed)
    if not tier.surplus:
        return below
    weights = role_weights(tier, instance, job)
    lacking = (role.count - k for role, k in zip(job.roles, placed, strict=True))
    return sum(w * k for w, k in zip(weights, lacking, strict=True)) - below


def missing_core(tier: Tier, instance: Instance, job: Job, placed: Sequence[int]) -> int:
    """Weight of the members below minCount that are not placed, with so many pods by role."""
    if job.placed_with(placed):
        return 0
    weights = role_weights(tier, instance, job)
    if job.min_count or not job.is_gang:
        mass = sum(w * k for w, k in zip(weights, placed, strict=True))
        return max(0, core(tier, instance, job) - mass)
    return sum(
        w * max(0, role.min_count - k)
        for w, role, k in zip(weights, job.roles, placed, strict=True)
    )


def _counts(tier: Tier, instance: Instance, job: Job) -> bool:
    """Whether a job has pods of any weight in a tier."""
    return tier.unit == "jobs" or any(role_weights(tier, instance, job))


@kept_with_instance(most=PER_TIER)
def _kinds(tier: Tier, instance: Instance) -> list[tuple[Job, int]]:
    """Return one of each kind of the jobs that a tier concerns, and their number."""
    return [pair for pair in alike_jobs(instance, tier) if _counts(tier, instance, pair[0])]


@dataclass(frozen=True, slots=True)
class _Jobs:
    """Jobs that a tier counts, told apart by what it takes to count them."""

    plain: tuple[tuple[int, int, int], ...]
    """Of those of one pod set: the set, weight of a pod, and pods that the job needs."""
    rest: tuple[Job, ...]


@kept_with_instance(most=PER_TIER)
def _jobs(tier: Tier, instance: Instance) -> _Jobs:
    plain: list[tuple[int, int, int]] = []
    rest: list[Job] = []
    for job in concerned(instance, tier):
        if not _counts(tier, instance, job):
            continue
        if len(job.podsets) == 1:
            (s,), (role,) = job.podsets, job.roles
            plain.append((s, tier.weight(instance.podsets[s]), job.needed(role)))
        else:
            rest.append(job)
    return _Jobs(tuple(plain), tuple(rest))


@kept_with_instance(most=PER_TIER)
def _cores(tier: Tier, instance: Instance) -> list[int]:
    """Weight of what each job that a tier counts cannot do without, the heaviest first."""
    cores = ((core(tier, instance, job), number) for job, number in _kinds(tier, instance))
    return [each for each, number in sorted(cores, reverse=True) for _ in range(number)]


def measure_unplaced(tier: Tier, step: Step) -> int:
    """What is wanted and not placed, running jobs that lose their place included."""
    jobs, placed = _jobs(tier, step.instance), step.placed
    if tier.unit == "jobs":
        short = sum(1 for s, _, needed in jobs.plain if placed[s] < needed)
        return short + sum(not step.satisfied(job) for job in jobs.rest)
    rest = sum(missing(tier, step, job) for job in jobs.rest)
    below = sum(w * (needed - placed[s]) for s, w, needed in jobs.plain if placed[s] < needed)
    if not tier.surplus:
        return rest + below
    sets = step.instance.podsets
    return rest + sum(w * (sets[s].count - placed[s]) for s, w, _ in jobs.plain) - below


def bound_unplaced(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """What no plan can place: jobs that fit nowhere, and GPUs beyond those that there are.

    A pod set has room for the sum over its nodes of what an otherwise empty node holds (for a
    required topology, the best domain's). What all nodes together have room for is in
    :mod:`kantopt.verify.bounds.shortage`, how many jobs make up what is missing in
    :mod:`kantopt.verify.bounds.left_out`. GPUs placed at the tier's priority are at most those of
    the cluster less those that the tiers above, at their values, have placed, or that pods of
    other priorities hold which nobody may evict.
    """
    if tier.surplus:
        return _surplus_beside(tier, instance, above)
    least = max(_hopeless(tier, instance), bound_shortage(tier, instance, above))
    if tier.unit == "jobs":
        fewest = 0
        if tier.priority is not None:
            whose = tier.priority, tier.preempts, tier.of_waiting
            fewest = least_left_out(instance, above, whose, "jobs", bound_unplaced, core)
        return max(least, fewest, _fewest_jobs(tier, instance, above))
    if tier.unit != "milli-GPU":
        return least
    return max(least, sum(_cores(tier, instance)) - gpus_beside(tier, instance, above))


def _surplus_beside(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """GPUs of members above minCount beyond those that the tiers above leave."""
    below = above.get(replace(tier, surplus=False))
    if tier.unit != "milli-GPU" or below is None:
        return 0
    return max(0, _wanted(tier, instance) - below - gpus_beside(tier, instance, above))


@kept_with_instance(most=PER_TIER)
def _wanted(tier: Tier, instance: Instance) -> int:
    """Weight of all members of the jobs that a tier counts."""
    return sum(number * whole(tier, instance, job) for job, number in _kinds(tier, instance))


@kept_with_instance(most=PER_TIER)
def _hopeless(tier: Tier, instance: Instance) -> int:
    """What there is not even room for on an empty cluster."""
    hopeless = 0
    for job, number in _kinds(tier, instance):
        if tier.unit == "jobs":
            hopeless += number * never_placed(instance, job)
        elif not job.is_gang:
            hopeless += number * missing_of(tier, instance, job, most_placed(instance, job))
        elif _starts_whole(instance, job) and never_placed(instance, job):
            hopeless += number * core(tier, instance, job)
    return hopeless


def most_placed(instance: Instance, job: Job) -> list[int]:
    """Most pods of each role that any plan could have placed."""
    return [min(role.count, most_pods(instance, job.index, i)) for i, role in enumerate(job.roles)]


def never_placed(instance: Instance, job: Job) -> bool:
    """Whether arithmetic alone shows that no plan places a job: there is not the room for it.

    Neither on an empty cluster nor, in GPUs, beside what nobody may evict.
    """
    most = most_gpus_of_all(instance)
    if most is not None:
        least = core(Tier(Metric.UNPLACED, "milli-GPU"), instance, job)
        others = _staying_in_all(instance) - _staying(instance).get(job.index, 0)
        if least and least > most - others:
            return True
    return not job.placed_with(most_placed(instance, job))


def never_starts(instance: Instance, job: Job) -> bool:
    """Whether no plan places a single pod of a job: there is no room on an empty cluster."""
    room = most_placed(instance, job)
    return not (job.placed_with(room) if job.is_gang and instance.on(Rule.GANG) else any(room))


def required_never_placed(instance: Instance) -> bool:
    """Whether arithmetic alone shows that no plan places some required job."""
    return any(never_placed(instance, instance.jobs[j]) for j in instance.required)


def _fewest_jobs(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Fewest jobs that can lack the GPUs which a tier above must leave unplaced."""
    fewest = 0
    higher: dict[Tier, int] = {}
    for other, value in above.items():
        unplaced = other.metric is tier.metric and not other.surplus
        if other.whose == tier.whose and unplaced and other.unit == "milli-GPU":
            lacking = bound_unplaced(other, instance, higher)
            cores = _cores(other, instance)
            jobs = fewest_of(cores, lacking)
            fewest = max(fewest, len(cores) if jobs is None else jobs)
        higher[other] = value
    return fewest


def _starts_whole(instance: Instance, job: Job) -> bool:
    """Whether a gang that cannot have its minimum has none of its members."""
    return instance.on(Rule.GANG) and not instance.running_of(job.index)


def _gpus_are_limited(instance: Instance) -> bool:
    return instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)


def gpus_beside(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Most milli-GPU for a tier once those of ``unplaced`` above have theirs."""
    most = most_gpus_of_all(instance)
    if most is None:
        return sum(podset.count * podset.gpu_milli for podset in instance.podsets)
    if tier.priority is None:
        return most
    held = _held(instance, above)
    beside = sum(_of_priority(held, p) for p in {p for p, _ in held} - {tier.priority})
    if tier.preempts is not None:
        beside += held[tier.priority, not tier.preempts]
    return max(0, most - beside)


_Held = Counter[tuple[int, bool | None]]
"""GPUs by priority: of all its jobs, of those that may evict others, of those that may not."""


def _held(instance: Instance, above: Mapping[Tier, int]) -> _Held:
    """Milli-GPU that pods hold in every plan no worse than some values above, by priority.

    Pods that nobody may evict stay; and what a job cannot do without it has, or is unplaced. So
    it is with all that jobs ask for, where what is above their minima is counted as well.
    """
    held: _Held = Counter()
    for j, gpus in _staying(instance).items():
        held[instance.jobs[j].priority, instance.jobs[j].may_preempt] += gpus
    for tier, value in above.items():
        if tier.metric is not Metric.UNPLACED or tier.unit != "milli-GPU" or tier.priority is None:
            continue
        key = tier.priority, tier.preempts
        if not tier.surplus:
            held[key] = max(held[key], sum(_cores(tier, instance)) - value)
        elif (below := above.get(replace(tier, surplus=False))) is not None:
            held[key] = max(held[key], _wanted(tier, instance) - below - value)
    return held


def _of_priority(held: _Held, priority: int) -> int:
    apart = held[priority, True] + held[priority, False]
    return max(held[priority, None], apart)


@lru_cache(maxsize=4)
def _staying(instance: Instance) -> dict[int, int]:
    """Milli-GPU by job of the running pods that no plan evicts."""
    found: dict[int, int] = {}
    for podset in instance.podsets:
        if podset.running and podset.gpu_milli and podset.index not in evictable(instance):
            found[podset.job] = found.get(podset.job, 0) + podset.count * podset.gpu_milli
    return found


@lru_cache(maxsize=4)
def _staying_in_all(instance: Instance) -> int:
    return sum(_staying(instance).values())


@lru_cache(maxsize=4)
def most_gpus_of_all(instance: Instance) -> int | None:
    """Most milli-GPU that pods can hold; ``None`` where GPUs are not limited."""
    return sum(most_gpus(instance)) if _gpus_are_limited(instance) else None


@lru_cache(maxsize=4)
def most_gpus(instance: Instance) -> tuple[int, ...]:
    """Most milli-GPU that pods can hold on each node, resource by resource, device by device.

    Pods that run without the devices that they ask for hold what no node offers, and may stay so.
    """
    standing = Loads.of(instance, instance.current)
    asked = [0] * len(instance.nodes)
    for podset in instance.podsets:
        for spot, pods in podset.current.items():
            asked[spot.node] += pods * podset.gpu_milli
    found = []
    for node in instance.nodes:
        n, most = node.index, 0
        held = [(most_on_nodes(instance)[n], tuple(standing.node[n]), 1)]
        rows = zip(node.devices, standing.device[n], strict=True)
        alike = Counter((device.capacity, tuple(taken)) for device, taken in rows)
        held += [
            (most_held(instance, n, capacity, taken), taken, number)
            for (capacity, taken), number in alike.items()
        ]
        for amounts, load, number in held:
            for r, milli in gpus_among(instance.resources):
                amount, used = amounts[r], load[r]
                most += number * milli * (used if amount is None else amount)
                asked[n] -= number * milli * used
        found.append(most + max(0, asked[n]))
    return tuple(found)


def least_pods(instance: Instance, above: Mapping[Tier, int]) -> tuple[int, ...]:
    """Return pods of each pod set, in sum over its role, that every plan has placed.

    Those that nobody may evict stay; and what a tier above counts as unplaced, and finds nothing
    of, is placed: of roles with both running and pending pods this is said of the pending ones.
    """
    least = [
        podset.count if podset.running and podset.index not in evictable(instance) else 0
        for podset in instance.podsets
    ]
    for tier, value in above.items():
        if not tier.counts_unplaced or value:
            continue
        for job in concerned(instance, tier):
            if job.is_gang and job.min_count and len(job.roles) > 1:
                continue  # members of one role may stand for those of another
            for role, w in zip(job.roles, role_weights(tier, instance, job), strict=True):
                if w and (more := job.needed(role) - sum(least[s] for s in role.podsets)) > 0:
                    least[role.podsets[-1]] += more
    return tuple(least)


def gpu_unit(instance: Instance) -> int:
    """Return the largest number of milli-GPU that divides what every pod asks for."""
    return gcd(*(podset.gpu_milli for podset in instance.podsets)) or 1


def least_gpus_on_nodes(
    instance: Instance, above: Mapping[Tier, int]
) -> tuple[int, tuple[int, ...]] | None:
    """Return :func:`least_gpus` without what daemons ask for, and the most that each node holds.

    In units of :func:`gpu_unit`; ``None`` where GPUs are not limited.
    """
    if not _gpus_are_limited(instance):
        return None
    unit = gpu_unit(instance)
    daemons = sum(p.count * p.gpu_milli for p in instance.podsets if p.daemon)
    least = least_gpus(instance, above) - daemons
    return -(-least // unit), tuple(room // unit for room in most_gpus(instance))


def least_gpus(instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return milli-GPU that pods hold in every plan no worse than some values in the tiers above.

    What a job cannot do without it has, or counts as unplaced; and pods that nobody may evict stay.
    """
    held = _held(instance, above)
    everybody = 0
    for tier, value in above.items():
        counts = tier.counts_unplaced and tier.unit == "milli-GPU"
        if counts and tier.priority is None:
            everybody = max(everybody, sum(_cores(tier, instance)) - value)
    return max(everybody, sum(_of_priority(held, p) for p in {p for p, _ in held}))
