"""R14 limits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


class Moves(NamedTuple):
    """Pods that move by job, and pods that come to nodes and leave them."""

    jobs: Counter[int]
    arrivals: Counter[int]
    departures: Counter[int]


def check_limits(step: Step) -> Iterator[Violation]:
    """A plan evicts and moves no more pods than the model's limits."""
    instance, limits = step.instance, step.instance.model.limits
    running = [s for s in step.changed if instance.podsets[s].running]
    moves = Moves(Counter(), Counter(), Counter())
    for s in running:
        moves.jobs[instance.job_of(s).index] += step.moved(s)
        for spots, counts in (
            (step.arrivals[s], moves.arrivals),
            (step.departures[s], moves.departures),
        ):
            for spot, pods in spots.items():
                counts[spot.node] += pods
    yield from beyond({"evictions": sum(map(step.evicted, running))}, limits.evictions)
    yield from moved_beyond(instance, moves)
    for j in sorted(instance.together & moves.jobs.keys()):
        job = instance.jobs[j]
        for most in (limits.moves_per_wave, job.moves_at_once):
            yield from beyond({f"job {job.name}: moves at once": moves.jobs[j]}, most)


def moved_beyond(instance: Instance, moves: Moves, how: str = "") -> Iterator[Violation]:
    """Find limits on moves that are exceeded, those of jobs included; ``how`` ends each subject."""
    limits, namespaces = instance.model.limits, Counter[str]()
    for j, pods in moves.jobs.items():
        namespaces[instance.jobs[j].namespace] += pods
    yield from beyond({f"moves{how}": moves.jobs.total()}, limits.moves)
    for j, pods in sorted(moves.jobs.items()):
        job = instance.jobs[j]
        most = job.move_limit(limits.moves_per_job)
        yield from beyond({f"job {job.name}: moves{how}": pods}, most)
    each = {f"namespace {name}: moves{how}": pods for name, pods in namespaces.items()}
    yield from beyond(each, limits.moves_per_namespace)
    for what, counts, most in (
        ("arrivals", moves.arrivals, limits.arrivals_per_node),
        ("departures", moves.departures, limits.departures_per_node),
    ):
        nodes = {f"node {instance.nodes[n].name}: {what}{how}": k for n, k in counts.items()}
        yield from beyond(nodes, most)


def beyond(counts: Mapping[str, int], limit: int | None) -> Iterator[Violation]:
    """Find counts above a limit, if there is one."""
    for subject, pods in sorted(counts.items()):
        if limit is not None and pods > limit:
            yield Violation(Rule.LIMITS, subject, f"{pods} of {limit} pods")
