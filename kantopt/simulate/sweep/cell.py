"""One cell of a sweep: a simulation, and what it is measured at."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.clock import Stop
from kantopt.errors import KantoptError
from kantopt.schema.answers.simulation import Unit
from kantopt.simulate.metrics.allocation import allocation
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.waiting import waiting
from kantopt.simulate.metrics.window import Window
from kantopt.simulate.runs import simulate
from kantopt.simulate.sweep.grid import Cell, Grid
from kantopt.worker import fault_words

PERCENTILES = (50, 90, 95, 99)
METRICS: dict[str, Unit] = {
    **{f"wait_p{percent}": "ms" for percent in PERCENTILES},
    "wait_mean": "ms",
    "wait_jobs": "jobs",
    "wait_censored": "jobs",
    "gar_mean": "share",
}
"""What is measured in each cell, with its unit; ``docs/metrics-over-time.md`` says what it is."""
_MINUTE = 60_000


@dataclass(frozen=True, slots=True)
class Result:
    """What one cell came to: values, or why there are none."""

    values: tuple[Value, ...] = ()
    events: int = 0
    judged: int = 0
    reason: str = ""


def run_cell(grid: Grid, cell: Cell) -> Result:
    """Simulate a cell and measure it; a fault of it becomes its reason."""
    try:
        (history,) = simulate(grid.asked_in(cell), grid.how, stop=Stop())
        window = Window(history, grid.warm_up)
        found = (*allocation(window, _MINUTE), *waiting(window, PERCENTILES))
    except KantoptError as error:
        return Result(reason=" ".join(str(error).split()))
    except Exception as error:
        return Result(reason=f"internal error: {fault_words(error)}")
    values = tuple(value for value in found if value.metric in METRICS)
    return Result(values, history.events, history.judged)
