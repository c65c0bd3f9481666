"""The one job that a question is about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from kantopt.errors import UsageError
from kantopt.planning.question import Question
from kantopt.problem.chosen import asked_for
from kantopt.problem.derived.focus import pending_podsets, runs_enough
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.hints import listed, meant_or_some, one_of, quote
from kantopt.schema.jobs import Job
from kantopt.schema.model import Metric, Model


def required_jobs(question: Question, names: Iterable[str], model: Model) -> tuple[str, ...]:
    """Return the jobs that the command line requires, as NAMESPACE/NAME.

    Raises
    ------
    UsageError
        If there is no such job, or several, or the model leaves its pending pods aside.
    """
    known = _full_names(question)
    found = tuple(_named(question, name, "--require", "a job", known) for name in names)
    for job in question.jobs:
        name = job.full_name
        if name in found and job.waiting and not asked_for(job, model.pending):
            raise UsageError(
                f"--require: found {name}, expected a job that is asked about: "
                f"{', '.join(model.pending or ()) or 'no pending job is'}"
            )
    return found


def model_pending(question: Question, model: Model, patterns: Sequence[str]) -> Model:
    """Return a model that asks only about pending jobs that match one of some patterns.

    Of Kubernetes objects the import has left out the others already, also single pods.

    Raises
    ------
    UsageError
        If no pending job matches a pattern.
    """
    if question.imported or not patterns:
        return model
    waiting = [job for job in question.jobs if job.waiting and asked_for(job, model.pending)]
    for pattern in patterns:
        if not any(asked_for(job, [pattern]) for job in waiting):
            raise UsageError(f"--pending {pattern}: no pending job matches")
    names = [job.full_name for job in waiting if asked_for(job, patterns)]
    return model.model_copy(update={"pending": tuple(names)})


def wanted_job(question: Question, name: str) -> str:
    """Return NAMESPACE/NAME of a job with pending pods, named so or by NAME alone.

    Raises
    ------
    UsageError
        If there is no such job, several, or one that has all its pods.
    """
    waiting = [job.full_name for job in question.jobs if job.waiting]
    job = _named(question, name, "--for", "a pending job", waiting)
    if job not in waiting:
        raise UsageError(
            f"--for: found {name}, of which all pods have a node, expected a pending job"
        )
    return job


def find_job(question: Question, name: str | None, command: str = "explain") -> str:
    """Full name of the job that a command is about, given by any of its names.

    Raises
    ------
    UsageError
        If there is no such job, or several, or none is named.
    """
    known = _full_names(question)
    if name is None:
        message = f"{command}: found no job, expected its NAMESPACE/NAME behind the files, or --job"
        raise _no_such_job(question, message, None, known)
    return _named(question, name, command, "a job of the input", known)


def _full_names(question: Question) -> list[str]:
    return list(dict.fromkeys(job.full_name for job in question.jobs))


def _named(
    question: Question, name: str, asked_by: str, expected: str, known: Sequence[str]
) -> str:
    """Find a job by any of its names; ``known`` are those that could be meant."""
    found = jobs_called(question, name)
    if len(found) > 1:
        several = one_of(found)
        raise UsageError(f"{asked_by}: found {name}, expected NAMESPACE/NAME, {several}")
    if not found:
        raise _no_such_job(question, f"{asked_by}: found {name}, expected {expected}", name, known)
    return found[0]


def jobs_called(question: Question, name: str) -> list[str]:
    """Return the jobs, NAMESPACE/NAME, that a name may mean; the surest kind of name wins.

    That is the job's own, then that of an owner of its pods (Job, StatefulSet, Deployment), then
    that of a pod; each with its namespace or without.
    """
    jobs = {job.full_name: job for job in question.jobs}
    if name in jobs:
        return [name]

    def called(full: str) -> bool:
        return name in (full, full.split("/", 1)[1])

    own = [full for full in jobs if called(full)]
    owners = sorted({job for other, of in question.known_as.items() if called(other) for job in of})
    return own or owners or [full for full, job in jobs.items() if any(map(called, _pods(job)))]


def _pods(job: Job) -> Iterator[str]:
    """Names of a job's pods, as far as they are known."""
    for podset in job.pod_sets:
        for pod in podset.refs:
            yield f"{job.namespace}/{pod.name}"


def _no_such_job(
    question: Question, message: str, name: str | None, known: Sequence[str]
) -> UsageError:
    """Return the error that a job is not there, or not named: with what may have been meant.

    Parameters
    ----------
    question
        The documents.
    message
        What was found and expected.
    name
        What was given, if anything.
    known
        NAMESPACE/NAME of the jobs that could be meant.
    """
    for full, why in question.left_out.items():
        if name in (full, full.split("/", 1)[1]):
            return UsageError(f"{message}; {full} {why}")
    if not known:
        return UsageError(f"{message}; the input has none{_held_back(question)}")
    if name is not None:
        close = get_close_matches(name, [*known, *(full.split("/", 1)[1] for full in known)], n=1)
        if close:
            return UsageError(f"{message} (did you mean {close[0]}?)")
    waiting = [job.full_name for job in question.jobs if job.waiting]
    told = f"; pending: {listed(waiting, _FEW)}" if waiting else "; none is pending"
    return UsageError(f"{message}{told}{_held_back(question)}")


def check_namespace(question: Question, namespace: str | None) -> None:
    """Check that there is a job, or what was left out, in the namespace that is named.

    Raises
    ------
    UsageError
        If there is not.
    """
    names = (*(f"{job.namespace}/" for job in question.jobs), *question.left_out)
    known = sorted({name.partition("/")[0] for name in names})
    if namespace is None or namespace in known:
        return
    hint = meant_or_some(namespace, known, "there are")
    expected = f"a namespace that has jobs{f' ({hint})' if hint else ''}"
    raise UsageError(f"--namespace: found {quote(namespace)}, expected {expected}")


_FEW = 5
"""Jobs that an error lists at most."""


def _held_back(question: Question) -> str:
    return "; what is held back counts with --gated" if question.held_back else ""


def model_for(model: Model, job: str) -> Model:
    """Return a model under which one job must be placed and no other pending one is looked at."""
    required = tuple(dict.fromkeys((*model.required, job)))
    return model.model_copy(update={"required": required, "pending": (job,)})


def runs_already(instance: Instance) -> tuple[str, ...]:
    """Say of jobs named to be placed that they are: they run with their minimum, though not whole.

    ``kantopt explain`` asks about the rest of their pods.
    """
    if instance.model.pending is None:
        return ()
    goal = any(t.metric is Metric.UNPLACED and t.target is not None for t in tiers_of(instance))
    return tuple(
        f"job {job.name} runs with its minimum and counts as placed already "
        "(kantopt explain says what room for all of its pods takes)"
        for job in instance.jobs
        if (goal or job.index in instance.required)
        and pending_podsets(instance, job.index)
        and runs_enough(instance, job)
    )
