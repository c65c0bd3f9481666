"""``kantopt plan``."""

import contextlib
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.cli import options as opt
from kantopt.cli.habits import NO_HABITS, Habits, LogForm, Run, with_habits
from kantopt.cli.output import check_output_file, complain, dumped, emit, format_of
from kantopt.cli.pace import NO_PACE, Pace, with_pace
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.planning.plan import Result
    from kantopt.schema.plan import Plan

Form = Literal["table", "wide", "json", "yaml", "name"]


@with_habits
@with_pace
def plan(
    files: opt.Files,
    model: opt.ModelName = None,
    time_limit: Annotated[
        float,
        typer.Option(
            "--time-limit",
            metavar="DURATION",
            parser=opt.parse_duration,
            help="From the start of the program to the written plan: 10s, 500ms, 2m.",
        ),
    ] = "10s",  # type: ignore[assignment]
    memory_limit: Annotated[
        int | None,
        typer.Option(
            "--memory-limit",
            metavar="SIZE",
            parser=opt.parse_size,
            help="Of kantopt and its solver together: 4Gi. Near it the search ends and the best "
            "plan so far is written.",
            show_default="what the cgroup leaves",
        ),
    ] = None,
    engine: Annotated[
        opt.Engine,
        typer.Option(help="fast: heuristics only; exact: CP-SAT after the first plan; auto: both."),
    ] = "auto",
    strategy: Annotated[
        list[opt.Strategy] | None,
        typer.Option(
            metavar="NAME",
            help="Strategy of the heuristics: best-fit, most-allocated, least-allocated, "
            "kube-default, e-binpack, fgd or, for comparison, reverse-trim. Repeatable. Default: "
            "the best of several.",
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option(metavar="N", min=0, max=2**31 - 1, help="Seed of every random choice.")
    ] = 0,
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="Same input, same bytes: limits count work.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", min=1, max=256, help="Threads of the solver.", show_default="2"),
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(metavar="JOB", help="A job that must be placed. Repeatable."),
    ] = None,
    wanted: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="JOB",
            help="Plan for this pending job alone: it must be placed, at the least harm to "
            "others. Without a model: the shipped one, preemption.",
        ),
    ] = None,
    clear: Annotated[
        str | None,
        typer.Option(
            "--clear",
            metavar="LEVEL[=DOMAIN]",
            help="With --for: what room for the job would cost in each domain of a topology "
            "level, the cheapest first, each with a verified plan.",
        ),
    ] = None,
    gated: opt.Gated = False,
    pending: opt.Pending = None,
    topology: opt.Levels = None,
    output: Annotated[
        Form | None,
        typer.Option(
            "--output",
            "-o",
            help="wide: every action; name: a line per action.",
            show_default="table",
        ),
    ] = None,
    output_file: Annotated[
        str | None,
        typer.Option(
            "--output-file",
            "-O",
            metavar="FILE",
            help="Write there, whole or not at all. Without -o the file gets the plan document "
            "(YAML; JSON if it ends in .json) and stdout the table.",
        ),
    ] = None,
    detailed_exitcode: opt.DetailedExitcode = False,
    log_format: opt.LogFormat = "text",
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
    habits: Habits = NO_HABITS,
    pace: Pace = NO_PACE,
) -> int:
    """Plan placements, evictions and moves, and verify the plan.

    Reads a cluster and pending jobs, writes what to do, in which order, and how good that
    provably is. Changes nothing itself. Exit codes: 0 plan written, also where time or memory ran
    out, 4 a required job provably has no place (the plan is written all the same), 64 usage, 65
    bad data or too old, 66 missing input, 73 cannot create, 74 write failed, 75 lock held, 129, 130
    and 143 interrupted (the best plan is written).
    """
    from kantopt.cli.endings import unless_hung_up
    from kantopt.cli.progress import Progress
    from kantopt.cli.signals import stop_on_signals
    from kantopt.clock import Deadline, Stop
    from kantopt.memory import MemoryLimit, cgroup_limit, is_told

    if output_file == "-":
        output, output_file = output or "yaml", None
    if clear is not None and wanted is None:
        raise UsageError("--clear: found no job, expected --for JOB beside it")
    if clear is not None:
        habits.refuse_plan_files("--clear")
    check_output_file(output_file)
    shown = Shown(output, output_file, color, quiet, log_format)
    memory = cgroup_limit() if memory_limit is None else MemoryLimit(memory_limit)
    if memory is not None and not is_told() and not quiet:
        text = "the memory limit has no effect: this system does not tell what is in use"
        complain("warning", [text], log_format)
    stop = Stop(memory=memory)
    deadline = Deadline(time_limit, deterministic, stop)
    with habits.run(quiet=quiet, log_form=log_format) as run, stop_on_signals(stop):
        progress = Progress(verbose=verbose, quiet=quiet, limit_seconds=time_limit, form=log_format)
        with progress, contextlib.ExitStack() as ending:
            progress.reach("reading")
            from kantopt.schema.garbage import kept

            with kept():  # modules are, and documents
                from kantopt.planning.solver_process import SolverProcess

                # Started first: it loads the solver on another core while this one reads.
                solver = None if engine == "fast" else ending.enter_context(SolverProcess())
                from kantopt.planning.options import Options
                from kantopt.planning.plan import make_plan
                from kantopt.planning.question import Import, chosen_model, read_question
                from kantopt.search.strategy import Strategy

                how = Import(gated, tuple(pending or ()), tuple(topology or ()))
                question = read_question(files, how)
            run.check_age(question)
            progress.reach("planning")
            settings = Options(
                engine=engine,
                strategies=tuple(Strategy(name) for name in strategy or ()),
                seed=seed,
                require=tuple(require or ()),
            )
            if workers is not None:
                settings = replace(settings, workers=workers)
            if wanted is not None:
                from kantopt.planning.wanted import model_for, wanted_job

                wanted = wanted_job(question, wanted)
                if model is None and question.model is None:
                    model = "preemption"
            chosen = pace.applied(chosen_model(question, model))
            if wanted is not None:
                chosen = model_for(chosen, wanted)
            if wanted is not None and clear is not None:
                from kantopt.cli.prices import exit_code_of, write_prices
                from kantopt.planning.prices import price_list

                prices = price_list(
                    question, chosen, wanted, clear, settings, deadline, progress.reach, solver
                )
                progress.end(f"{len(prices.prices)} domains")
                write_prices(prices, shown)
                code = exit_code_of(prices, detailed=detailed_exitcode)
                return code if stop.signal is None else 128 + stop.signal
            options = {**asdict(settings), "time_limit": time_limit, "deterministic": deterministic}
            answer = run.unchanged(question, chosen, options)
            result = None
            if answer is None:
                result = make_plan(
                    question,
                    chosen,
                    settings,
                    deadline,
                    lambda news: progress.tell(news.seconds, news.by, news.values, news.bounds),
                    solver,
                )
                whole = stop.signal is None and not stop.lacks_memory()
                answer = run.stamped(result.plan, whole=whole)
            answer = pace.timed(answer)
            progress.end(answer.solver.status)
        run.phases = progress.phases()
        complain("warning", [] if quiet else pace.vain(answer), log_format)
        with unless_hung_up(stop):
            write_plan(answer, result, run, shown)
        code = exit_code(answer, detailed=detailed_exitcode)
        run.finish(answer, question, code if stop.signal is None else 128 + stop.signal)
    return code if stop.signal is None else 128 + stop.signal


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


