"""How long it takes to lay out a table of many actions: in a pipe, on a terminal, and by rich.

CPU seconds from rows to text, modules loaded before.
"""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from kantopt.report.blocks import Screen, Table, render

COLUMNS = ("WAVE", "AFTER", "ACTION", "JOB/PODSET", "PODS", "NODES")
NUMBERS = frozenset({0, 4})
WIDTH = 100


def rows(count: int) -> tuple[tuple[str, ...], ...]:
    """Make up actions."""
    return tuple(
        (str(i % 7), "-", "bind", f"research/job-{i}/worker", "2", f"gpu-{i:04}, gpu-{i + 1:04}")
        for i in range(count)
    )


def by_rich(table: Table) -> str:
    """Lay a table out by rich, names broken where they do not fit."""
    out = io.StringIO()
    laid_out = RichTable(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for i, column in enumerate(table.columns):
        justify = "right" if i in table.right else "left"
        laid_out.add_column(column, justify=justify, overflow="fold")  # type: ignore[arg-type]
    for row in table.rows:
        laid_out.add_row(*map(Text, row))
    Console(file=out, width=WIDTH, force_terminal=True).print(laid_out)
    return out.getvalue()


def main() -> None:
    """Print one row per way."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--actions", type=int, default=5000)
    table = Table("", COLUMNS, rows(arguments.parse_args().actions), NUMBERS)
    ways: tuple[tuple[str, Callable[[Table], str]], ...] = (
        ("kantopt, in a pipe", lambda it: render([it], Screen())),
        ("kantopt, on a terminal", lambda it: render([it], Screen(WIDTH, colour=True))),
        ("rich, on a terminal", by_rich),
    )
    small = Table("", COLUMNS, rows(1), NUMBERS)
    for name, way in ways:
        way(small)
        start = time.process_time()
        lines = way(table).count("\n")
        print(f"{name:24} {time.process_time() - start:8.3f} s {lines:8} lines", flush=True)


if __name__ == "__main__":
    main()
