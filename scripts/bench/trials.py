"""Benchmarks with rows of their own, each row a trial of something that is promised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from kantopt.cli.options import Colour
from kantopt.cli.output import complain, emit
from kantopt.errors import UsageError

if TYPE_CHECKING:
    from kantopt.report.blocks import Block
    from scripts.bench.certified_rows import Certified
    from scripts.bench.determinism import Twice
    from scripts.bench.explanations import Explained
    from scripts.bench.grid import Grid
    from scripts.bench.interruptions import Trial
    from scripts.bench.online_runs import OnlineRow
    from scripts.bench.preemption import Contest

_MODEL = "placement-first"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class To:
    """Where rows go, and how they are shown."""

    out: str | None
    color: Colour
    quiet: bool


def interruptions(count: int, parallel: int, to: To) -> int:
    """Interrupt runs at random and show what they left behind; 1 if anything is wrong."""
    from scripts.bench import interruptions as trials

    def fault(trial: Trial) -> str:
        return trial.faults and f"trial {trial.number} ({trial.way}): {trial.faults}"

    return _show(
        lambda tell: trials.run_trials(range(count), parallel, tell),
        _keeper(to.out, trials.COLUMNS),
        fault,
        trials.trial_blocks,
        to,
    )


def determinism(
    nodes: Sequence[int],
    seeds: int,
    engines: Sequence[str],
    limits_seconds: Sequence[float],
    to: To,
) -> int:
    """Plan questions of each size twice and show what differs; 1 if anything should not."""
    from scripts.bench import determinism as twice
    from scripts.bench.grid import seeds_of
    from scripts.bench.models import shipped
    from scripts.bench.priority_matters import cases

    def fault(row: Twice) -> str:
        return row.fault and f"{row.instance} {row.seed} {row.engine}: {row.fault}"

    asked = cases(nodes, (8,), (4,), (100,), seeds_of(seeds, None))
    model = (_MODEL, shipped(_MODEL, counts=True))
    return _show(
        lambda tell: twice.run_all(asked, [model], engines, limits_seconds, tell),
        _keeper(to.out, twice.COLUMNS),
        fault,
        twice.twice_blocks,
        to,
    )


def busy(seeds: int, limit_seconds: float | None, nice: int, to: To) -> int:
    """Plan clusters ten times each on a busy machine and show in which tiers plans differ."""
    from scripts.bench import busy as repeats

    limit = repeats.LIMIT_SECONDS if limit_seconds is None else limit_seconds
    return _show(
        lambda tell: repeats.run_all(seeds, repeats.RUNS, limit, nice, tell),
        _keeper(to.out, repeats.COLUMNS, repeats.to_cells),
        lambda row: "" if row.values else f"cluster {row.seed}, run {row.number}: no plan",
        repeats.repeat_blocks,
        to,
    )


def pairs(
    usage_percent: int,
    seeds: int,
    limit_seconds: float | None,
    to: To,
) -> int:
    """Plan pods by priority twice for each seed and show both runs tier by tier."""
    from scripts.bench import busy as repeats
    from scripts.bench import pairs as twice
    from scripts.bench.priority_matters import Cell

    limit = twice.LIMIT_SECONDS if limit_seconds is None else limit_seconds
    return _show(
        lambda tell: twice.run_all(Cell(32, 8, 4, usage_percent), seeds, limit, tell),
        _keeper(to.out, repeats.COLUMNS, repeats.to_cells),
        lambda row: "" if row.values else f"seed {row.seed}, run {row.number}: no plan",
        twice.pair_blocks,
        to,
    )


def preemption(
    nodes: Sequence[int],
    seeds: int,
    limit_seconds: float | None,
    to: To,
) -> int:
    """Compare victims with those of reverse-trim; 1 if ours are worse anywhere."""
    from scripts.bench import preemption as contest

    def fault(row: Contest) -> str:
        worse = row.verdict == "worse"
        return f"{row.crowd}: {row.ours} where reverse-trim has {row.trimmed}" if worse else ""

    limit = contest.LIMIT_SECONDS if limit_seconds is None else limit_seconds
    return _show(
        lambda tell: contest.run_all(nodes or contest.NODES, seeds, limit, tell),
        _keeper(to.out, contest.COLUMNS, contest.to_cells),
        fault,
        contest.contest_blocks,
        to,
    )


def explanations(
    nodes: Sequence[int],
    seeds: int,
    limit_seconds: float | None,
    to: To,
) -> int:
    """Ask about jobs of each kind and show how whole the answers are; 1 if one is cut short."""
    from scripts.bench import explanations as answers

    def fault(row: Explained) -> str:
        return "" if row.complete else f"{row.nodes} nodes, {row.kind}: the time was not enough"

    limit = answers.LIMIT_SECONDS if limit_seconds is None else limit_seconds
    return _show(
        lambda tell: answers.run_all(nodes or answers.NODES, seeds, limit, tell),
        _keeper(to.out, answers.COLUMNS),
        fault,
        answers.explained_blocks,
        to,
    )


def selection(
    nodes: Sequence[int],
    usage_percent: Sequence[int],
    seeds: int,
    to: To,
) -> int:
    """Place streams of jobs on one level and on two, and by other strategies."""
    from scripts.bench import selection as streams

    usage = usage_percent or (streams.USAGE_PERCENT,)
    return _show(
        lambda tell: streams.run_all(nodes or streams.NODES, usage, seeds, tell),
        _keeper(to.out, streams.COLUMNS),
        lambda _: "",
        streams.selected_blocks,
        to,
    )


def online(
    data: str | None,
    seeds: int,
    strategies: Sequence[str],
    windows: Sequence[int],
    traces: Sequence[str],
    workers: int,
    resume: bool,
    to: To,
) -> int:
    """Simulate arrivals in windows and show what is allocated, beside FGD and what is published."""
    from kantopt.cli.shown import on_screen
    from kantopt.search.strategy import Strategy
    from scripts.bench import online_runs, openb
    from scripts.bench.online_tables import online_blocks
    from scripts.bench.openb_arrivals import TRACES

    if unknown := [name for name in traces if name not in TRACES]:
        raise UsageError(f"--of: found {unknown[0]}, expected some of {', '.join(TRACES)}")
    if data is None:
        raise UsageError("bench openb-online: needs data: give --data DIR or set KANTOPT_DATA")
    wanted = online_runs.asked(seeds, [Strategy(name) for name in strategies], windows, traces)
    keys = [one.key for one in wanted]
    keep = _keeper(to.out, online_runs.COLUMNS, online_runs.to_cells)
    done: dict[tuple[str, str, int, int], OnlineRow] = {}
    if to.out is not None and resume:
        rows = online_runs.read_online(Path(to.out))
        done = {row.key: row for row in rows if row.key in keys}

    def tell(row: OnlineRow) -> None:
        keep(row)
        done[row.key] = row
        if not to.quiet:
            trace, name, window, seed = row.key
            complain("note", [f"{len(done)} of {len(wanted)}: {trace} {seed} {name} {window}"])

    stopped = False
    try:
        online_runs.run_all(wanted, set(done), Path(data) / openb.SUITE, workers, tell)
    except KeyboardInterrupt:
        stopped = True
    emit(on_screen(online_blocks([done[key] for key in keys if key in done]), to.color))
    return 130 if stopped else 0


def certificates(
    suites: Sequence[str],
    grid: Grid,
    models: Sequence[str],
    limit_seconds: float | None,
    strategies: Sequence[str],
    workers: int,
    resume: bool,
    to: To,
) -> int:
    """Certify the plans of suites, or placements of strategies; 1 if any certificate is wrong."""
    from kantopt.cli.shown import on_screen
    from scripts.bench import certificates as proofs
    from scripts.bench import certified_rows
    from scripts.bench.certified_suites import grid_of, suite_of
    from scripts.bench.certified_tables import certified_blocks

    asked = [
        proofs.Asked(case, name, chosen.model(name), limit_seconds or chosen.limits_seconds[0])
        for chosen in map(suite_of, suites)
        for case in chosen.cases(grid_of(grid) if strategies else grid)
        for name in models or chosen.models
    ]
    keep: Callable[[Certified], None] = _keeper(to.out, certified_rows.COLUMNS)
    wanted = {one.key(name) for one in asked for name in strategies or (certified_rows.OURS,)}
    done: dict[tuple[object, ...], Certified] = {}
    if to.out is not None and resume:
        rows = certified_rows.read_certified(Path(to.out))
        done = {row.key: row for row in rows if row.key in wanted}

    def tell(row: Certified) -> None:
        keep(row)
        done[row.key] = row
        if not to.quiet:
            complain("note", [f"{len(done)} of {len(wanted)}: {row.instance} {row.verdict}"])
            complain("error", [f"{row.instance} {row.judged}: {row.fault}"] if row.fault else [])

    stopped = False
    try:
        proofs.run_all(asked, strategies, set(done), workers, tell)
    except KeyboardInterrupt:
        stopped = True
    emit(on_screen(certified_blocks(list(done.values())), to.color))
    if stopped:
        return 130
    return 1 if any(row.fault for row in done.values()) else 0


def _show(
    run: Callable[[Callable[[_T], None]], object],
    keep: Callable[[_T], None],
    fault: Callable[[_T], str],
    blocks: Callable[[Sequence[_T]], Sequence[Block]],
    to: To,
) -> int:
    """Run trials, keep each row, tell what is wrong with it, show them all; the exit code.

    ``fault`` says what is wrong with a row, or nothing.
    """
    from kantopt.cli.shown import on_screen

    done: list[_T] = []

    def tell(row: _T) -> None:
        keep(row)
        done.append(row)
        if not to.quiet and fault(row):
            complain("error", [fault(row)])

    stopped = False
    try:
        run(tell)
    except KeyboardInterrupt:
        stopped = True
    emit(on_screen(blocks(done), to.color))
    if stopped:
        return 130
    return 1 if any(map(fault, done)) else 0


def _keeper(
    out: str | None,
    columns: Sequence[str],
    to_cells: Callable[[_T], Sequence[str]] | None = None,
) -> Callable[[_T], None]:
    """Return what appends a row to a file, if there is one to be; its fields if nobody says how."""
    from scripts.bench.row import to_cells as fields_of
    from scripts.bench.table import append_line, begin_lines

    if out is None:
        return lambda _: None
    path = Path(out)
    begin_lines(path, columns)
    return lambda row: append_line(
        path, fields_of(row, columns) if to_cells is None else to_cells(row)
    )
