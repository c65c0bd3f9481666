"""``kantopt simulate --sweep``: a grid of clusters, offered loads and policies."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kantopt.errors import UsageError
from kantopt.schema.hints import perhaps, quote

if TYPE_CHECKING:
    from kantopt.cli.progress import Progress
    from kantopt.cli.shown import Shown
    from kantopt.clock import Stop
    from kantopt.schema.answers.sweep import Sweep
    from kantopt.simulate.asked import Asked
    from kantopt.simulate.runs import How

Leaves = Literal["new", "existing"]
MOST_NODES, LEAST_LOAD, MOST_LOAD = 100_000, Fraction("0.01"), 100
_FACTOR = re.compile(r"[\d./]{1,20}(e-?\d)?", re.ASCII | re.IGNORECASE)
_ALONE = {
    "--pictures": "of which there are tables only (--tables)",
    "--checkpoint": "of which nothing is saved before all cells are done",
}
"""Options that go with no sweep, and why."""


@dataclass(frozen=True, slots=True)
class Axes:
    """What is asked for on the command line."""

    like: str | None
    nodes: tuple[int, ...]
    leaves: Leaves
    loads: tuple[str, ...]
    ray: str | None


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """Options of a sweep."""

    sweep: Annotated[
        bool,
        typer.Option(
            "--sweep",
            help="A grid: how long jobs wait with more nodes, at other loads (docs/simulate.md).",
        ),
    ] = False
    add_nodes: Annotated[
        str | None,
        typer.Option(
            metavar="NODE:N[,N]",
            help="Of a sweep: so many copies of a node more, gpu-01:0,4,8.",
            show_default="no node more",
        ),
    ] = None
    leaves: Annotated[
        Leaves,
        typer.Option(
            help="Of a sweep: nodes added make new domains of the finest level, or join that of "
            "the node copied."
        ),
    ] = "new"
    scale_load: Annotated[
        str | None,
        typer.Option(
            metavar="X[,X]",
            help="Of a sweep: jobs come so many times as fast, 0.9,1.0,1.1.",
            show_default="1",
        ),
    ] = None
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Of a sweep: run the cells on this Ray cluster instead of --workers here: "
            "HOST:PORT, or auto.",
        ),
    ] = None

    def axes(self, others: Mapping[str, str | None]) -> Axes | None:
        """Read the axes; ``None`` if no sweep is asked for.

        Parameters
        ----------
        others
            Options that a sweep has nothing for, by name.

        Raises
        ------
        UsageError
            If one cannot be read, is given without a sweep, or another is given with one.
        """
        if not self.sweep:
            given = {"add-nodes": self.add_nodes, "scale-load": self.scale_load, "ray": self.ray}
            for option, value in given.items():
                if value is not None:
                    raise UsageError(f"--{option}: found no --sweep, expected it beside")
            return None
        for option, value in others.items():
            if value is not None:
                raise UsageError(f"{option}: found --sweep, {_ALONE[option]}")
        like, nodes = _nodes(self.add_nodes)
        return Axes(like, nodes, self.leaves, _loads(self.scale_load), self.ray)


def _nodes(text: str | None) -> tuple[str | None, tuple[int, ...]]:
    if text is None:
        return None, (0,)
    like, separator, numbers = text.rpartition(":")
    found = [each.strip() for each in numbers.split(",")]
    whole = all(each.isascii() and each.isdigit() and len(each) < 7 for each in found)
    if not (like and separator and whole) or max(map(int, found)) > MOST_NODES:
        expected = f"NODE:N[,N] with numbers up to {MOST_NODES}, such as gpu-01:0,4,8"
        raise UsageError(f"--add-nodes: found {quote(text)}, expected {expected}")
    return like, tuple(dict.fromkeys(map(int, found)))


def _loads(text: str | None) -> tuple[str, ...]:
    found: dict[Fraction, str] = {}
    for each in ("1" if text is None else text).split(","):
        try:
            factor = Fraction(each.strip() if _FACTOR.fullmatch(each.strip()) else 0)
        except (ValueError, ZeroDivisionError):
            factor = Fraction(0)
        if not LEAST_LOAD <= factor <= MOST_LOAD:
            expected = f"factors from {float(LEAST_LOAD)} to {MOST_LOAD}, such as 0.9,1.0,1.1"
            raise UsageError(f"--scale-load: found {quote(each.strip())}, expected {expected}")
        found.setdefault(factor, each.strip())
    return tuple(found.values())


def run_sweep(
    asked: "Asked",
    how: "How",
    axes: Axes,
    warm_up: int,
    workers: int,
    stop: "Stop",
    progress: "Progress",
) -> "Sweep":
    """Simulate all cells, here or on a Ray cluster, and put them together.

    Raises
    ------
    UsageError
        If there is no such node, or Ray is asked for and not there.
    RayError
        If the Ray cluster cannot be used.
    """
    from kantopt.simulate.sweep.cell import Result
    from kantopt.simulate.sweep.grid import Grid
    from kantopt.simulate.sweep.merged import merged

    known = [node.name for node in asked.question.snapshot.nodes]
    if axes.like is not None and axes.like not in known:
        expected = f"a node of the snapshot{perhaps(axes.like, known)}"
        raise UsageError(f"--add-nodes: found {axes.like}, expected {expected}")
    grid = Grid(asked, how, axes.nodes, axes.like, axes.leaves, axes.loads, warm_up)
    cells, done = grid.cells, 0

    def tell(number: int, result: "Result") -> None:
        nonlocal done
        done += 1
        word = "failed" if result.reason else "done"
        progress.reach(f"{grid.name(cells[number])}: {word} ({done} of {len(cells)})")

    progress.reach(f"simulating {len(cells)} cells")
    if axes.ray is None:
        from kantopt.simulate.sweep.local import run_here

        results = run_here(grid, workers, stop, tell)
    else:
        from kantopt.simulate.sweep.on_ray import run_on_ray

        results = run_on_ray(grid, axes.ray, stop, tell)
    return merged(grid, results)


def write_sweep(sweep: "Sweep", shown: "Shown", tables: str | None) -> None:
    """Write a sweep as it was asked for, and its table of values as CSV."""
    shown.answer(sweep)
    if tables is not None:
        from kantopt.schema.writing import make_folder, write_atomic
        from kantopt.simulate.sweep.merged import sweep_csv

        make_folder(tables)
        write_atomic(os.path.join(tables, "sweep.csv"), sweep_csv(sweep))
