"""``kantopt certify``."""

import contextlib
from dataclasses import replace
from typing import Annotated

import typer

from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.ahead import solver_of
from kantopt.cli.output import check_distinct, check_output_file, dumped, emit, format_of
from kantopt.cli.shown import asked_for, size_read
from kantopt.errors import BadDataError, Problem, UsageError

_CODES = {"OPTIMAL": 0, "BETTER": 10, "OPEN": 11, "ILLEGAL": 12}


def certify(
    context: typer.Context,
    files: opt.Files,
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
    time_limit: lim.TimeLimit = "10s",  # type: ignore[assignment]
    memory_limit: lim.MemoryLimit = None,
    seed: lim.Seed = 0,
    deterministic: lim.Deterministic = False,
    workers: lim.Workers = None,
    require: lim.Require = None,
    gated: opt.Gated = False,
    pending: opt.Pending = None,
    topology: opt.Levels = None,
    disturb: opt.Disturb = None,
    assume: opt.Assume = None,
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
    log_format: opt.LogFormat = "text",
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
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
    from kantopt.cli.progress import Progress
    from kantopt.cli.signals import stop_on_signals

    inputs = (*files, plan, *(after or ()))
    shown = asked_for(output, output_file, color, quiet=quiet, log_form=log_format, inputs=inputs)
    check_output_file(counter_example, inputs)
    check_output_file(log, inputs)
    check_distinct((shown.path, counter_example, log))
    if plan is not None and after:
        raise UsageError("certify: --plan and --after: give one of them")
    deadline = lim.deadline_of(
        time_limit, memory_limit, deterministic=deterministic, quiet=quiet, log_form=log_format
    )
    with stop_on_signals(deadline):
        progress = Progress(verbose=verbose, quiet=quiet, limit_seconds=time_limit, form=log_format)
        with progress, contextlib.ExitStack() as ending:
            progress.reach("reading")
            solver = ending.enter_context(solver_of(context))
            from kantopt.planning.certificates.between import became_of
            from kantopt.planning.certify import certify as judge
            from kantopt.planning.pictures import picture_of
            from kantopt.planning.question import judging_model, question_of
            from kantopt.planning.solving.options import Options
            from kantopt.planning.wanted import model_pending, required_jobs
            from kantopt.schema.files import load_raw

            how = opt.import_as(
                gated, pending, topology, disturb=disturb, assume=assume, model=model
            )
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
            settings = Options(seed=seed, require=required, log=log)
            if workers is not None:
                settings = replace(settings, workers=workers)
            result = judge(
                question,
                chosen,
                settings,
                deadline,
                later=later,
                cross_check=cross_check,
                tell=progress.tell,
                solver=solver,
            )
            progress.end(result.certificate.verdict)
        better = result.certificate.counter_example
        if counter_example is not None and better is not None:
            emit(dumped(better.plan, format_of(None, counter_example, "yaml")), counter_example)
        certificate = result.certificate
        shown.of(question).answer(
            certificate,
            certificate.warnings,
            question.notes,
            lambda: picture_of(question, chosen, better.plan if better is not None else None),
            size=size_read(question),
        )
    if deadline.stop.signal is not None:
        return 128 + deadline.stop.signal
    return _CODES[result.certificate.verdict]
