"""Cells of a sweep in processes of this machine."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection, wait

from kantopt.clock import Stop
from kantopt.simulate.sweep.cell import Result, run_cell
from kantopt.simulate.sweep.grid import Cell, Grid
from kantopt.worker import Worker

Tell = Callable[[int, Result], None]
"""Told the number of a cell that is done, and what it came to."""
_LOOK = 0.1
"""Seconds between two looks whether somebody wishes to stop."""


def run_here(grid: Grid, workers: int, stop: Stop, tell: Tell) -> dict[int, Result]:
    """Run all cells, each in a process of its own; return what is done when told to stop.

    A process that dies takes its cell with it, which then says how.
    """
    cells = grid.cells
    found: dict[int, Result] = {}
    todo = list(range(len(cells)))[::-1]
    with ExitStack() as ending:
        busy: dict[Connection, tuple[int, Worker]] = {}
        while (todo or busy) and not stop.wished():
            while todo and len(busy) < workers:
                number = todo.pop()
                body = partial(_serve, grid, cells[number])
                worker = ending.enter_context(Worker(body, quiet=True))
                busy[worker.line] = number, worker
            ready = wait(list(busy), timeout=_LOOK)
            for line in [line for line in busy if line in ready]:
                number, worker = busy.pop(line)
                try:
                    found[number] = worker.line.recv()
                except (EOFError, OSError):
                    found[number] = Result(reason=f"its process died: {worker.ending()}")
                worker.end()
                tell(number, found[number])
    return found


def _serve(grid: Grid, cell: Cell, line: Connection) -> None:
    line.send(run_cell(grid, cell))
