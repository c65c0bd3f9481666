"""Runs of arrivals, each a process of its own, and their rows."""

from __future__ import annotations

import csv
import multiprocessing
import os
import resource
import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from kantopt.errors import KantoptError
from kantopt.search.strategy import Strategy
from scripts.bench.measure import versions
from scripts.bench.openb_arrivals import PUBLISHED_SEED, TRACES, arrivals
from scripts.bench.openb_online import Online, simulate
from scripts.bench.row import cell
from scripts.bench.table import read_cells

WINDOWS: Mapping[Strategy, tuple[int, ...]] = {
    Strategy.LOOKAHEAD: (1, 50, 200),
    Strategy.FGD: (1, 50, 200),
    Strategy.BEST_FIT: (1,),
    Strategy.MOST_ALLOCATED: (1,),
}
"""Strategies and their windows; published are FGD, BestFit and Packing, all one by one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Arrivals to simulate."""

    trace: str
    seed: int
    strategy: Strategy
    window: int

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What tells its row from others."""
        return self.trace, self.strategy.value, self.window, self.seed


@dataclass(frozen=True, slots=True)
class OnlineRow:
    """One row: a simulation, and the peak memory of its process.

    Attributes
    ----------
    load
        Load average of the machine at the end: above ``processors`` times are inflated.
    kantopt
        Version and sources.
    """

    online: Online
    peak_mib: int
    parallel: int
    processors: int
    load: float
    kantopt: str

    @property
    def key(self) -> tuple[str, str, int, int]:
        """What was asked."""
        online = self.online
        return online.trace, online.strategy, online.window, online.seed


_OWN = ("peak_mib", "parallel", "processors", "load", "kantopt")
COLUMNS = (*(each.name for each in fields(Online)), *_OWN)


def to_cells(row: OnlineRow) -> list[str]:
    """Write a row as the cells of a CSV line."""
    return [
        *(cell(getattr(row.online, each.name)) for each in fields(Online)),
        *(cell(getattr(row, name)) for name in _OWN),
    ]


def read_online(path: Path) -> list[OnlineRow]:
    """Read the rows of a file that :func:`scripts.bench.table.begin_lines` has begun.

    Only rows of these sources are returned.

    Raises
    ------
    BadDataError
        If a line is no row.
    """
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(read_cells(path, csv.DictReader(file), _row))
    return [row for row in rows if row.kantopt == versions()[0]]


def _row(cells: Mapping[str, str]) -> OnlineRow:
    return OnlineRow(
        Online(
            cells["trace"],
            cells["strategy"],
            int(cells["window"]),
            int(cells["seed"]),
            _by_load(cells["arrived"]),
            _by_load(cells["allocated"]),
            float(cells["worst_seconds"]),
            float(cells["mean_seconds"]),
        ),
        int(cells["peak_mib"]),
        int(cells["parallel"]),
        int(cells["processors"]),
        float(cells["load"]),
        cells["kantopt"],
    )


def _by_load(text: str) -> dict[int, float]:
    pairs = (pair.split("=", 1) for pair in text.split())
    return {int(load): float(percent) for load, percent in pairs}


def asked(
    seeds: int,
    strategies: Sequence[Strategy] = (),
    windows: Sequence[int] = (),
    traces: Sequence[str] = (),
) -> list[Asked]:
    """List the simulations: the published seed and others, by trace; empty means all there are.

    ``windows`` replaces those of every strategy.
    """
    return [
        Asked(trace, seed, strategy, window)
        for trace in traces or TRACES
        for seed in (PUBLISHED_SEED, *range(1, seeds))
        for strategy in strategies or WINDOWS
        for window in windows or WINDOWS.get(strategy, (1,))
    ]


def run_all(
    wanted: Sequence[Asked],
    done: Collection[object],
    folder: Path,
    parallel: int,
    tell: Callable[[OnlineRow], None],
) -> None:
    """Simulate what is not done yet, each in a process of its own; tell each row as it comes.

    Raises
    ------
    KantoptError
        If the trace cannot be read.
    RuntimeError
        If a process has died.
    """
    waiting = [one for one in wanted if one.key not in done]
    running: dict[Connection, BaseProcess] = {}
    try:
        while waiting or running:
            while waiting and len(running) < parallel:
                line, process = _begin(folder, waiting.pop(0), parallel)
                running[line] = process
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process = running.pop(ready)
                row = _received(ready)
                process.join()
                tell(row)
    finally:
        for process in running.values():
            process.kill()
            process.join()


def _begin(folder: Path, one: Asked, parallel: int) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("fork")
    line, far_end = context.Pipe(duplex=False)
    process = context.Process(target=_work, args=(far_end, folder, one, parallel), daemon=True)
    process.start()
    far_end.close()
    return line, process


def _received(line: Connection) -> OnlineRow:
    try:
        item: OnlineRow | KantoptError = line.recv()
    except EOFError:
        raise RuntimeError("a simulation of arrivals has died") from None
    finally:
        line.close()
    if isinstance(item, KantoptError):
        raise item
    return item


def _work(line: Connection, folder: Path, one: Asked, parallel: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever waits for the row decides
    item: Any
    try:
        online = simulate(arrivals(folder, one.seed, one.trace), one.strategy, one.window)
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        load = round(os.getloadavg()[0], 2)
        processors = os.cpu_count() or 1
        item = OnlineRow(online, peak_kib // 1024, parallel, processors, load, versions()[0])
    except KantoptError as error:
        item = error
    line.send(item)
