"""``kantopt defrag``."""

import contextlib
from dataclasses import replace
from typing import Annotated

import typer

from kantopt.cli import completion
from kantopt.cli import limits as lim
from kantopt.cli import options as opt
from kantopt.cli.ahead import solver_of
from kantopt.cli.answer import give_plan, plan_code
from kantopt.cli.groups import with_groups
from kantopt.cli.habits import Habits
from kantopt.cli.output import complain
from kantopt.cli.pace import Pace
from kantopt.cli.shown import AnswerOptions
from kantopt.errors import UsageError

_LIMITS = {
    "movesPerJob": ("moves_per_job", 0),
    "movesPerNamespace": ("moves_per_namespace", 0),
    "movesPerWave": ("moves_per_wave", 1),
    "arrivalsPerNode": ("arrivals_per_node", 0),
    "departuresPerNode": ("departures_per_node", 0),
}
"""Field and least value of each limit that is given by its name."""


@with_groups
def defrag(
    context: typer.Context,
    files: opt.Files,
    search: lim.SearchOptions,
    reading: opt.PlanReading,
    answer: AnswerOptions,
    habits: Habits,
    pace: Pace,
    goal: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GOAL",
            autocompletion=completion.goals,
            help="empty-nodes[=N], empty-domain=LEVEL[:N], fragment-rate=RESOURCE:SIZE[/CLASS][:N] "
            "(free slots; or a rate, P%), stranded-gpus[=X], fit=JOB[,JOB] (make room for pending "
            "jobs, patterns too), drain=NODE[,NODE] (empty nodes, patterns too). +N: N more than "
            "now; without N: as far as possible. Which nodes count: GOAL,selector=KEY[=VALUE] and "
            "GOAL,class=NAME. Repeatable, the most important first.",
            show_default="the objectives of the model",
        ),
    ] = None,
    max_moves: opt.MaxMoves = None,
    max_evictions: Annotated[
        int | None,
        typer.Option(metavar="K", min=0, help="Evict at most K pods.", show_default="0"),
    ] = None,
    limit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=N",
            help=f"A limit by its name in a model: {', '.join(_LIMITS)}. Repeatable.",
        ),
    ] = None,
    exempt: Annotated[
        list[str] | None,
        typer.Option(
            metavar="KEY[=VALUE]", help="Leave pods with this label where they are. Repeatable."
        ),
    ] = None,
    min_benefit: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="Least that the goals gain (nodes, domains, slots, GPUs, jobs) per disturbed pod: "
            "moves that gain less are left out, at last all of them.",
        ),
    ] = None,
    require_goal: Annotated[
        bool, typer.Option("--require-goal", help="Exit 4 if a goal is provably out of reach.")
    ] = False,
    model: opt.ModelName = None,
    engine: lim.Engine = "auto",
    without: lim.Without = None,
    output: opt.PlanForm = None,
    output_file: opt.PlanFile = None,
    detailed_exitcode: opt.DetailedExitcode = False,
) -> int:
    """Plan moves that tidy up: the fewest for a goal, or the best K.

    Needs no pending job. Nobody is evicted and nothing is bound unless asked for; only --goal fit
    binds the jobs that it makes room for. Verifies the plan and changes nothing itself. Exit
    codes: 0 plan written and all goals reached, also where it is to do nothing, 3 a goal is missed
    or nothing examined in time, 4 with --require-goal it is provably out of reach (the plan is
    written all the same), 64 usage, 65 bad data or too old, 66 missing input, 73 cannot create, 74
    write failed, 75 lock held, 129, 130 and 143 interrupted (the best plan is written).
    """
    from kantopt.cli.signals import stop_on_signals

    shown = answer.shown(output, output_file, files)
    limits = _limits(max_moves, max_evictions, limit or ())
    marks = _selectors(exempt or ())
    benefit = _benefit(min_benefit)
    deadline = search.deadline(answer)
    stop = deadline.stop
    with habits.run(files, shown) as run, stop_on_signals(deadline):
        with answer.progress(search.time_limit) as progress, contextlib.ExitStack() as ending:
            progress.reach("reading")
            solver = None if engine == "fast" else ending.enter_context(solver_of(context))
            from kantopt.planning.defrag import Wish, asked, defragment
            from kantopt.planning.document.goals import impossible
            from kantopt.planning.question import exempt_keys, read_question
            from kantopt.schema.extends import load_model
            from kantopt.schema.model import Limits
            from kantopt.search.schedule import known_techniques

            chosen = None if model is None else load_model(model)
            keys = frozenset(mark.partition("=")[0] for mark in marks)
            keys |= frozenset() if chosen is None else exempt_keys(chosen)
            question = read_question(files, reading.under(model, labels=keys))
            run.check_age(question)
            progress.reach("planning")
            settings = search.settings(engine=engine, without=known_techniques(without or ()))
            most = Limits.model_validate(limits)
            wanted = asked(question, Wish(tuple(goal or ()), chosen, most, marks, benefit))
            wanted = replace(wanted, model=pace.applied(wanted.model))

            deciding = search.deciding(settings)
            plan, result = run.unchanged(question, wanted.model, deciding, stop), None
            if plan is None:
                how = (settings, deadline, progress.tell, solver, run.last)
                result = defragment(question, wanted, *how, again=run.again)
                plan = run.stamped(result.plan, question, whole=not stop.wished())
            plan = pace.timed(plan)
            progress.end(plan.solver.status)
        run.phases = progress.phases()
        if not answer.quiet:
            complain("warning", pace.vain(plan), answer.log_format)
        code = plan_code(plan, result, detailed=detailed_exitcode)
        if require_goal and impossible(plan):
            code = 4
        return give_plan(plan, result, question, run, shown, stop, code)


def _limits(
    moves: int | None, evictions: int | None, given: "tuple[str, ...] | list[str]"
) -> dict[str, int]:
    from kantopt.schema.hints import one_of, perhaps, quote

    found = {
        name: number
        for name, number in (("moves", moves), ("evictions", evictions))
        if number is not None
    }
    for text in given:
        name, _, number = text.partition("=")
        if name not in _LIMITS:
            expected = one_of([f"{each}=N" for each in _LIMITS]) + perhaps(name, _LIMITS)
            raise UsageError(f"--limit: found {quote(text)}, expected {expected}")
        field, least = _LIMITS[name]
        if not (number.isascii() and number.isdigit() and least <= int(number) < 10_000_000):
            expected = f"a whole number of pods from {least} on"
            raise UsageError(f"--limit {name}: found {quote(number)}, expected {expected}")
        found[field] = int(number)
    return found


def _selectors(given: "list[str] | tuple[str, ...]") -> tuple[str, ...]:
    from kantopt.schema.base import SELECTOR
    from kantopt.schema.hints import quote

    for text in given:
        if not SELECTOR.fullmatch(text):
            raise UsageError(f"--exempt: found {quote(text)}, expected a label, KEY=VALUE or KEY")
    return tuple(given)


def _benefit(given: str | None) -> str | None:
    from kantopt.schema.hints import quote
    from kantopt.schema.quantity import parse_quantity

    if given is not None:
        try:
            parse_quantity(given)
        except ValueError:
            raise UsageError(
                f"--min-benefit: found {quote(given)}, expected a number from 0 on, such as 0.25"
            ) from None
    return given
