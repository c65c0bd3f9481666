"""Whom a script takes away, by name, and who of them never comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kantopt.render.kube.fates import Fates, controller
from kantopt.render.steps import namespace_of
from kantopt.schema.hints import plural
from kantopt.schema.jobs import PodRef
from kantopt.schema.plan import Eviction, Move

_NAMED = 10
"""So many pods are named; more are counted by their jobs."""


def taken_lines(fates: Fates) -> list[str]:
    """Name the pods that are evicted, and those that are restarted elsewhere."""
    evicted = list(fates.of(Eviction, "do"))
    moved = list(fates.of(Move, "do"))
    return [
        *_listed("Evicts", "", evicted),
        *_listed("Restarts", ", which is an eviction, too", moved),
    ]


def _listed(verb: str, apart: str, items: Sequence[Eviction | Move]) -> Iterator[str]:
    """Name pods, those that are gone for good first; of many count those of each job."""
    pods = [(item, pod) for item in items for pod in item.pods]
    if not pods:
        return
    gone = sum(not controller(pod) for _, pod in pods)
    said = f"; {gone} of them for good" if gone and len(pods) > 1 else ""
    yield f"{verb} {plural(len(pods), 'pod')}{apart}{said}:"
    pods.sort(key=lambda pair: bool(controller(pair[1])))
    if len(pods) <= _NAMED:
        yield from (
            f"- {namespace_of(item.job)}/{pod.name} {_way(item, pod)}" for item, pod in pods
        )
        return
    jobs = Counter((item.job, _fate(pod)) for item, pod in pods)
    for (job, fate), count in list(jobs.items())[:_NAMED]:
        yield f"- {count} of {job}, {fate}"
    rest = list(jobs.values())[_NAMED:]
    if rest:
        yield f"- and {sum(rest)} of {len(rest)} more jobs"


def _way(item: Eviction | Move, pod: PodRef) -> str:
    if isinstance(item, Move):
        return f"from {item.from_node}, planned on {item.to_node}, {_fate(pod)}"
    heir = f" for {item.for_job}" if item.for_job else ""
    return f"from {item.node}{heir}, {_fate(pod)}"


def _fate(pod: PodRef) -> str:
    kind = controller(pod)
    return f"of a {kind}" if kind else "no controller: gone for good"
