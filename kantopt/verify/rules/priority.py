"""R10 priority."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Spots
from kantopt.schema.model import Rule
from kantopt.verify.rules.anti_affinity import check_anti_affinity
from kantopt.verify.rules.capacity import check_capacity
from kantopt.verify.rules.devices import check_devices
from kantopt.verify.rules.quota import check_quota, queue_limit, shared_limits
from kantopt.verify.rules.spread import check_kept_spread, out_of_balance
from kantopt.verify.step import Loads, Step, Violation

Pods = dict[tuple[int, Spot], int]
"""Pods by pod set and spot."""

ROOM_RULES = {
    Rule.CAPACITY: check_capacity,
    Rule.DEVICES: check_devices,
    Rule.QUOTA: check_quota,
    Rule.ANTI_AFFINITY: check_anti_affinity,
}
"""What room is a matter of: each is a sum over pods, or over the pods of a domain."""


def check_priority(step: Step) -> Iterator[Violation]:
    """Room of an evicted pod belongs to newly placed jobs that are more important and need it.

    Such a job has a strictly higher priority and a preemption policy other than Never. Its need
    shows by putting back: with all pods removed that arrive and may not evict the victim, the
    victim still does not fit where it was. A gang evicted as a whole is put back as a whole, any
    other pod alone, at each place that its pod set has left. And nobody else profits: with all
    victims of some priority or a higher one put back, all arriving pods that may not evict that
    priority still have their room.
    """
    instance = step.instance
    if not instance.strict:
        return
    remaining: dict[int, tuple[Loads, Pods]] = {}
    gone: set[int] = set()
    for job in step.changed_jobs:
        victims = [s for s in job.podsets if step.evicted(s)]
        if not victims:
            continue
        subject = f"job {job.name}"
        if not any(instance.may_evict_for(other.index, job.index) for other in step.started):
            pods = sum(step.evicted(s) for s in victims)
            text = f"{_are_evicted(pods)}, and no job that starts may evict {_them(pods)}"
            yield Violation(Rule.PRIORITY, subject, text)
            continue
        gone.add(job.priority)
        if job.priority not in remaining:
            remaining[job.priority] = without_lesser(step, job)
        for unit in victim_units(step, job):
            if not in_the_way(step, remaining[job.priority], unit):
                nodes = sorted({instance.nodes[spot.node].name for _, spot in unit})
                pods = sum(unit.values())
                yield Violation(
                    Rule.PRIORITY,
                    subject,
                    f"{_are_evicted(pods)} that would still fit on {', '.join(nodes)}: nobody who "
                    f"may evict {_them(pods)} needs that room",
                )
    for priority in sorted(gone):
        for violation in _broken(step, priority):
            yield Violation(
                Rule.PRIORITY,
                violation.subject,
                f"{violation.message} with the victims of priority {priority} and higher put "
                "back, beside arrivals that may not evict them",
            )


def _are_evicted(pods: int) -> str:
    return f"{pods} pod{' is' if pods == 1 else 's are'} evicted"


def _them(pods: int) -> str:
    return "it" if pods == 1 else "them"


def _broken(step: Step, priority: int) -> Iterator[Violation]:
    """What arrivals break that may not evict a priority, whose victims are back."""
    instance = step.instance

    def entitled(j: int) -> bool:
        return instance.jobs[j].may_preempt and instance.jobs[j].priority > priority

    kept, counted = _kept(step, priority, entitled), _counted(step, priority, entitled)
    for rule, checked in ROOM_RULES.items():
        if instance.on(rule):
            yield from checked(counted if rule is Rule.QUOTA else kept)
    if instance.on(Rule.SPREAD):
        yield from check_kept_spread(step, kept.after, entitled)


def _kept(step: Step, priority: int, entitled: Callable[[int], bool]) -> Step:
    """Return the step with victims of a priority or a higher one back where they were.

    Arrivals that may evict that priority are away; of a pod set with victims all pods are back at
    each spot that was left beside those that moved: nobody can tell who moved from who is evicted.
    """
    changes: dict[int, Spots] = {}
    for s in step.changed:
        job = step.instance.job_of(s)
        before, after = step.before.podsets[s], step.after.podsets[s]
        if entitled(job.index):
            came = step.arrivals[s]
            after = {spot: k - came.get(spot, 0) for spot, k in after.items()}
        if job.priority >= priority and step.evicted(s):
            after = {x: max(before.get(x, 0), after.get(x, 0)) for x in {**before, **after}}
        changes[s] = after
    return Step(step.instance, step.before, step.after.replace(changes))


def _counted(step: Step, priority: int, entitled: Callable[[int], bool]) -> Step:
    """Return the same for quota, which does not ask where pods are: who moves counts once."""

    def as_before(s: int) -> bool:
        job = step.instance.job_of(s)
        return entitled(job.index) or (job.priority >= priority and step.evicted(s) > 0)

    before = {s: step.before.podsets[s] for s in step.changed if as_before(s)}
    return Step(step.instance, step.before, step.after.replace(before))


def victim_units(step: Step, job: Job) -> Iterator[Pods]:
    """What is put back together of a job's pods: all of a gang that is gone, else single pods."""
    victims = [s for s in job.podsets if step.evicted(s)]
    whole = (job.is_gang or job.all_victims) and not any(step.placed[s] for s in job.podsets)
    if whole and victims:
        yield {(s, spot): k for s in victims for spot, k in step.before.podsets[s].items()}
    else:
        for s in victims:
            for spot in sorted(step.departures[s]):
                yield {(s, spot): 1}


