"""R14 limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_limits(step: Step) -> Iterator[Violation]:
    """A plan evicts and moves no more pods than the model's limits."""
    instance, limits = step.instance, step.instance.model.limits
    running = [s for s in step.changed if instance.podsets[s].running]
    evicted = sum(step.evicted(s) for s in running)
    moves: Counter[int] = Counter()
    namespaces: Counter[str] = Counter()
    arrivals: Counter[str] = Counter()
    departures: Counter[str] = Counter()
    for s in running:
        job = instance.job_of(s)
        moves[job.index] += step.moved(s)
        namespaces[f"namespace {job.namespace}: moves"] += step.moved(s)
        for spots, counts, what in (
            (step.arrivals[s], arrivals, "arrivals"),
            (step.departures[s], departures, "departures"),
        ):
            for spot, pods in spots.items():
                counts[f"node {instance.nodes[spot.node].name}: {what}"] += pods
    yield from beyond({"evictions": evicted}, limits.evictions)
    yield from beyond({"moves": moves.total()}, limits.moves)
    yield from beyond_jobs(instance, moves, "moves")
    yield from beyond(namespaces, limits.moves_per_namespace)
    yield from beyond(arrivals, limits.arrivals_per_node)
    yield from beyond(departures, limits.departures_per_node)
    for j in sorted(instance.together & moves.keys()):
        job = instance.jobs[j]
        for most in (limits.moves_per_wave, job.moves_at_once):
            yield from beyond({f"job {job.name}: moves at once": moves[j]}, most)


def beyond_jobs(instance: Instance, moves: Mapping[int, int], what: str) -> Iterator[Violation]:
    """Find jobs of which more pods move than the model or their owners bear."""
    for j, pods in sorted(moves.items()):
        job = instance.jobs[j]
        most = job.move_limit(instance.model.limits.moves_per_job)
        yield from beyond({f"job {job.name}: {what}": pods}, most)


def beyond(counts: Mapping[str, int], limit: int | None) -> Iterator[Violation]:
    """Find counts above a limit, if there is one."""
    for subject, pods in sorted(counts.items()):
        if limit is not None and pods > limit:
            yield Violation(Rule.LIMITS, subject, f"{pods} of {limit} pods")
