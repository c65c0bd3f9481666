"""The plan that a command answers with: found or taken over, written as asked, its exit code."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from kantopt.cli import options as opt
from kantopt.cli.habits import Run
from kantopt.cli.shown import Shown, domains_read, size_read

if TYPE_CHECKING:
    from kantopt.clock import Stop
    from kantopt.planning.plan import Result
    from kantopt.planning.question import Question
    from kantopt.schema.model import Model
    from kantopt.schema.plan import Plan


def answered(
    run: Run,
    question: "Question",
    model: "Model",
    options: Mapping[str, object],
    stop: "Stop",
    make: "Callable[..., Result]",
) -> "tuple[Plan, Result | None]":
    """Return the plan of the run before if it still answers the question, or else make one.

    Parameters
    ----------
    options
        All else that has a say in the plan, by name.
    make
        Makes a plan, beginning with that of the run before, ``again`` if it is to be bettered; its
        result comes back beside it.
    """
    plan = run.unchanged(question, model, options)
    if plan is not None:
        return plan, None
    result = make(run.last, again=run.again)
    whole = stop.signal is None and not stop.lacks_memory()
    return run.stamped(result.plan, whole=whole), result


def exit_code(plan: "Plan", *, detailed: bool) -> int:
    """Exit code of a plan that has been written."""
    if plan.solver.status == "INFEASIBLE":
        return 4
    if not detailed:
        return 0
    if plan.summary.unplaced_jobs or any(goal.missed_by for goal in plan.goals):
        return 3
    if any(tier.status != "OPTIMAL" for tier in plan.objectives):
        return 5
    return 2 if plan.summary.changes else 0


def write_plan(
    plan: "Plan", result: "Result | None", question: "Question", run: Run, shown: Shown
) -> None:
    """Write a plan as it was asked for; without a result it is that of the run before."""

    def laid_out(form: opt.Form, to_file: bool) -> str:
        from kantopt.report.actions import action_lines
        from kantopt.report.terminal import plan_blocks

        if form == "name":
            return action_lines(plan)
        domains, level = domains_read(question)
        if form == "html":
            from kantopt.planning.pictures import picture_of
            from kantopt.planning.question import judging_model
            from kantopt.report.pages import answer_page

            asked = replace(question, plan=plan, model=None)
            return answer_page(
                plan,
                picture_of(asked, judging_model(asked, None)),
                notes=question.notes,
                further=run.blocks(plan),
                domains=domains,
                level=level,
            )
        from kantopt.cli.screen import on_screen

        blocks = []
        if result is not None:
            size = size_read(question)
            wide = form == "wide"
            blocks = plan_blocks(
                plan, wide=wide, size=size, domains=domains, level=level, notes=question.notes
            )
        return on_screen([*blocks, *run.blocks(plan)], shown.color, to_file=to_file)

    shown.write(plan, laid_out)
    if not shown.in_table:
        shown.warn(plan.warnings, question.notes)
    if not shown.quiet:
        run.tell(plan, in_table=shown.in_table)
