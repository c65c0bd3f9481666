"""The one job that a question is about."""

from __future__ import annotations

from difflib import get_close_matches

from kantopt.errors import UsageError
from kantopt.planning.question import Question
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model


def wanted_job(question: Question, name: str) -> str:
    """Return NAMESPACE/NAME of a job with pending pods, named so or by NAME alone.

    Raises
    ------
    UsageError
        If there is no such job, several, or one that has all its pods.
    """
    jobs = {f"{job.namespace}/{job.name}": job for job in question.jobs}
    waiting = [full for full, job in jobs.items() if _waits(job)]
    found = [full for full in jobs if name in (full, jobs[full].name)]
    found = [full for full in found if full == name] or found
    if len(found) > 1:
        several = ", ".join(found)
        raise UsageError(f"--for: found {name}, expected NAMESPACE/NAME, one of {several}")
    if not found:
        close = get_close_matches(name, [*waiting, *(jobs[full].name for full in waiting)], n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        expected = "a pending job" if waiting else "a pending job; the input has none"
        raise UsageError(f"--for: found {name}, expected {expected}{hint}")
    if found[0] not in waiting:
        raise UsageError(f"--for: found {name}, of which all pods run, expected a pending job")
    return found[0]


def model_for(model: Model, job: str) -> Model:
    """Return a model under which one job must be placed and no other pending one is looked at."""
    required = tuple(dict.fromkeys((*model.required, job)))
    return model.model_copy(update={"required": required, "pending": (job,)})


def _waits(job: Job) -> bool:
    running = sum(place.count for podset in job.pod_sets for place in podset.assignments)
    return sum(podset.count for podset in job.pod_sets) > running
