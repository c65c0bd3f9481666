"""Pods that a bound by multipliers counts together, and how many of them every plan places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kantopt.problem.derived.classes import Merged, merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import evictable, may_move


@dataclass(frozen=True, slots=True, eq=False)
class PriceGroup:
    """Pods of one role, running and pending ones together where a move may pair them.

    Attributes
    ----------
    name
        Name of its row in a witness.
    podsets
        Indices, running before pending.
    home
        Pods that run on each node now.
    running, count
        Pods that run, and pods that there are.
    arriving
        Most pods that could arrive on nodes where they are not.
    leaves
        Whether pods of it may leave their nodes at all.
    need
        Pods without which the job is not placed.
    whole
        Whether the group is all of its role.
    """

    name: str
    podsets: tuple[int, ...]
    home: Mapping[int, int]
    running: int
    count: int
    arriving: int
    leaves: bool
    need: int
    whole: bool


@lru_cache(maxsize=4)
def merged_of(instance: Instance) -> Merged:
    """Return a question with alike pods counted together; worked out once."""
    return merge_pods(instance)


@lru_cache(maxsize=4)
def price_groups(merged: Merged) -> tuple[PriceGroup, ...]:
    """Return the groups of a question, pods that nothing tells apart counted together.

    Where running pods of a role may move, pending ones count with them: the gang rule binds none
    of these while some of those are evicted. Otherwise each pod set is a group.
    """
    instance = merged.instance
    groups = []
    for job in instance.jobs:
        for i, role in enumerate(job.roles):
            paired = len(role.podsets) == 2 and instance.on(Rule.GANG)
            if paired and may_move(instance, instance.podsets[role.podsets[0]]):
                groups.append(_group(merged, job, i, role.podsets))
            else:
                groups += [_group(merged, job, i, (s,)) for s in role.podsets]
    return tuple(groups)


def _group(merged: Merged, job: Job, i: int, podsets: tuple[int, ...]) -> PriceGroup:
    instance = merged.instance
    first, role = instance.podsets[podsets[0]], job.roles[i]
    original = merged.members[podsets[0]][0]
    name = f"{merged.original.job_of(original).name}/{first.name}"
    moves = may_move(instance, first)
    home: dict[int, int] = {}
    for spot, pods in first.current.items():
        home[spot.node] = home.get(spot.node, 0) + pods
    count = instance.pods_of(podsets)
    return PriceGroup(
        name=f"pods {name} running" if first.running else f"pods {name}",
        podsets=podsets,
        home=home,
        running=first.count if first.running else 0,
        count=count,
        arriving=count if moves or not first.running else 0,
        leaves=first.running and (moves or podsets[0] in evictable(instance)),
        need=min(count, max(0, job.needed(role) - (role.count - count))),
        whole=podsets == role.podsets,
    )


def job_and_pods(instance: Instance, group: PriceGroup) -> tuple[Job, PodSet]:
    """Return the job of a group and its first pod set."""
    return instance.job_of(group.podsets[0]), instance.podsets[group.podsets[0]]


def by_job(instance: Instance, groups: Sequence[PriceGroup]) -> dict[int, list[int]]:
    """Return the indices of the groups of each job."""
    found: dict[int, list[int]] = {}
    for i, group in enumerate(groups):
        found.setdefault(instance.podsets[group.podsets[0]].job, []).append(i)
    return found
