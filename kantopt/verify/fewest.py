"""Fewest domains or nodes that hold a job's least members on an empty cluster."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.verify.room import node_room


def fewest_domains(
    instance: Instance, job: Job, role: int, regions: Sequence[Iterable[int]]
) -> int:
    """Fewest of some regions that together hold a role's least members, the roomiest first.

    Each node counts as empty. The least members are the role's minCount, or what the other roles
    in full leave of the job's; one pod of a job that is no gang.
    A role that fits in no number of regions counts as 1, so that it never looks crossed for free.
    """
    others = sum(other.count for i, other in enumerate(job.roles) if i != role)
    least = max(1, job.roles[role].min_count, job.min_count - others)
    podset = instance.podsets[job.roles[role].podsets[0]]
    rooms = []
    alike: dict[tuple[object, ...], int] = {}  # most nodes are like many others
    for nodes in regions:
        room = 0
        for n in nodes:
            if n in podset.allowed:
                node = instance.nodes[n]
                shape = (node.capacity, node.devices)
                if shape not in alike:
                    alike[shape] = node_room(node, podset.requests, podset.devices, least)
                room += alike[shape]
            if room >= least:
                break
        rooms.append(room)
    fewest = 0
    for room in sorted(rooms, reverse=True):
        if least <= 0 or room == 0:
            break
        fewest += 1
        least -= room
    return fewest if least <= 0 else 1
