"""Jobs of Kubernetes that fail, as a plan has more of their pods go than their owner bears."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.jobs import Job
from kantopt.verify.step import Step


def failing_jobs(question: Question, instance: Instance, final: Placement) -> Iterator[str]:
    """Say which Jobs end for good: each pod that is evicted or moved counts as failed (R14).

    Their ``backoffLimit`` keeps moves from it, not evictions, which a scheduler does not ask about.
    """
    step = Step(instance, instance.current, final)
    for job, document in zip(instance.jobs, question.documents(instance), strict=True):
        running = instance.running_of(job.index)
        evicted = sum(map(step.evicted, running))
        most = document.max_moves
        if most is None or not evicted or not _is_job(document):
            continue
        gone = evicted + sum(map(step.moved, running))
        if gone > most:
            bears = f"backoffLimit bears {most}" if most else "Job bears none"
            text = f"job {job.name}: {gone} of its pods go, and its {bears}"
            rest = instance.running_pods(job.index) - gone
            pods = "1 other pod ends" if rest == 1 else f"{rest} other pods end"
            yield f"{text}: the Job fails" + (f", and its {pods} with it" if rest else "")


def _is_job(document: Job) -> bool:
    """Whether pods of a job belong to a Job of Kubernetes."""
    pods = (pod for podset in document.pod_sets for pod in podset.placed_refs)
    return any(pod.owner_kind == "Job" for pod in pods)
