"""The main use case: a fast plan, then searches that better it and bounds, in one deadline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kantopt.clock import Deadline
from kantopt.planning.below_own import below_own
from kantopt.planning.document.held_to import held_to_words
from kantopt.planning.drained import unseated_words
from kantopt.planning.failing import bears_of, failing_jobs
from kantopt.planning.question import Question
from kantopt.planning.queue_victims import beyond_notes, notes_about, unsure
from kantopt.planning.repeated import proved_bounds
from kantopt.planning.solving.answer import answer_of
from kantopt.planning.solving.cut_short import not_examined
from kantopt.planning.solving.executable import executable
from kantopt.planning.solving.leftovers import with_leftovers
from kantopt.planning.solving.news import Tell
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.solver_process import SolverProcess
from kantopt.planning.solving.together import search_together
from kantopt.planning.strict_order import out_of_order
from kantopt.planning.wanted import runs_already
from kantopt.problem.derived.focus import pending_podsets
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.answers import plan as docs
from kantopt.schema.model import Model, Rule
from kantopt.verify.rules import check


@dataclass(frozen=True, slots=True)
class Result:
    """A plan and how the run ended."""

    plan: docs.Plan
    instance: Instance
    tiers: tuple[Tier, ...]
    infeasible: bool
    """A required job provably has no place in any plan."""
    lacking: bool
    """A required job is not placed, whatever is proved of it."""


def make_plan(
    question: Question,
    model: Model,
    options: Options,
    deadline: Deadline,
    tell: Tell = lambda _: None,
    solver: SolverProcess | None = None,
    last: docs.Plan | None = None,
    together: Model | None = None,
    *,
    again: bool = False,
    part: float = 1.0,
) -> Result:
    """Plan: construct, bound, search, order, verify, write down.

    Parameters
    ----------
    question
        The documents.
    model
        Rules and objectives, with ``extends`` resolved.
    options
        Engine, strategies, seed, workers, required jobs.
    deadline
        When everything, writing included, should be done. If it is over once all is read, a small
        question still has :data:`~kantopt.shares.LEAST` seconds; the plan of a large one is
        to do nothing, and says ``not examined``.
    tell
        Called with the progress.
    solver
        A process that has loaded the solver meanwhile; without one it is started when needed.
    last
        An earlier plan: what of it is still legal is where the search begins.
    together
        Where the model looks at one job alone: the one for all that waits. Of a job that provably
        has no place alone a warning says what becomes of it then.
    again
        The earlier plan answers the very same question: what it says is proved holds, and this run
        tries something else to better it.
    part
        What the plan may take of the time that is left.

    Raises
    ------
    BadDataError
        If the documents contradict each other.
    """
    if again and last is not None:
        options = replace(options, seed=options.seed + last.metadata.searches)
    required = tuple(dict.fromkeys((*model.required, *options.require)))
    instance = question.instance(model.model_copy(update={"required": required}))
    deadline.stop.begin()  # judging that nothing is done may take long, and that is an answer
    run = Run(instance, tiers_of(instance), options, deadline, tell, solver, part=part)
    run.bears = bears_of(question, instance)
    run.unsure = unsure(question.snapshot, question.spared(instance.model))
    notes = notes_about(question.notes, question.spared(instance.model))
    run.warnings += [*notes, *runs_already(instance)]
    run.look_at_least_once()
    if run.deadline.over():
        run.warnings.append(not_examined(deadline))
        run.cut = True
        answer = answer_of(run, instance.current, (), examined=False)
    else:
        if last is not None:
            from kantopt.planning.later.kept import moved_again, still_legal

            run.keep(still_legal(question, instance, last, run.looking_back))
            instance = run.asked
            if again:
                for bound in proved_bounds(last, run.tiers):
                    run.incumbent.known.add(bound)
        run.construct()
        search_together(run)
        placement, waves = executable(run)
        if together is not None and run.infeasible:
            run.warnings += _beside_others(question, instance, together, run)
        answer = answer_of(run, placement, with_leftovers(run, placement, waves), examined=True)
        warnings = [
            *answer.warnings,
            *beyond_notes(question.snapshot, (item.job for item in answer.unplaced)),
            *below_own(question.snapshot, instance, answer.placement),
            *failing_jobs(question, instance, answer.placement),
            *unseated_words(question.jobs, instance.model.drain),
        ]
        pairs = zip(run.tiers, answer.tiers, strict=True)
        missed = any(tier.target is not None and row.value for tier, row in pairs)
        if (missed or answer.unplaced) and not instance.drained:  # a drain says it of each pod
            warnings += held_to_words(instance, answer.placement, missed=missed)
        warnings += out_of_order(question.snapshot, question.pending, instance, answer.placement)
        if last is not None:
            warnings += moved_again(question, instance, answer.placement, last)
        answer = replace(answer, warnings=tuple(warnings))
    from kantopt.planning.document.write import plan_document

    plan = plan_document(question, instance, answer)
    lacking = bool(check(run.asked, answer.placement, (Rule.REQUIRED,)))
    return Result(plan, instance, run.tiers, run.infeasible, lacking)


def _beside_others(
    question: Question, instance: Instance, together: Model, run: Run
) -> Iterator[str]:
    """Say of required jobs that have no place alone what becomes of them beside all that waits."""
    from kantopt.planning.beside import beside

    deadline = run.ordering
    asked = question.instance(together)
    for j in sorted(instance.required):
        name = instance.jobs[j].name
        if pending_podsets(instance, j):
            found = beside(asked, asked.job_index[name], deadline)
            note = found.note(name, together.limits, fits=False)
            if note:
                yield f"job {name}: {note}"
