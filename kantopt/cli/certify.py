"""``kantopt certify``."""

from typing import Annotated

import typer

from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.ahead import solver_of
from kantopt.cli.groups import with_groups
from kantopt.cli.output import check_distinct, check_output_file, dumped, emit, format_of
from kantopt.cli.shown import AnswerOptions, size_read
from kantopt.errors import BadDataError, Problem, UsageError

_CODES = {"OPTIMAL": 0, "BETTER": 10, "OPEN": 11, "ILLEGAL": 12}


@with_groups
def certify(
    context: typer.Context,
    files: opt.Files,
    search: lim.SearchOptions,
    reading: opt.PlanReading,
    answer: AnswerOptions,
    plan: Annotated[
        str | None,
        typer.Option("--plan", metavar="FILE", help="The plan to judge; it may be among FILE too."),
    ] = None,
    after: Annotated[
        list[str] | None,
        typer.Option(
            "--after",
            metavar="FILE",
            help="A later snapshot or dump (kubectl, Slurm): what became of the cluster is judged "
            "in place of a plan. Repeatable.",
        ),
    ] = None,
    cross_check: Annotated[
        bool,
        typer.Option(
            "--cross-check",
            help="Ask a second solver, HiGHS, about objectives that only search has proved.",
        ),
    ] = False,
    model: opt.ModelName = None,
    require: lim.Require = None,
    pending: opt.Pending = None,
    output: Annotated[
        opt.Form | None,
        opt.output_as("wide: all objectives, the better plan; name: the verdict, its tier."),
    ] = None,
    output_file: Annotated[str | None, opt.document_to("the certificate")] = None,
    counter_example: Annotated[
        str | None,
        typer.Option(
            "--counter-example",
            metavar="FILE",
            help="Write the better plan there, if there is one.",
        ),
    ] = None,
    log: Annotated[
        str | None,
        typer.Option(
            "--log", metavar="FILE", help="Keep CP-SAT's log there; the certificate has its digest."
        ),
    ] = None,
) -> int:
    """Judge how good a plan is: illegal, beaten or optimal.

    Judges the plan given, ours or another's; with --after, what another scheduler has made of the
    cluster; without either, the snapshot as it stands, as if nothing were done. First every step is
    replayed, then each objective bounded, then a better plan searched for. `kantopt verify
    --certificate` checks the certificate without a solver. Exit codes: 0 certified optimal, 10 a
    better plan was found, 11 neither within the limit, 12 illegal or untrue, 64 usage, 65 bad data,
    66 missing input, 73 cannot create, 74 write failed, 129, 130 and 143 interrupted (the
    certificate is written).
    """
    from kantopt.cli.signals import exit_code, stop_on_signals

    inputs = (*files, plan, *(after or ()))
    shown = answer.shown(output, output_file, inputs)
    check_output_file(counter_example, inputs)
    check_output_file(log, inputs)
    check_distinct((shown.path, counter_example, log))
    if plan is not None and after:
        raise UsageError("certify: --plan and --after: give one of them")
    deadline = search.deadline(answer)
    with stop_on_signals(deadline):
        with answer.progress(search.time_limit) as progress, solver_of(context) as solver:
            progress.reach("reading")
            from kantopt.planning.certificates.between import became_of
            from kantopt.planning.certify import certify as judge
            from kantopt.planning.pictures import picture_of
            from kantopt.planning.question import judging_model, question_of
            from kantopt.planning.wanted import model_pending, required_jobs
            from kantopt.schema.files import load_raw

            how = reading.under(model, pending)
            raws = load_raw([*files, *([plan] if plan is not None else [])])
            question = question_of(raws, how)
            if plan is not None and question.plan is None:
                raise BadDataError([Problem(plan, "kind", "no Plan", "a Plan to judge")])
            chosen = judging_model(question, model)
            if question.plan is None:  # which jobs a plan was made for stands in the plan
                chosen = model_pending(question, chosen, pending or ())
            later = became_of(question, raws, load_raw(after), how, chosen) if after else None
            progress.reach("planning")
            if log is not None:
                emit("", log)  # what an earlier run left there is not part of this one
            required = required_jobs(question, require or (), chosen)
            settings = search.settings(require=required, log=log)
            certificate = judge(
                question,
                chosen,
                settings,
                deadline,
                later=later,
                cross_check=cross_check,
                tell=progress.tell,
                solver=solver,
            )
            progress.end(certificate.verdict)
        better = certificate.counter_example
        if counter_example is not None and better is not None:
            emit(dumped(better.plan, format_of(None, counter_example, "yaml")), counter_example)
        shown.of(question).answer(
            certificate,
            certificate.warnings,
            question.notes,
            lambda: picture_of(question, chosen, better.plan if better is not None else None),
            size=size_read(question),
        )
    return exit_code(deadline.stop, _CODES[certificate.verdict])
