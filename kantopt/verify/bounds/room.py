"""How many pods could there be at most? Arithmetic that ignores all other pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed, Job, PodSet
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.node_room import alike_nodes, room_by_kind
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit
from kantopt.verify.rules.topology import domains_used


@kept_with_instance(most=1024)
def _regions(
    instance: Instance, allowed: frozenset[int] | None, level: int | None
) -> list[Counter[int]]:
    """Allowed nodes by what they offer: of each domain of a level, or of the whole cluster.

    Of nodes that offer the same the number stands for all; it is that of :func:`alike_nodes`.
    """
    alike = alike_nodes(instance)
    domains: Iterable[Iterable[int]] = [range(len(instance.nodes))]
    if level is not None:
        domains = (domain.nodes for domain in instance.topology.domains[level])
    return [
        Counter(alike[n] for n in nodes if allowed is None or n in allowed) for nodes in domains
    ]


@kept_with_instance(most=200_000)
def most_pods(instance: Instance, j: int, role: int) -> int:
    """Most pods of a role that any legal plan could have placed; never too small.

    Looks at nodes, the required topology and the quota of the job's queue, each on its own.
    """
    job = instance.jobs[j]
    podsets = [instance.podsets[s] for s in job.roles[role].podsets]
    if any(podset.running for podset in podsets):
        return job.roles[role].count  # what runs stays whatever the rules say now
    podset = podsets[0]
    level = required_level(instance, j, role)
    allowed = podset.allowed if instance.on(Rule.ELIGIBILITY) else None
    best = _best_region(instance, podset.requests, podset.devices, podset.count, allowed, level)
    return min(best, podset.count, _quota_room(instance, job, podset))


def required_level(instance: Instance, j: int, role: int) -> int | None:
    """Return the level in one domain of which all pods of a role have to be, if there is one."""
    level = None
    if instance.on(Rule.TOPOLOGY):
        for need in instance.needs_of.get(j, ()):
            if role not in need.roles or need.required is None:
                continue
            # Members that run in several domains already may go on doing so.
            if len(domains_used(instance, need, need.required, instance.current.podsets)) < 2:
                level = need.required
    return level


@kept_with_instance(most=4096)
def _best_region(
    instance: Instance,
    requests: Amounts,
    devices: tuple[DeviceNeed, ...],
    most: int,
    allowed: frozenset[int] | None,
    level: int | None,
) -> int:
    """Pods of a shape, at most so many, that the roomiest domain of a level holds, or all nodes."""
    needs = devices if instance.on(Rule.DEVICES) else ()
    rooms = room_by_kind(instance, requests, needs, most, capacity=instance.on(Rule.CAPACITY))
    best = 0
    for region in _regions(instance, allowed, level):
        room = 0
        for kind, number in region.items():
            room += number * rooms[kind]
            if room >= most:
                return most  # where nodes and pods are of many kinds, few have to be looked at
        best = max(best, room)
    return best


def _quota_room(instance: Instance, job: Job, podset: PodSet) -> int:
    """Pods that the queue's quota admits: they are new, and beyond its limit none may come."""
    room = podset.count
    if job.queue is None or not instance.on(Rule.QUOTA):
        return room
    queue = instance.queues[job.queue]
    shared = cohorts(instance)
    for quota in queue.quotas:
        amount = podset.demand[quota.resource]
        if not amount:
            continue
        limits = []
        own = queue_limit(queue, quota)
        if own is not None:
            limits.append(own)
        if queue.cohort:
            members = shared[queue.cohort, quota.resource]
            limits.append(max(0, shared_limit(members) + quota.guaranteed))
        room = min([room, *(limit // amount for limit in limits)])
    return room
