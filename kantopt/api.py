"""kantopt for programs and notebooks: documents in, documents out.

What is asked about may be given as paths, as plain data (what ``json.load`` returns, of kantopt's
documents or of Kubernetes objects) or as documents that another function returned. Errors are
:class:`kantopt.errors.KantoptError`. Nothing is printed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from kantopt.clock import Deadline
from kantopt.errors import UsageError
from kantopt.planning.question import Import, Question, chosen_model, judging_model, question_of
from kantopt.planning.solving.options import Engine, Options
from kantopt.schema.answers.certificate import Certificate
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.answers.plan import Plan
from kantopt.schema.answers.reports import Verdict
from kantopt.schema.base import Part
from kantopt.schema.dump import dump_data
from kantopt.schema.duration import checked_limit, limit_seconds
from kantopt.schema.files import load_raw
from kantopt.schema.raw import RawDocument

Source = str | os.PathLike[str] | Mapping[str, Any] | Part
"""A path, plain data, or a document."""
TEN_SECONDS = 10.0
_MOST_SEED = 2**31 - 1


def read(
    *sources: Source | Question, gated: bool = False, pending: str | Sequence[str] = ()
) -> Question:
    """Read a cluster and what belongs to it.

    Parameters
    ----------
    sources
        A snapshot or Kubernetes objects, and any job lists, a model, a plan; in any order. Or what
        this returned before, and perhaps a plan that was made of it.
    gated
        Whether pods that scheduling gates hold back count as pending.
    pending
        Patterns NAMESPACE/NAME of the jobs that count as pending; none: all of them.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If something cannot be read, or does not belong together.
    """
    if sources and isinstance(sources[0], Question):
        if len(sources) == 1:
            return sources[0]
        if len(sources) == 2 and isinstance(sources[1], Plan):
            return replace(sources[0], plan=sources[1])
    how = Import(gated=gated, pending=_names(pending))
    question = question_of([raw for i, each in enumerate(sources) for raw in _raws(each, i)], how)
    return replace(question, asked=how.pending)


def plan(
    *sources: Source | Question,
    model: str | None = None,
    time_limit: float | str = TEN_SECONDS,
    engine: str = "auto",
    require: str | Iterable[str] = (),
    seed: int = 0,
    deterministic: bool = False,
) -> Plan:
    """Plan placements, evictions and moves, and verify the plan.

    Parameters
    ----------
    sources
        As of :func:`read`, or what that returned.
    model
        Name of a shipped model, or path of one. Default: the one among the sources, else ``mixed``.
    time_limit
        Seconds from now until the answer, or a duration as the command line takes it: ``10s``.
    engine
        ``fast``, ``exact`` or ``auto``.
    require
        Jobs, NAMESPACE/NAME, that must be placed.
    seed
        Seed of every random choice.
    deterministic
        Whether limits count work, so that the same input gives the same plan.

    Raises
    ------
    UsageError, MissingInputError, BadDataError
        If the question cannot be asked.
    """
    from kantopt.planning.plan import make_plan
    from kantopt.planning.wanted import model_pending, required_jobs

    deadline = _deadline(time_limit, deterministic=deterministic)
    if engine not in get_args(Engine):
        raise UsageError(f"engine: found {engine!r}, expected one of {', '.join(get_args(Engine))}")
    if not 0 <= seed <= _MOST_SEED:
        raise UsageError(f"seed: found {seed}, expected 0 to {_MOST_SEED}")
    question = read(*sources)
    chosen = model_pending(question, chosen_model(question, model), question.asked)
    required = required_jobs(question, _names(require), chosen)
    settings = Options(engine=engine, seed=seed, require=required)  # type: ignore[arg-type]
    return make_plan(question, chosen, settings, deadline).plan


def judge(*sources: Source | Question, model: str | None = None) -> Verdict:
    """Judge a plan, with the snapshot it is for: legal at every step, true in what it says.

    ``sources`` and ``model`` are as of :func:`plan`; by default the plan's own model judges.
    """
    from kantopt.planning.document.judge import judge_question

    return judge_question(read(*sources), model)


def certify(
    *sources: Source | Question, model: str | None = None, time_limit: float | str = TEN_SECONDS
) -> Certificate:
    """Judge how good a plan, or the placement as it stands, is: bounds, proofs, a better plan.

    ``sources``, ``model`` and ``time_limit`` are as of :func:`plan`.
    """
    from kantopt.planning.certify import certify as certified
    from kantopt.planning.wanted import model_pending

    deadline = _deadline(time_limit)
    question = read(*sources)
    chosen = model_pending(question, judging_model(question, model), question.asked)
    return certified(question, chosen, Options(), deadline)


def explain(
    *sources: Source | Question,
    job: str,
    model: str | None = None,
    time_limit: float | str = TEN_SECONDS,
    what_if: str | Sequence[str] = (),
) -> Explanation:
    """Explain why a job is pending, or where it is, and what helps.

    Parameters
    ----------
    sources, model, time_limit
        As of :func:`plan`.
    job
        The job, by any of its names.
    what_if
        Edits to try, as ``kantopt explain --what-if`` takes them.
    """
    from kantopt.planning.explain.process import explain_apart
    from kantopt.planning.wanted import find_job, model_pending

    deadline = _deadline(time_limit)
    question = read(*sources)
    name = find_job(question, job)
    chosen = model_pending(question, chosen_model(question, model), question.asked)
    return explain_apart(question, chosen, name, deadline, _names(what_if))


def show(document: Part, *, wide: bool = False) -> str:
    """Lay an answer out as the command line does, as plain text.

    Raises
    ------
    UsageError
        If the document is no answer that ``kantopt show`` takes.
    """
    from kantopt.report.blocks import Screen, render
    from kantopt.report.layouts import LAYOUTS, blocks_of
    from kantopt.report.words import words_for

    kind = type(document).__name__
    if kind not in LAYOUTS:
        raise UsageError(f"show: found a {kind}, expected one of {', '.join(LAYOUTS)}")
    blocks = blocks_of(document, wide=wide)
    return render(words_for(document).of_blocks(blocks), Screen())


def _names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return several names; a single one may stand by itself."""
    return (given,) if isinstance(given, str) else tuple(given)


def _raws(source: Source | Question, number: int) -> list[RawDocument]:
    label = f"<source {number + 1}>"
    if isinstance(source, Part):
        return [RawDocument(label, 0, dump_data(source))]
    if isinstance(source, Mapping):
        return [RawDocument(label, 0, dict(source))]
    if isinstance(source, Question):
        raise TypeError("beside a question that was read only a plan may stand: give its sources")
    return load_raw([os.fspath(source)])


def _deadline(limit: float | str, *, deterministic: bool = False) -> Deadline:
    """Return a deadline that counts from now; the clock of a process began with it."""
    try:
        seconds = limit_seconds(limit) if isinstance(limit, str) else checked_limit(limit, limit)
    except (TypeError, ValueError) as error:
        text = str(error) if isinstance(error, ValueError) else f"found {limit!r}, expected seconds"
        raise UsageError(f"time_limit: {text}") from None
    return Deadline.within(seconds, deterministic=deterministic)
