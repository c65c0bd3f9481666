"""The plan that a command answers with: written as asked, and its exit code."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kantopt.cli import options as opt
from kantopt.cli.habits import Run
from kantopt.cli.output import complain
from kantopt.cli.shown import Shown, domains_read, size_read

if TYPE_CHECKING:
    from kantopt.clock import Stop
    from kantopt.planning.plan import Result
    from kantopt.planning.question import Question
    from kantopt.schema.answers.plan import Plan


def plan_code(plan: "Plan", result: "Result | None", *, detailed: bool) -> int:
    """Exit code of a plan, by what was asked for; without a result it is that of the run before."""
    if plan.solver.status == "INFEASIBLE":
        return 4
    # A plan that is taken over places what is required: else it would have been searched for again.
    lacking = plan.solver.status == "UNKNOWN" or (result is not None and result.lacking)
    if lacking or any(goal.missed_by for goal in plan.goals):
        return 3
    if not detailed:
        return 0
    if plan.summary.unplaced_jobs:
        return 3
    if any(tier.status != "OPTIMAL" for tier in plan.objectives):
        return 5
    return 2 if plan.summary.changes else 0


def give_plan(
    plan: "Plan",
    result: "Result | None",
    question: "Question",
    run: Run,
    shown: Shown,
    stop: "Stop",
    code: int,
) -> int:
    """Write a plan as it was asked for, then what the run leaves behind; return the exit code.

    ``code`` is the plan's own; that of a signal takes its place. Without a result the plan is that
    of the run before.

    One without a step, of a run that had no time to look or was interrupted before it had found
    any, does not take the place of what is in a file: such a run does not end with 0.
    """
    from kantopt.cli.endings import unless_hung_up
    from kantopt.cli.signals import exit_code

    shown = shown.of(question)
    status, interrupted = plan.solver.status, stop.signal is not None
    empty = status == "UNKNOWN" or (
        interrupted and status == "FEASIBLE" and not plan.summary.changes
    )
    if empty and shown.path is not None and Path(shown.path).is_file():
        what = "examined" if status == "UNKNOWN" else "found yet"
        complain("warning", [f"{shown.path}: left as it was: nothing was {what}"], shown.log_form)
        shown = replace(shown, path=None)

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
                further=run.blocks(),
                domains=domains,
                level=level,
                words=shown.words,
            )
        blocks = []
        if result is not None:
            size = size_read(question)
            wide = form == "wide"
            blocks = plan_blocks(
                plan, wide=wide, size=size, domains=domains, level=level, notes=question.notes
            )
        return shown.on_screen([*blocks, *run.blocks()], to_file=to_file)

    with unless_hung_up(stop):
        shown.write(plan, laid_out)
        if not shown.in_table:
            shown.warn(plan.warnings, question.notes)
        if not shown.quiet:
            run.tell(plan, in_table=shown.in_table)
    code = exit_code(stop, code)
    run.finish(plan, question, code)
    return code
