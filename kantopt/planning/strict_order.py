"""Jobs that a plan places and that Kueue does not start before others of their queue.

A queue that starts its jobs in order only (``StrictFIFO``) waits for the first of them, whatever
room there is for the next. No rule says so: a plan that places a later one says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.priority_classes import PriorityClasses
from kantopt.schema.by_kueue import waits_for_kueue
from kantopt.schema.jobs import Job
from kantopt.schema.snapshot import ClusterSnapshot


def in_order(snapshot: ClusterSnapshot, jobs: Iterable[Job]) -> Iterator[tuple[Job, ...]]:
    """Yield the jobs that wait for Kueue in each queue that keeps to the order, the first first."""
    classes = PriorityClasses(snapshot)
    found: dict[str, list[Job]] = {
        queue.name: [] for queue in snapshot.queues if queue.strict_order
    }
    for job in jobs if found else ():
        if job.queue_name in found and waits_for_kueue(job):
            found[job.queue_name].append(job)
    for waiting in found.values():
        waiting.sort(key=lambda job: (-classes.priority(job), job.creation_time or ""))
        yield tuple(waiting)


def behind_line(snapshot: ClusterSnapshot, jobs: Iterable[Job]) -> Iterator[str]:
    """Say who waits behind others in queues that keep to the order; of nobody nothing."""
    names = sorted(job.full_name for waiting in in_order(snapshot, jobs) for job in waiting[1:])
    if names:
        more = ", ..." if len(names) > 1 else ""
        text = (
            "jobs behind others of queues that start them in order only (StrictFIFO), which plans"
        )
        yield f"{text} may overtake: {len(names)} ({names[0]}{more})"


def out_of_order(
    snapshot: ClusterSnapshot, jobs: Iterable[Job], instance: Instance, final: Placement
) -> Iterator[str]:
    """Say of which jobs that a plan places Kueue starts none, since others wait before them."""
    for waiting in in_order(snapshot, jobs):
        placed = [_pods(instance, job, final) > 0 for job in waiting]
        if all(placed):
            continue
        first = placed.index(False)
        ahead = [job for job, it in zip(waiting[first:], placed[first:], strict=True) if it]
        if ahead:
            who = f"job {ahead[0].full_name} is"
            if len(ahead) > 1:
                who = f"{len(ahead)} jobs ({ahead[0].full_name}, ...) are"
            queue, head = ahead[0].queue_name, waiting[first].full_name
            where = f"which waits in queue {queue} (StrictFIFO)"
            yield f"{who} not started by Kueue before {head}, {where}"


def _pods(instance: Instance, job: Job, final: Placement) -> int:
    j = instance.job_index.get(job.full_name)
    return 0 if j is None else sum(final.placed(s) for s in instance.jobs[j].podsets)
