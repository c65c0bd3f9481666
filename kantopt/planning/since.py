"""A later snapshot of our own form that does not know some jobs any more."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kantopt.planning.question import Question
from kantopt.schema.history import Fate, History
from kantopt.schema.jobs import Job


@dataclass(frozen=True, slots=True)
class Since:
    """A question without the jobs that are gone since, and the later snapshot."""

    question: Question
    later: Question
    history: History


def since(question: Question, later: Question) -> Question | Since:
    """Leave out the running jobs that a later snapshot does not know; else return that itself.

    Whether these have ended or were evicted it does not say, so nothing is judged of them. Jobs
    that it knows, also as pending ones, are still wanted: their pods that are gone were evicted.
    """
    known = {(job.namespace, job.name) for job in later.jobs}
    pods = {(job.namespace, name) for job in later.jobs for name, _, _ in _pods(job) if name}
    gone = [
        job
        for job in question.snapshot.jobs
        if (job.namespace, job.name) not in known
        # Another snapshot may call a job by another name, but not its pods.
        and not any((job.namespace, name) in pods for name, _, _ in _pods(job))
    ]
    if not gone:
        return later
    left = tuple(job for job in question.snapshot.jobs if job not in gone)
    snapshot = question.snapshot.model_copy(update={"jobs": left})
    nodes, since_then = (
        {node.name for node in cluster.nodes} for cluster in (question.snapshot, later.snapshot)
    )
    history = History(
        stayed=_running(left),
        placed=0,
        arrived=0,
        gone=tuple(
            Fate(
                pod=f"{job.namespace}/{name or job.name}",
                uid=uid,
                node=node,
                became="unknown",
                evidence=f"gone; the later snapshot has no job {job.namespace}/{job.name}",
            )
            for job in gone
            for name, uid, node in _pods(job)
        ),
        nodes_added=tuple(sorted(since_then - nodes)),
        nodes_removed=tuple(sorted(nodes - since_then)),
    )
    return Since(replace(question, snapshot=snapshot), later, history)


def _pods(job: Job) -> list[tuple[str, str, str]]:
    """Name, uid and node of each running pod of a job; no name where the document has none."""
    return [
        pod
        for podset in job.pod_sets
        for place in podset.assignments
        for pod in (
            *((pod.name, pod.uid, place.node) for pod in place.pods),
            *[("", "", place.node)] * (place.count - len(place.pods)),
        )
    ]


def _running(jobs: tuple[Job, ...]) -> int:
    return sum(job.running for job in jobs)
