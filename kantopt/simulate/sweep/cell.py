"""One cell of a sweep: a simulation, and what it is measured at."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.clock import Stop
from kantopt.errors import KantoptError
from kantopt.schema.answers.simulation import Unit
from kantopt.simulate.metrics.allocation import allocation
from kantopt.simulate.metrics.kaplan_meier import kaplan_meier
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.waiting import by_size, waits
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
        window = Window(history, grid.warm_up, None)
        found = [value for value in allocation(window, _MINUTE) if value.metric in METRICS]
        for size, jobs in by_size(window.jobs):
            curve = kaplan_meier(waits(window, jobs))
            for percent in PERCENTILES:
                reached = curve.quantile(percent)
                value = curve.longest if reached is None else reached
                found.append(Value(f"wait_p{percent}", value, size, at_least=reached is None))
            found.append(Value("wait_mean", curve.mean, size, at_least=not curve.complete))
            found.append(Value("wait_jobs", curve.count, size))
            found.append(Value("wait_censored", curve.censored, size))
    except KantoptError as error:
        return Result(reason=" ".join(str(error).split()))
    except Exception as error:
        return Result(reason=f"internal error: {fault_words(error)}")
    return Result(tuple(found), history.events, history.judged)