@dataclass(frozen=True, slots=True)
class Shown:
    """How a plan is to be shown, and where."""

    form: Form | None
    path: str | None
    color: opt.Colour
    quiet: bool
    log_form: LogForm


def write_plan(plan: "Plan", result: "Result | None", run: Run, shown: Shown) -> None:
    """Write a plan as it was asked for; without a result it is that of the run before."""
    path = shown.path
    document_too = shown.form is None and path is not None
    if document_too:
        emit(dumped(plan, format_of(None, path, "yaml")), path)
        path = None
    form = shown.form or "table"
    if not (document_too and shown.quiet):
        emit(_text(plan, result, run, form, shown.color, to_file=path is not None), path)
    if shown.quiet:
        return
    if path is not None or form not in ("table", "wide"):
        complain("warning", plan.warnings, shown.log_form)
    run.tell(plan, in_table=path is None and form in ("table", "wide"))


def _text(
    plan: "Plan",
    result: "Result | None",
    run: Run,
    form: Form,
    color: opt.Colour,
    *,
    to_file: bool,
) -> str:
    if form in ("json", "yaml"):
        return dumped(plan, form)
    from kantopt.report.terminal import action_lines, plan_blocks

    if form == "name":
        return action_lines(plan)
    from kantopt.cli.screen import shown

    if result is None:
        return shown(run.blocks(plan), color, to_file=to_file)
    scales = {
        tier.name: 1000 * sum(shape.weight for shape in tier.mix)
        for tier in result.tiers
        if tier.mix
    }
    blocks = plan_blocks(plan, wide=form == "wide", scales=scales)
    return shown([*blocks, *run.blocks(plan)], color, to_file=to_file)
