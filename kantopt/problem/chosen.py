"""What of the documents a model asks about: which pending jobs, and which pods stay as they are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from kantopt.schema.jobs import Job


def asked_for(job: Job, patterns: Sequence[str] | None) -> bool:
    """Whether pending pods of a job are to be placed; without patterns those of every job are."""
    names = (f"{job.namespace}/{job.name}", job.name)
    return patterns is None or any(fnmatchcase(n, p) for n in names for p in patterns)


def considered(jobs: Iterable[Job], patterns: Sequence[str] | None) -> tuple[Job, ...]:
    """Return the jobs that a question is about, in their order.

    Of jobs that are not asked for these are the running pods: as many as run are wanted, and no
    more of them are a minimum.
    """
    found = []
    for job in jobs:
        if asked_for(job, patterns) or not _pending(job):
            found.append(job)
        elif any(podset.assignments for podset in job.pod_sets):
            found.append(_running(job))
    return tuple(found)


def is_exempt(labels: Mapping[str, str], selectors: Iterable[str]) -> bool:
    """Whether pods with some labels are to be left alone, by ``KEY=VALUE`` or ``KEY``."""
    for selector in selectors:
        key, given, value = selector.partition("=")
        if key in labels and (not given or labels[key] == value):
            return True
    return False


def _pending(job: Job) -> int:
    return sum(podset.count for podset in job.pod_sets) - _count(job)


def _count(job: Job) -> int:
    return sum(place.count for podset in job.pod_sets for place in podset.assignments)


def _running(job: Job) -> Job:
    podsets = []
    for podset in job.pod_sets:
        count = sum(place.count for place in podset.assignments)
        if count:
            least = podset.min_count
            if least is None:
                least = 0 if job.min_count is not None else podset.count
            update = {"count": count, "min_count": min(least, count)}
            podsets.append(podset.model_copy(update=update))
    least = None if job.min_count is None else min(job.min_count, _count(job))
    return job.model_copy(update={"pod_sets": tuple(podsets), "min_count": least})