def without_lesser(step: Step, victim: Job) -> tuple[Loads, Pods]:
    """Loads after the step without the arrivals, new or moved, that may not evict the victim.

    Quota does not ask where pods are: there those that moved are still counted. And the other pods,
    as far as anti-affinity names them or spread counts them.
    """
    instance = step.instance
    loads = step.loads.copy()
    named = named_in(step)
    pods: Pods = {}
    for podset, spots in zip(instance.podsets, step.after.podsets, strict=True):
        s = podset.index
        arrived: Spots = {}
        if not instance.may_evict_for(podset.job, victim.index):
            arrived = step.arrivals[s]
            for spot, k in arrived.items():
                loads.add(s, spot, -k)
                if podset.running and (queue := instance.jobs[podset.job].queue) is not None:
                    loads.usage.add(queue, podset.demand, k, 0)
        if s in named:
            pods.update(((s, spot), k - arrived.get(spot, 0)) for spot, k in spots.items())
    return loads, pods


def named_in(step: Step) -> frozenset[int]:
    """Pod sets that anti-affinity names, or that spread counts where pods arrive."""
    named = {s for term in step.instance.anti_affinities for s in (term.owner, *term.others)}
    return frozenset(named.union(*(spread.counted for spread in step.spreading)))


def in_the_way(step: Step, remaining: tuple[Loads, Pods], unit: Pods) -> list[Rule]:
    """Rules that keep some pods from going back beside what remains."""
    instance = step.instance
    loads, pods = remaining
    for (s, spot), k in unit.items():
        loads.add(s, spot, k)
    blocked: dict[Rule, Callable[[], bool]] = {
        Rule.CAPACITY: lambda: _node_full(loads, unit),
        Rule.DEVICES: lambda: _device_full(loads, unit),
        Rule.QUOTA: lambda: _quota_full(loads, unit),
        Rule.ANTI_AFFINITY: lambda: _repelled(step, pods, unit),
        Rule.SPREAD: lambda: out_of_balance(step, pods, unit),
    }
    try:
        return [rule for rule, full in blocked.items() if instance.on(rule) and full()]
    finally:
        for (s, spot), k in unit.items():
            loads.add(s, spot, -k)


def _node_full(loads: Loads, unit: Pods) -> bool:
    instance = loads.instance
    return any(
        amount and limit is not None and load > limit
        for s, spot in unit
        for amount, load, limit in zip(
            instance.podsets[s].requests,
            loads.node[spot.node],
            instance.nodes[spot.node].capacity,
            strict=True,
        )
    )


def _device_full(loads: Loads, unit: Pods) -> bool:
    instance = loads.instance
    return any(
        amount and loads.device[spot.node][device][r] > limit
        for s, spot in unit
        for device, request in loads.device_requests(s, spot)
        for r, (amount, limit) in enumerate(
            zip(request, instance.nodes[spot.node].devices[device].capacity, strict=True)
        )
    )


def _quota_full(loads: Loads, unit: Pods) -> bool:
    """Whether a queue would use more than it may beside others that came.

    If none came, what it used beyond that before is no reason.
    """
    instance = loads.instance
    demanded: dict[int, set[int]] = {}
    for s, _ in unit:
        q = instance.job_of(s).queue
        if q is not None:
            amounts = enumerate(instance.podsets[s].demand)
            demanded.setdefault(q, set()).update(r for r, amount in amounts if amount)
    for q, resources in demanded.items():
        queue = instance.queues[q]
        for quota in queue.quotas:
            r, limit = quota.resource, queue_limit(queue, quota)
            if r not in resources:
                continue
            usage = loads.usage
            if limit is not None and usage.of[q][r] > limit and usage.came.get((q, r)):
                return True
            cohort = queue.cohort, r
            if queue.cohort and usage.overdrawn(cohort, shared_limits(instance)[cohort]):
                return True
    return False


def _repelled(step: Step, pods: Pods, unit: Pods) -> bool:
    instance = step.instance
    known: dict[str, Mapping[str, Counter[int]]] = {}
    for t in sorted({t for s, _ in unit for t in instance.terms_of.get(s, ())}):
        term = instance.anti_affinities[t]
        if term.key not in known:
            known[term.key] = _beside(instance, term.key, pods, unit)
        mates = {term.owner, *term.others}
        allowed = 1 if term.owner in term.others else 0
        for domain in {instance.label_domain(x.node, term.key) for s, x in unit if s in mates}:
            there = Counter[int]() if domain is None else known[term.key][domain]
            if there[term.owner] and sum(there[s] for s in term.others) > allowed:
                return True
    return False


def _beside(instance: Instance, key: str, pods: Pods, unit: Pods) -> Mapping[str, Counter[int]]:
    """Count by pod set what is in the domains of a unit, that itself included."""
    domains = {instance.label_domain(spot.node, key) for _, spot in unit}
    found = {domain: Counter[int]() for domain in domains if domain is not None}
    on = {
        node.index: found[domain]
        for node in instance.nodes
        if (domain := node.labels.get(key)) is not None and domain in found
    }
    for (s, spot), k in (*pods.items(), *unit.items()):
        if spot.node in on:
            on[spot.node][s] += k
    return found
