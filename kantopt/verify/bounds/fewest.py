"""Fewest domains or nodes that hold a job's least members on an empty cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.problem.cluster import Node
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.node_room import alike_nodes, room_by_kind


def fewest_of(sizes: Iterable[int], wanted: int) -> int | None:
    """Return how many of some sizes, the largest first, make up an amount; ``None``: all do not."""
    count = 0
    for size in sorted(sizes, reverse=True):
        if wanted <= 0:
            break
        wanted -= size
        count += 1
    return count if wanted <= 0 else None


def fewest_domains(
    instance: Instance, job: Job, role: int, regions: Sequence[Iterable[int]]
) -> int:
    """Fewest of some regions that together hold a role's least members, the roomiest first.

    Each node counts as empty. The least members are the role's minCount, or what the other roles
    in full leave of the job's; one pod of a job that is no gang.
    A role that fits in no number of regions counts as 1, so that it never looks crossed for free.
    """
    least = max(1, job.needed(job.roles[role])) if job.is_gang else 1
    podset = instance.podsets[job.roles[role].podsets[0]]
    rooms = []
    kinds = alike_nodes(instance)
    held = room_by_kind(instance, podset.requests, podset.devices, least, capacity=True)
    for nodes in regions:
        room = 0
        for n in nodes:
            if n in podset.allowed:
                room += held[kinds[n]]
            if room >= least:
                break
        rooms.append(room)
    return fewest_of(rooms, least) or 1


@kept_with_instance(most=100_000)
def fewest_of_level(
    instance: Instance, j: int, level: int | None, roles: tuple[int, ...] | None = None
) -> int:
    """Fewest domains of a level, or nodes if it is ``None``, that hold a job's least members.

    Of each role by itself, all of them unless some are named, on an empty cluster.
    """
    job = instance.jobs[j]
    regions: list[Iterable[int]] = [(n,) for n in range(len(instance.nodes))]
    if level is not None:
        regions = [domain.nodes for domain in instance.topology.domains[level]]
    asked = range(len(job.roles)) if roles is None else roles
    return max(fewest_domains(instance, job, role, regions) for role in asked)


def fewest_together(instance: Instance, job: Job, regions: Sequence[Iterable[int]]) -> int:
    """Fewest of some regions that hold the least members of each role, and the sum of their asks.

    So of each resource that the roles' minCounts ask for together these regions offer enough, the
    roomiest first. Each node counts as empty. No fewer can hold the job; of a job of one role this
    is :func:`fewest_domains`.
    """
    fewest = max(fewest_domains(instance, job, role, regions) for role in range(len(job.roles)))
    podsets = [instance.podsets[role.podsets[0]] for role in job.roles]
    allowed = frozenset[int]().union(*(podset.allowed for podset in podsets))
    pools = [[n for n in nodes if n in allowed] for nodes in regions] if len(podsets) > 1 else []
    for r in range(len(instance.resources) if pools else 0):
        asked = sum(
            p.demand[r] * role.min_count for p, role in zip(podsets, job.roles, strict=True)
        )
        offers = [[_offer(instance.nodes[n], r) for n in nodes] for nodes in pools]
        if not asked or any(None in offer for offer in offers):
            continue
        fewest = max(
            fewest, fewest_of((sum(x for x in offer if x) for offer in offers), asked) or 0
        )
    return fewest


def _offer(node: Node, r: int) -> int | None:
    """What a node and its devices offer of a resource; ``None``: without a limit."""
    own = node.capacity[r]
    return None if own is None else own + sum(device.capacity[r] or 0 for device in node.devices)
