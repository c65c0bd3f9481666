"""The command line of the benchmarks."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kantopt.cli import options as opt
from kantopt.cli.app import call, empty_app
from kantopt.cli.endings import run
from kantopt.cli.output import check_output_file, complain, emit
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from scripts.bench.campaign import Campaign
    from scripts.bench.row import Row
    from scripts.bench.table import Table

PROGRAM = "scripts/bench"
_ENGINES = ("fast", "exact", "auto")
TRIALS = (
    *("preemption", "openb-online", "interruptions", "determinism", "certificates"),
    *("explanations", "busy", "pairs", "selection"),
)
"""What has no rows of its own in the table of runs."""


def main(arguments: Sequence[str]) -> int:
    """Run a benchmark and return the exit code; never raises."""
    return run(arguments, lambda given: call(bench_app(), PROGRAM, given))


def bench_app() -> typer.Typer:
    """Return what reads the arguments."""
    app = empty_app()
    app.command()(bench)
    return app


def bench(
    suite: Annotated[
        str,
        typer.Argument(
            metavar="SUITE",
            help="priority-matters, gangs, arrivals, everyday, goals, victims, backlog, alike, "
            "golden, openb, openb-online, vm-rescheduling, features, ablation or preemption; "
            "interruptions, determinism, busy, pairs, certificates, explanations or selection.",
            show_default=False,
        ),
    ],
    data: Annotated[
        str | None,
        typer.Option(
            "--data",
            metavar="DIR",
            help="Folder with third-party data. Default: $KANTOPT_DATA.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", metavar="FILE.csv", help="Append a row per run there."),
    ] = None,
    limits: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Time limits: 1s,10s.", show_default="the suite's"),
    ] = None,
    seeds: Annotated[int, typer.Option(metavar="N", min=1, help="Seeds of each cell.")] = 5,
    engines: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="fast, exact, auto.", show_default="the suite's"),
    ] = None,
    models: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Shipped models; NAME-strict puts NAME under priority: strict.",
            show_default="the suite's",
        ),
    ] = None,
    nodes: Annotated[
        str | None, typer.Option(metavar="LIST", help="Sizes: 4,8,16.", show_default="all")
    ] = None,
    pods: Annotated[
        str | None, typer.Option(metavar="LIST", help="Pods per node: 4,8.", show_default="all")
    ] = None,
    priorities: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Numbers of priorities: 1,2,4.", show_default="all"),
    ] = None,
    usage: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Target usages: 0.95,1.00.", show_default="all"),
    ] = None,
    workers: Annotated[
        int, typer.Option(metavar="N", min=1, max=256, help="Runs at the same time.")
    ] = 1,
    of: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Suites whose plans `certificates` certifies, preemption and golden, too (default "
            "priority-matters); those of `features` and `ablation` (default: all they know); "
            "traces of `openb-online`: default, gpushare40, named-third.",
            show_default=False,
        ),
    ] = None,
    feature: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="`features`: only this one; `ablation`: only without this technique. Repeatable.",
            show_default=False,
        ),
    ] = None,
    strategy: Annotated[
        list[opt.Strategy] | None,
        typer.Option(
            metavar="NAME",
            help="`certificates`: not our plan but what this strategy alone makes of an empty "
            "cluster; `openb-online`: only this one. Repeatable.",
        ),
    ] = None,
    windows: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="`openb-online`: pods per window, of every strategy: 1,50,200.",
            show_default="the strategy's",
        ),
    ] = None,
    trials: Annotated[
        int, typer.Option(metavar="N", min=1, help="Runs that `interruptions` interrupts.")
    ] = 200,
    nice: Annotated[
        int, typer.Option(metavar="N", min=0, max=19, help="`busy`: of the busy processes.")
    ] = 0,
    resume: Annotated[
        bool, typer.Option("--resume/--again", help="Skip rows that FILE.csv already holds.")
    ] = True,
    record: Annotated[
        str | None,
        typer.Option("--record", metavar="FILE.csv", help="Keep best values and bounds there."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option("--plot", metavar="DIR", help="Draw SVG plots (matplotlib).")
    ] = None,
    page: Annotated[
        str | None,
        typer.Option("--page", metavar="FILE.html", help="Write the summary there as a page."),
    ] = None,
    color: opt.ColourOption = "auto",
    quiet: opt.Quiet = False,
    verbose: opt.Verbose = False,
) -> int:
    """Run a benchmark: each run is a process, each plan is verified.

    Every run is a CSV row, written when it ends; the same command goes on where it was stopped.
    Exit code 1 if a plan is missing, illegal or worse than doing nothing, or contradicts a bound
    known before.
    `interruptions` kills the solver, lets memory run short and sends signals at random moments;
    `determinism` plans each question twice, `busy` ten times beside busy processes, `pairs`
    pods by priority twice, told tier by tier; `preemption` compares victims with those of
    reverse-trim; `certificates` certifies plans and checks the certificates; `explanations` asks
    why jobs of each kind are where they are: there, too, 1 if anything is not as documented.
    `selection` places streams of jobs on one level and on two, and shows time and what stays whole.
    `features` runs instances with and without what binds nobody, and shows what that costs;
    `ablation` leaves out each technique of the search in turn, and shows what is lost.
    """
    from kantopt.cli.shown import on_screen
    from scripts.bench.campaign import Campaign
    from scripts.bench.features import suite as featured
    from scripts.bench.features.compared import feature_faults
    from scripts.bench.grid import Grid
    from scripts.bench.records import contradictions, merged, read_records, write_records
    from scripts.bench.suites import SUITES
    from scripts.bench.summary import remarks, summary_blocks
    from scripts.bench.table import Table

    if suite not in (*SUITES, *TRIALS):
        from kantopt.schema.hints import did_you_mean, one_of

        names = (*SUITES, *TRIALS)
        hint = did_you_mean(suite, names)
        raise UsageError(
            f"bench: found {suite}, expected {one_of(names)}" + (f" ({hint})" if hint else "")
        )
    if page is not None and suite in TRIALS:
        raise UsageError(f"--page: found {suite}, expected one of {', '.join(SUITES)}")
    if suite == "openb-online":
        from scripts.bench.trials import To, online

        where = data or os.environ.get("KANTOPT_DATA")
        chosen_windows = _whole("--windows", windows)
        return online(
            *(where, seeds, strategy or (), chosen_windows, _words(of), workers),
            *(resume, To(out, color, quiet)),
        )
    if suite == "interruptions":
        from scripts.bench.trials import To, interruptions

        return interruptions(trials, workers, To(out, color, quiet))
    if suite == "determinism":
        from scripts.bench.trials import To, determinism

        chosen_nodes = _whole("--nodes", nodes) or (4, 8, 16, 32, 64)
        times = tuple(map(opt.parse_duration, _words(limits))) or (5.0,)
        return determinism(
            chosen_nodes, seeds, _engines(engines or "exact"), times, To(out, color, quiet)
        )
    if suite == "busy":
        from scripts.bench.trials import To, busy

        limit = next(map(opt.parse_duration, _words(limits)), None)
        return busy(seeds, limit, nice, To(out, color, quiet))
    if suite == "pairs":
        from scripts.bench.trials import To, pairs

        limit = next(map(opt.parse_duration, _words(limits)), None)
        full = (*_percents(usage), 100)[0]
        return pairs(full, seeds, limit, To(out, color, quiet))
    if suite == "selection":
        from scripts.bench.trials import To, selection

        sizes, shares = _whole("--nodes", nodes), _percents(usage)
        return selection(sizes, shares, seeds, To(out, color, quiet))
    if suite == "preemption":
        from scripts.bench.trials import To, preemption

        limit = next(map(opt.parse_duration, _words(limits)), None)
        return preemption(_whole("--nodes", nodes), seeds, limit, To(out, color, quiet))
    if suite == "explanations":
        from scripts.bench.trials import To, explanations

        limit = next(map(opt.parse_duration, _words(limits)), None)
        return explanations(_whole("--nodes", nodes), seeds, limit, To(out, color, quiet))
    folder = data or os.environ.get("KANTOPT_DATA")
    grid = Grid(
        _whole("--nodes", nodes),
        _whole("--pods", pods),
        _whole("--priorities", priorities),
        _percents(usage),
        seeds,
        None if folder is None else Path(folder),
        *(_words(of), tuple(feature or ())),
    )
    if suite == "certificates":
        from scripts.bench.trials import To, certificates

        limit = next(map(opt.parse_duration, _words(limits)), None)
        judged = [strategy.value for strategy in strategy or ()]
        return certificates(
            *(_words(of) or ("priority-matters",), grid, _words(models), limit, judged, workers),
            *(resume, To(out, color, quiet)),
        )
    if suite == featured.SUITE and featured.left_out(grid):
        without = ", ".join(featured.left_out(grid))
        complain("note", [f"{without}: left out, need data: give --data DIR or set KANTOPT_DATA"])
    chosen = SUITES[suite]
    if plot is not None:
        from scripts.bench.plots import check_plotting

        check_plotting()
    wanted = _words(models) or chosen.models
    campaign = Campaign(
        tuple(chosen.cases(grid)),
        {name: chosen.model(name) for name in wanted},
        _engines(engines or "auto"),
        tuple(map(opt.parse_duration, _words(limits))) or chosen.limits_seconds,
        workers,
    )
    known = read_records(Path(record)) if record is not None else []
    table = Table(None if out is None else Path(out))
    check_output_file(page)
    stopped = _run(campaign, table, resume=resume, quiet=quiet)
    rows = _of_campaign(table.rows, campaign)
    summary = summary_blocks(rows, known)
    emit(on_screen(summary, color))
    if page is not None:
        from kantopt.report.blocks import Paragraph
        from kantopt.report.page import page as written

        runs = f"{suite}: {len(rows)} of {campaign.total} runs"
        emit(written(f"scripts/bench {suite}", [Paragraph(runs, "title")], summary), page)
    faults = [*remarks(rows), *contradictions(rows, known)]
    if suite == featured.SUITE:
        faults += feature_faults(rows)
    complain("error", faults)
    if record is not None and not faults:
        write_records(Path(record), merged(known, rows))
    if plot is not None:
        from scripts.bench.plots import plot as draw
        from scripts.bench.profiles import best_values

        draw(rows, best_values(rows, known), suite, Path(plot))
    if stopped:
        complain("warning", [f"stopped: {len(rows)} of {campaign.total} rows"])
        return 130
    return 1 if faults else 0


def _run(campaign: "Campaign", table: "Table", *, resume: bool, quiet: bool) -> bool:
    """Run with a bar on a terminal; returns whether it was interrupted."""
    from scripts.bench.campaign import run as run_campaign

    if quiet or not sys.stderr.isatty():
        try:
            run_campaign(campaign, table, resume=resume, tell=lambda _: None)
        except KeyboardInterrupt:
            return True
        return False
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[last]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=campaign.total, last="")

        def tell(row: "Row | None") -> None:
            last = "" if row is None else f"{row.instance} {row.model}: {row.category}"
            progress.update(task, advance=1, last=last)

        try:
            run_campaign(campaign, table, resume=resume, tell=tell)
        except KeyboardInterrupt:
            return True
    return False


def _of_campaign(rows: "Sequence[Row]", campaign: "Campaign") -> "list[Row]":
    """Rows of this command among those of the file; of several runs of the same the last."""
    asked = {
        (case.suite, case.instance, case.seed, *asked)
        for case in campaign.cases
        for asked in campaign.asked(case)
    }
    return list({row.key[:6]: row for row in rows if row.key[:6] in asked}.values())


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in (text or "").split(",") if word.strip())


def _whole(option: str, text: str | None) -> tuple[int, ...]:
    words = _words(text)
    if not all(word.isdecimal() and 0 < int(word) <= 10**6 for word in words):
        raise UsageError(f"{option}: found {text}, expected whole numbers such as 4,8,16")
    return tuple(map(int, words))


def _percents(text: str | None) -> tuple[int, ...]:
    try:
        shares = [round(100 * float(word)) for word in _words(text)]
    except (ValueError, OverflowError):
        shares = [0]
    if not all(0 < share <= 1000 for share in shares):
        raise UsageError(f"--usage: found {text}, expected shares such as 0.95,1.00")
    return tuple(shares)


def _engines(text: str) -> tuple[str, ...]:
    words = _words(text)
    if not words or not set(words) <= set(_ENGINES):
        raise UsageError(f"--engines: found {text}, expected some of {', '.join(_ENGINES)}")
    return words
