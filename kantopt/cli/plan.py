"""``kantopt plan``."""

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli import completion
from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.ahead import solver_of
from kantopt.cli.answer import give_plan, plan_code
from kantopt.cli.groups import with_groups
from kantopt.cli.habits import Habits
from kantopt.cli.named import in_namespace
from kantopt.cli.output import complain
from kantopt.cli.pace import Pace
from kantopt.cli.shown import AnswerOptions
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.schema.answers.prices import PriceList
    from kantopt.schema.model import Model


@with_groups
def plan(
    context: typer.Context,
    files: opt.Files,
    search: lim.SearchOptions,
    reading: opt.PlanReading,
    answer: AnswerOptions,
    habits: Habits,
    pace: Pace,
    model: opt.ModelName = None,
    engine: lim.Engine = "auto",
    strategy: Annotated[
        list[opt.Strategy] | None,
        typer.Option(
            metavar="NAME",
            autocompletion=completion.strategies,
            help="Strategy of the heuristics: best-fit, most-allocated, least-allocated, "
            "kube-default, e-binpack, spread, e-spread (needs a zone in the model), fgd, "
            "lookahead or, for comparison, reverse-trim. Repeatable. "
            "Default: the best of several.",
        ),
    ] = None,
    without: lim.Without = None,
    max_moves: opt.MaxMoves = None,
    max_evictions: opt.MaxEvictions = None,
    require: lim.Require = None,
    wanted: Annotated[
        str | None,
        typer.Option(
            "--for",
            metavar="JOB",
            autocompletion=completion.jobs,
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
    namespace: opt.Namespace = None,
    pending: opt.Pending = None,
    output: opt.PlanForm = None,
    output_file: opt.PlanFile = None,
    detailed_exitcode: opt.DetailedExitcode = False,
) -> int:
    """Plan placements, evictions and moves, and verify the plan.

    Reads a cluster and pending jobs, writes what to do, in which order, and how good that
    provably is. Changes nothing itself. Exit codes: 0 plan written, also where time or memory ran
    out, 3 a required job is not placed, a goal missed or nothing examined in time, 4 a required
    job provably has no place (the plan is written all the same), 64 usage, 65 bad data or too old,
    66 missing input, 73 cannot create, 74 write failed, 75 lock held, 129, 130 and 143 interrupted
    (the best plan is written).
    """
    from kantopt.cli.signals import exit_code, stop_on_signals

    if clear is not None and wanted is None:
        raise UsageError("--clear: found no job, expected --for JOB beside it")
    if namespace is not None and wanted is None and not require:
        expected = f"--for or --require beside it, or --pending '{namespace}/*'"
        raise UsageError(f"--namespace: found no job that it is for, expected {expected}")
    if clear is not None:
        habits.refuse_plan_files()
    wanted = None if wanted is None else in_namespace(wanted, namespace)
    require = [in_namespace(name, namespace) for name in require or ()]
    shown = answer.shown(output, output_file, files)
    deadline = search.deadline(answer)
    stop = deadline.stop
    with habits.run(files, shown) as run, stop_on_signals(deadline):
        with answer.progress(search.time_limit) as progress, contextlib.ExitStack() as ending:
            progress.reach("reading")
            from kantopt.schema.garbage import for_good, kept

            ending.enter_context(for_good())

            with kept():  # modules are, and documents
                solver = None if engine == "fast" else ending.enter_context(solver_of(context))
                from kantopt.planning.plan import make_plan
                from kantopt.planning.question import chosen_model, read_question
                from kantopt.planning.wanted import (
                    check_namespace,
                    model_for,
                    model_pending,
                    required_jobs,
                    wanted_job,
                )
                from kantopt.search.schedule import known_techniques
                from kantopt.search.strategy import Strategy

                question = read_question(files, reading.under(model, pending))
            check_namespace(question, namespace)
            run.check_age(question)
            progress.reach("planning")
            settings = search.settings(
                engine=engine,
                strategies=tuple(Strategy(name) for name in strategy or ()),
                without=known_techniques(without or ()),
            )

            def limited(model: str | None) -> "Model":
                chosen = pace.applied(chosen_model(question, model))
                return _limited(chosen, {"moves": max_moves, "evictions": max_evictions})

            together = None
            if wanted is not None:
                wanted = wanted_job(question, wanted)
                together = limited(model)
                if model is None and question.model is None:
                    model = "preemption"
            chosen = limited(model)
            chosen = model_pending(question, chosen, pending or ())
            if wanted is not None:
                chosen = model_for(chosen, wanted)
            settings.check_zone(chosen)
            settings = replace(settings, require=required_jobs(question, require or (), chosen))
            if wanted is not None and clear is not None:
                from kantopt.planning.prices import price_list

                prices = price_list(
                    question, chosen, wanted, clear, settings, deadline, progress.reach, solver
                )
                progress.end(f"{len(prices.prices)} domains")
                shown.of(question).answer(prices, prices.warnings, question.notes)
                code = _prices_code(prices, detailed=detailed_exitcode)
                return exit_code(stop, code)

            deciding = search.deciding(settings)
            found, result = run.unchanged(question, chosen, deciding, stop), None
            if found is None:
                how = (settings, deadline, progress.tell, solver, run.last, together)
                result = make_plan(question, chosen, *how, again=run.again)
                found = run.stamped(result.plan, question, whole=not stop.wished())
            found = pace.timed(found)
            progress.end(found.solver.status)
        run.phases = progress.phases()
        if not answer.quiet:
            complain("warning", pace.vain(found), answer.log_format)
        code = plan_code(found, result, detailed=detailed_exitcode)
        return give_plan(found, result, question, run, shown, stop, code)


def _limited(model: "Model", given: dict[str, int | None]) -> "Model":
    """Return a model with the limits of the command line in place of its own."""
    limits = {name: most for name, most in given.items() if most is not None}
    return model.model_copy(update={"limits": model.limits.model_copy(update=limits)})


def _prices_code(prices: "PriceList", *, detailed: bool) -> int:
    """Exit code of a price list: 4 if no domain can make room, 3 if none is known to."""
    statuses = {price.status for price in prices.prices}
    if statuses <= {"IMPOSSIBLE"}:
        return 4
    if not statuses & {"OPTIMAL", "FEASIBLE"}:
        return 3
    if not detailed:
        return 0
    return 5 if statuses & {"FEASIBLE", "OPEN"} else 2
