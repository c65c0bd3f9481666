"""Which limits of disruption a plan was held to, where it leaves something to be wished for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache

from kantopt.problem.derived.focus import with_model
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.bounds.departures import evictable, may_move
from kantopt.verify.step import Step


def held_to_words(instance: Instance, placement: Placement, *, missed: bool) -> tuple[str, ...]:
    """Name the limits that a plan was held to, but for those without which nobody could leave.

    Whether higher ones would bring more is not asked: three moves are often worth nothing where
    four are. So if a goal is ``missed`` all are named; else those of which the plan has come to
    the end.
    """
    if not instance.on(Rule.LIMITS):
        return ()
    limits = (*_moves(instance, placement), *_evictions(instance, placement))
    named = ", ".join(
        f"{name} {limit}" for name, limit, used in limits if missed or used >= limit > 0
    )
    words = [f"limits that the plan was held to: {named}"] if named else []
    allowed = instance.model.limits.evictions is not None
    if missed and allowed and spared(instance) and not any(freedom_of(instance).evictions):
        words.append(f"nobody is evicted: {SPARED}")
    return tuple(words)


SPARED = "no more important job is to take the room (rule priority)"


@lru_cache(maxsize=4)
def spared(instance: Instance) -> frozenset[int]:
    """Return the pod sets that nothing but the rule of priorities keeps from being evicted."""
    others = [rule for rule in Rule if instance.on(rule) and rule != Rule.PRIORITY]
    pairs = zip(freedom_of(instance).evictions, freedom_of(instance, others).evictions, strict=True)
    return frozenset(s for s, (most, without) in enumerate(pairs) if without and not most)


_Used = tuple[str, int, int]
"""Name of a limit, what it allows, and the most that a plan has used of it anywhere."""


def _moves(instance: Instance, placement: Placement) -> Iterator[_Used]:
    limits = instance.model.limits
    lifted = dict.fromkeys(("moves", "moves_per_job"))
    free = with_model(instance, limits=limits.model_copy(update=lifted))
    movable = [podset for podset in free.podsets if may_move(free, podset)]
    if not movable:
        return
    step = Step(instance, instance.current, placement)
    jobs, namespaces = Counter[int](), Counter[str]()
    arrivals, departures = Counter[int](), Counter[int]()
    for podset in movable:
        job, s = instance.job_of(podset.index), podset.index
        jobs[job.index] += step.moved(s)
        namespaces[job.namespace] += step.moved(s)
        for counts, spots in (arrivals, step.arrivals[s]), (departures, step.departures[s]):
            for spot, pods in spots.items():
                counts[spot.node] += pods
    for name, limit, used in (
        ("moves", limits.moves, jobs.total()),
        ("movesPerJob", limits.moves_per_job, _most(jobs)),
        ("movesPerNamespace", limits.moves_per_namespace, _most(namespaces)),
        ("arrivalsPerNode", limits.arrivals_per_node, _most(arrivals)),
        ("departuresPerNode", limits.departures_per_node, _most(departures)),
    ):
        if limit is not None:
            yield name, limit, used


def _most(counts: Mapping[int, int] | Mapping[str, int]) -> int:
    return max(counts.values(), default=0)


def _evictions(instance: Instance, placement: Placement) -> Iterator[_Used]:
    limits = instance.model.limits
    free = with_model(instance, limits=limits.model_copy(update={"evictions": None}))
    if limits.evictions is not None and evictable(free):
        step = Step(instance, instance.current, placement)
        running = [podset.index for podset in instance.podsets if podset.running]
        yield "evictions", limits.evictions, sum(map(step.evicted, running))
