"""What a simulation is asked: a cluster, traces, policies, and the rules of a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from kantopt.clock import rfc3339
from kantopt.errors import BadDataError, Problem, UsageError
from kantopt.planning.question import Import, Question, chosen_model, question_of
from kantopt.schema.consistency import check_trace
from kantopt.schema.extends import load_model
from kantopt.schema.files import load_raw
from kantopt.schema.jobs import Job
from kantopt.schema.model import Model
from kantopt.schema.policies import load_policy
from kantopt.schema.policy import Policy
from kantopt.schema.raw import RawDocument
from kantopt.schema.trace import Trace
from kantopt.schema.validation import validate_all


@dataclass(frozen=True, slots=True)
class Asked:
    """Documents that belong together, each trace and policy with a name of its own."""

    question: Question
    traces: tuple[Trace, ...]
    policies: tuple[Policy, ...]
    model: Model
    """Whose rules hold."""

    def rules(self, policy: Policy) -> Model:
        """Return the model whose rules hold under a policy: with its zone, if it has one."""
        zone = policy.placement.zone
        return self.model if zone is None else self.model.model_copy(update={"zone": zone})


def read_asked(
    paths: Sequence[str],
    policies: Sequence[str],
    model: str | None,
    how: Import | None = None,
) -> Asked:
    """Read what is to be simulated.

    Parameters
    ----------
    paths
        Files in any order: a snapshot, or Kubernetes objects, one trace at least, job lists of
        what waits at the start, perhaps a model.
    policies
        Shipped policies by name, or paths.
    model
        Model whose rules hold, by name or path; ``None``: the one among the files, else ``mixed``.
    how
        How Kubernetes objects are read; ``None``: as by default.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If a file cannot be read, a document cannot be used, or they do not belong together.
    """
    followed = [load_policy(each) for each in policies]
    rules = None if model is None else load_model(model)
    raws = load_raw(paths)
    given = [raw for raw in raws if raw.data.get("kind") == "Trace"]
    pairs, problems = validate_all(given)
    if problems:
        raise BadDataError(problems)
    if not given:
        kinds = ", ".join(sorted({str(raw.data.get("kind")) for raw in raws}))
        raise BadDataError([Problem(raws[0].file, "", kinds, "one Trace at least among the files")])
    question = _dated(question_of([raw for raw in raws if raw not in given], how or Import()))
    traces = [(raw, document) for raw, document in pairs if isinstance(document, Trace)]
    for raw, document in traces:
        problems += check_trace(document, question.snapshot, raw.label)
    if problems:
        raise BadDataError(problems)
    return Asked(
        question=question,
        traces=tuple(_named_traces(traces)),
        policies=tuple(_apart(followed)),
        model=chosen_model(question, None) if rules is None else rules,
    )


def _dated(question: Question) -> Question:
    """Return a question whose snapshot says when it was taken, if its jobs tell any time.

    Else the trace would begin at a moment of its own, and all that ran or waited in days to come.
    As of a dump of ``kubectl`` the newest time counts: that of the snapshot was no earlier.
    """
    snapshot = question.snapshot
    if snapshot.metadata.captured_at is not None:
        return question
    told = max((time for job in question.jobs for time in _times(job)), default=None)
    if told is None:
        return question
    newest = rfc3339(told)
    metadata = snapshot.metadata.model_copy(update={"captured_at": newest})
    note = (
        f"the snapshot has no capturedAt: the trace begins at {newest}, the newest time of its jobs"
    )
    return replace(
        question,
        snapshot=snapshot.model_copy(update={"metadata": metadata}),
        notes=(*question.notes, note),
    )


def _times(job: Job) -> Iterator[datetime]:
    texts = [job.creation_time, job.start_time, job.last_checkpoint_time]
    for podset in job.pod_sets:
        texts += [podset.start_time, podset.last_checkpoint_time]
    for text in texts:
        if text is not None:
            yield datetime.fromisoformat(text)


def _named_traces(traces: Sequence[tuple[RawDocument, Trace]]) -> list[Trace]:
    """Give each trace a name: its own, else that of its file, with a number where two share it."""
    found: list[Trace] = []
    names: set[str] = set()
    for raw, trace in traces:
        first = name = trace.metadata.name or Path(raw.file).name.split(".")[0]
        number = 1
        while name in names:
            number += 1
            name = f"{first}-{number}"
        names.add(name)
        metadata = trace.metadata.model_copy(update={"name": name})
        found.append(trace.model_copy(update={"metadata": metadata}))
    return found


def _apart(policies: Sequence[Policy]) -> Sequence[Policy]:
    names = [policy.metadata.name for policy in policies]
    for name in sorted(names):
        if names.count(name) > 1:
            raise UsageError(f"--policy: found {name} {names.count(name)} times, expected it once")
    return policies
