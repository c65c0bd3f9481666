"""Pods that ask for what is not modelled: which are left alone, and how many they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from kantopt.schema.answers.left import NotModelled
from kantopt.schema.features import FEATURES, WORDS, Feature
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job, PodSet


def is_left_alone(podset: PodSet, assumed: Collection[Feature]) -> bool:
    """Whether pods ask for something that is neither modelled nor assumed."""
    return any(feature not in assumed for feature in podset.not_modelled)


def not_placed(job: Job, assumed: Collection[Feature]) -> tuple[PodSet, ...]:
    """Return the pod sets whose pending pods nobody places: of a gang all, if of any."""
    found = tuple(p for p in job.pod_sets if is_left_alone(p, assumed) and p.waiting)
    return job.pod_sets if found and _is_gang(job) else found


def why_not_placed(job: Job, assumed: Collection[Feature]) -> str:
    """Say why nobody places a job's pending pods; empty if somebody does."""
    return why_left_alone(not_placed(job, assumed), assumed)


def why_left_alone(podsets: Iterable[PodSet], assumed: Collection[Feature]) -> str:
    """Say what pods of a job ask for that is neither modelled nor assumed; empty if nothing."""
    asked = {f for podset in podsets for f in podset.not_modelled} - set(assumed)
    if not asked:
        return ""
    names = [feature for feature in FEATURES if feature in asked]
    pods = " and ".join(WORDS[feature] for feature in names)
    options = " ".join(f"--assume {feature}" for feature in names)
    return f"it has pods {pods}, which is not modelled; {options} plans them all the same"


def count_left(jobs: Iterable[Job], assumed: Collection[Feature]) -> tuple[NotModelled, ...]:
    """Count the pods of some jobs that ask for what is not modelled, each of them once.

    Running pods that could not be disturbed anyway are left out: nothing is kept from them.
    """
    pending: Counter[tuple[frozenset[Feature], bool]] = Counter()
    running: Counter[tuple[frozenset[Feature], bool]] = Counter()
    for job in jobs:
        if not any(podset.not_modelled for podset in job.pod_sets):
            continue
        outside = not_placed(job, assumed)
        # A pod that keeps its gang waiting is the reason for all of the gang.
        asked = frozenset(f for podset in outside for f in podset.not_modelled)
        reasons = asked - frozenset(assumed)
        names = {podset.name for podset in outside}
        for podset in job.pod_sets:
            alone = is_left_alone(podset, assumed)
            own = frozenset(f for f in podset.not_modelled if not alone or f not in assumed)
            if podset.name in names:
                pending[own or reasons, False] += podset.waiting
            elif own:
                pending[own, not alone] += podset.waiting
            free = _or(podset.preemptible, job.preemptible) or _or(podset.movable, job.movable)
            if own and free and not job.daemon:
                running[own, not alone] += podset.running
    return tuple(
        NotModelled(
            features=tuple(f for f in FEATURES if f in key[0]),
            assumed=key[1],
            pending=pending[key],
            running=running[key],
        )
        for key in sorted(pending | running, key=lambda key: (key[1], sorted(key[0])))
    )


def left_lines(jobs: Iterable[Job], assumed: Collection[Feature]) -> tuple[str, ...]:
    """Say how many pods an answer takes for staying where they run, and what it assumes of others.

    Parameters
    ----------
    jobs
        All jobs that the answer speaks of.
    assumed
        What pods are planned in spite of.
    """
    alone: Counter[Feature] = Counter()
    planned: Counter[Feature] = Counter()
    running = together = 0
    for left in count_left(jobs, assumed):
        count = left.pending + left.running if left.assumed else left.running
        (planned if left.assumed else alone).update(dict.fromkeys(left.features, count))
        together += count if left.assumed else 0
        running += 0 if left.assumed else count
    lines = []
    if running:
        options = " ".join(f"--assume {feature}" for feature in FEATURES if alone[feature])
        stay = f"{plural(running, 'pod')} left where {'it is' if running == 1 else 'they are'}"
        lines.append(f"{stay}: {_kinds(alone)} ({options})")
    if together:
        lines.append(f"{plural(together, 'pod')} planned all the same: {_kinds(planned)}")
    return tuple(lines)


def _kinds(counts: Counter[Feature]) -> str:
    return ", ".join(f"{counts[f]} {WORDS[f]}" for f in FEATURES if counts[f])


def _is_gang(job: Job) -> bool:
    return bool(job.min_count) or any(map(job.least_of, job.pod_sets))


def _or(own: bool | None, common: bool) -> bool:
    return common if own is None else own
