"""What a plan costs those whom it disturbs: GPU time of work that has to be done again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from kantopt.report.blocks import Paragraph
from kantopt.report.units import duration
from kantopt.schema.answers.plan import Eviction, Move, Plan
from kantopt.schema.gpus import gpu_milli_asked
from kantopt.schema.hints import plural
from kantopt.schema.jobs import Job, PodSet


@dataclass(slots=True)
class Losses:
    """Pods that are evicted or restart, by what is known of their loss."""

    gpu_seconds: int = 0
    losing: int = 0
    services: int = 0
    without_gpus: int = 0
    unknown: int = 0


def losses_of(plan: Plan) -> Losses:
    """Count what is lost by a plan, from what it says of its jobs; a pod once, however it goes."""
    jobs = {job.full_name: job for job in plan.jobs}
    found = Losses()
    taken: list[Eviction | Move] = [*plan.evictions, *filter(_restarts, plan.moves)]
    for item in taken:
        job = jobs.get(item.job)
        podset = next((s for s in job.pod_sets if s.name == item.pod_set), None) if job else None
        if job is None or podset is None:
            found.unknown += item.count
            continue
        milli, age = gpu_milli_asked(podset), _age(plan, job, podset)
        if job.serves(podset):
            found.services += item.count
        elif not milli:
            found.without_gpus += item.count
        elif age is None:
            found.unknown += item.count
        else:
            found.losing += item.count
            found.gpu_seconds += item.count * (milli * age // 1000)
    return found


def losses_line(plan: Plan) -> Iterator[Paragraph]:
    """Say in one line what moves and evictions cost, if there are any."""
    found = losses_of(plan)
    parts = []
    if found.losing:
        parts.append(f"{duration(found.gpu_seconds)} of {plural(found.losing, 'pod')}")
    idle = [(found.services, "of services"), (found.without_gpus, "without GPUs")]
    parts += [f"none of {plural(count, 'pod')} {which}" for count, which in idle if count]
    if found.unknown:
        parts.append(f"unknown of {plural(found.unknown, 'pod')} whose age is not known")
    if not (found.losing or found.services or found.unknown):
        return
    said = "Moved pods restart. " if any(map(_restarts, plan.moves)) else ""
    yield Paragraph(f"{said}GPU time lost: {', '.join(parts)}.")


def _restarts(move: Move) -> bool:
    return move.mode == "restart" and not move.stopover


def _age(plan: Plan, job: Job, podset: PodSet) -> int | None:
    """Seconds since the work of running pods was begun, or saved last; ``None``: not known."""
    own = podset.start_time, podset.last_checkpoint_time
    times = [a or b for a, b in zip(own, (job.start_time, job.last_checkpoint_time), strict=True)]
    now = plan.metadata.snapshot.captured_at
    known = [datetime.fromisoformat(time) for time in times if time is not None]
    if now is None or not known:
        return None
    return max(0, int((datetime.fromisoformat(now) - max(known)).total_seconds()))
