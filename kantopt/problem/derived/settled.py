"""Who is placed stays placed: new pods have to be somewhere, and what runs stays or is evicted.

The neighbourhood of fix-and-optimize (Gintner, Kliewer and Suhl 2005): who waits is settled and
nobody moves who has not moved before, and what is left to say is where new pods go and who leaves.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace

from kantopt.problem.derived.classes import Merged, key_of, merged
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job, PodSet
from kantopt.problem.placement import Placement


def settled(instance: Instance, placement: Placement) -> Merged:
    """Return the question where new pods go, as many as a placement has, and who leaves for them.

    New pods that nothing ties to others of their job are counted with all that are like them. Its
    pending pod sets have all pods that the placement has; those that it leaves out may go nowhere.
    Every placement of it that has them all expands to a legal one of the question, but for what
    must be judged of moves.
    """
    podsets, jobs = list(instance.podsets), list(instance.jobs)
    alike: dict[Hashable, list[int]] = {}
    for s, podset in enumerate(instance.podsets):
        key: Hashable = s
        if podset.running:
            spots = placement.podsets[s].items()
            moved = any(pods > podset.current.get(spot, 0) for spot, pods in spots)
            podsets[s] = replace(podset, movable=podset.movable and moved)
        elif not placement.placed(s):
            podsets[s] = replace(podset, allowed=frozenset())
        elif _loose(instance, podset):
            podsets[s] = replace(podset, count=placement.placed(s))
            jobs[podset.job] = _short(jobs[podset.job], placement.placed(s))
            key = key_of(instance, podset)
        alike.setdefault(key, []).append(s)
    question = replace(instance, podsets=tuple(podsets), jobs=tuple(jobs))
    return merged(question, sorted(map(tuple, alike.values())))


def _loose(instance: Instance, podset: PodSet) -> bool:
    """Whether nothing but that all are placed ties pods of a pending pod set to any others."""
    job = instance.jobs[podset.job]
    return (
        len(job.roles) == len(job.podsets) == 1
        and podset.index not in instance.named
        and job.index not in instance.needs_of
        and job.index not in instance.required
        and podset.wanted is None
    )


def _short(job: Job, pods: int) -> Job:
    """Return a job of one role with no more than so many pods."""
    role = replace(job.roles[0], count=pods, min_count=min(pods, job.roles[0].min_count))
    return replace(job, roles=(role,), min_count=min(pods, job.min_count))
