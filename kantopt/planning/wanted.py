"""The one job that a question is about."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from kantopt.errors import UsageError
from kantopt.planning.question import Question
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model


def required_jobs(question: Question, names: Iterable[str]) -> tuple[str, ...]:
    """Return the jobs that the command line requires, as NAMESPACE/NAME.

    Raises
    ------
    UsageError
        If there is no such job, or several.
    """
    return tuple(_named(question, name, "--require", "a job")[0] for name in names)


def wanted_job(question: Question, name: str) -> str:
    """Return NAMESPACE/NAME of a job with pending pods, named so or by NAME alone.

    Raises
    ------
    UsageError
        If there is no such job, several, or one that has all its pods.
    """
    job, waits = _named(question, name, "--for", "a pending job", pending=True)
    if not waits:
        raise UsageError(f"--for: found {name}, of which all pods run, expected a pending job")
    return job


def _named(
    question: Question, name: str, option: str, expected: str, *, pending: bool = False
) -> tuple[str, bool]:
    """Find a job by NAMESPACE/NAME, or NAME if it is the only one; and whether it waits."""
    jobs = {f"{job.namespace}/{job.name}": job for job in question.jobs}
    known = [full for full, job in jobs.items() if not pending or _waits(job)]
    found = [full for full in jobs if name in (full, jobs[full].name)]
    found = [full for full in found if full == name] or found
    if len(found) > 1:
        several = ", ".join(found)
        raise UsageError(f"{option}: found {name}, expected NAMESPACE/NAME, one of {several}")
    if not found:
        close = get_close_matches(name, [*known, *(jobs[full].name for full in known)], n=1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        none = "" if known else "; the input has none"
        raise UsageError(f"{option}: found {name}, expected {expected}{none}{hint}")
    return found[0], _waits(jobs[found[0]])


def model_for(model: Model, job: str) -> Model:
    """Return a model under which one job must be placed and no other pending one is looked at."""
    required = tuple(dict.fromkeys((*model.required, job)))
    return model.model_copy(update={"required": required, "pending": (job,)})


def _waits(job: Job) -> bool:
    running = sum(place.count for podset in job.pod_sets for place in podset.assignments)
    return sum(podset.count for podset in job.pod_sets) > running
