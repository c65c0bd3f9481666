"""What of the documents a model asks about: which pending jobs, and which pods stay as they are."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kantopt.problem.not_modelled import not_placed
from kantopt.schema.eligibility import CORDON, tolerates
from kantopt.schema.features import Feature
from kantopt.schema.jobs import Assignment, Job, PodSet


def asked_for(job: Job, patterns: Sequence[str] | None) -> bool:
    """Whether pending pods of a job are to be placed; without patterns those of every job are."""
    return patterns is None or is_named(job.full_name, patterns)


def is_named(job: str, patterns: Iterable[str]) -> bool:
    """Whether patterns, of ``NAMESPACE/NAME`` or ``NAME``, match the first form of a name."""
    names = (job, job.partition("/")[2])
    return any(fnmatchcase(n, p) for p in patterns for n in names)


def considered(
    jobs: Iterable[Job], patterns: Sequence[str] | None, assumed: Collection[Feature] = ()
) -> tuple[Job, ...]:
    """Return the jobs that a question is about, in their order.

    Of jobs that are not asked for, and of pods that ask for what is neither modelled nor assumed,
    these are the running pods: as many as run are wanted, and no more of them are a minimum.
    """
    found = []
    for job in jobs:
        outside = not_placed(job, assumed) if asked_for(job, patterns) else job.pod_sets
        if not any(podset.waiting for podset in outside):
            found.append(job)
        elif kept := _without(job, outside):
            found.append(kept)
    return tuple(found)


def as_cordoned(jobs: Iterable[Job], nodes: Collection[str]) -> tuple[Job, ...]:
    """Return jobs as they are once nodes are cordoned: who is only nominated there waits again.

    kube-scheduler tries a nominated node by the filters that it tries any node by: who does not
    tolerate the cordon is not let in there.
    """
    return tuple(_as_cordoned(job, nodes) for job in jobs) if nodes else tuple(jobs)


def _as_cordoned(job: Job, nodes: Collection[str]) -> Job:
    podsets = []
    for podset in job.pod_sets:
        if lost := nominated_to(podset, nodes):
            kept = tuple(place for place in podset.assignments if place not in lost)
            pods = (*podset.pods, *(pod for place in lost for pod in place.pods))
            podset = podset.model_copy(update={"assignments": kept, "pods": pods})
        podsets.append(podset)
    return job.model_copy(update={"pod_sets": tuple(podsets)})


def nominated_to(podset: PodSet, nodes: Collection[str]) -> tuple[Assignment, ...]:
    """Return places on nodes that pods are nominated to and lose once these are cordoned."""
    if not podset.nominated or tolerates(podset.tolerations, CORDON):
        return ()
    return tuple(place for place in podset.assignments if place.node in nodes)


def left_aside(
    jobs: Iterable[Job], patterns: Sequence[str] | None, assumed: Collection[Feature] = ()
) -> tuple[tuple[str, PodSet], ...]:
    """Return the pending pods that a question is not about: namespaces, pod sets of only them."""
    return tuple(
        (job.namespace, podset.model_copy(update={"count": podset.waiting, "assignments": ()}))
        for job in jobs
        for podset in (not_placed(job, assumed) if asked_for(job, patterns) else job.pod_sets)
        if podset.waiting
    )


def is_exempt(labels: Mapping[str, str], selectors: Iterable[str]) -> bool:
    """Whether pods with some labels are to be left alone, by ``KEY=VALUE`` or ``KEY``."""
    return any(has_label(labels, selector) for selector in selectors)


def has_label(labels: Mapping[str, str], selector: str) -> bool:
    """Whether labels have that of a selector, ``KEY=VALUE`` or ``KEY``."""
    key, given, value = selector.partition("=")
    return key in labels and (not given or labels[key] == value)


def as_pending(job: Job) -> Job:
    """Return a job as if none of its pods ran."""
    podsets = tuple(p.model_copy(update={"assignments": ()}) for p in job.pod_sets)
    return job.model_copy(update={"pod_sets": podsets})


def running_only(job: Job) -> Job | None:
    """Return a job without its pending pods; ``None`` if nothing of it runs."""
    return _without(job, job.pod_sets)


def _without(job: Job, outside: Collection[PodSet]) -> Job | None:
    """Return a job without the pending pods of some pod sets; ``None`` if nothing is left."""
    podsets, names = [], {podset.name for podset in outside}
    for podset in job.pod_sets:
        count = podset.count
        if podset.name in names:
            count -= podset.waiting
            update = {"count": count, "min_count": min(job.least_of(podset), count)}
            podset = podset.model_copy(update=update)
        if count:
            podsets.append(podset)
    if not podsets:
        return None
    total = sum(podset.count for podset in podsets)
    least = None if job.min_count is None else min(job.min_count, total)
    return job.model_copy(update={"pod_sets": tuple(podsets), "min_count": least})
