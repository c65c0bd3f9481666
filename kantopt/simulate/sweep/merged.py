"""Results of all cells as one document, in the order of the grid, whoever ran them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kantopt.planning.by_size import SIZES
from kantopt.schema.answers.sweep import FailedCell, Sweep, SweepValue
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.simulate.metrics.value import Value
from kantopt.simulate.metrics.waiting import ALL
from kantopt.simulate.replicates import interval
from kantopt.simulate.sweep.cell import METRICS, Result
from kantopt.simulate.sweep.grid import Cell, Grid
from kantopt.simulate.tables import csv_of

_SCOPES = ("", ALL, *SIZES)
_HEADER = ("nodes", "load", "policy", "trace", "metric", "class", "value", "unit", "at_least")


def merged(grid: Grid, results: Mapping[int, Result]) -> Sweep:
    """Put the results together; cells without one are named."""
    asked = grid.asked
    policies = tuple(policy.metadata.name for policy in asked.policies)
    traces = tuple(trace.metadata.name for trace in asked.traces)
    cells = grid.cells
    done = {cells[i]: results[i] for i in sorted(results) if not results[i].reason}
    failed = tuple(
        FailedCell(
            nodes=cells[i].nodes,
            load=cells[i].load,
            policy=policies[cells[i].policy],
            trace=traces[cells[i].trace],
            reason=results[i].reason,
        )
        for i in sorted(results)
        if results[i].reason
    )
    notes = []
    if len(results) < len(cells):
        notes.append(f"interrupted: {len(results)} of {len(cells)} cells were simulated")
    return Sweep(
        api_version=API_VERSION,
        kind="Sweep",
        metadata=Metadata(name=asked.question.snapshot.metadata.name),
        like=grid.like,
        leaves=grid.leaves,
        nodes=grid.nodes,
        loads=grid.loads,
        policies=policies,
        traces=traces,
        begin=grid.warm_up,
        events=sum(result.events for result in done.values()),
        judged=sum(result.judged for result in done.values()),
        values=tuple(_values(grid, policies, done)),
        failed=failed,
        notes=tuple(notes),
    )


def _values(
    grid: Grid, policies: tuple[str, ...], done: Mapping[Cell, Result]
) -> Iterator[SweepValue]:
    traces = range(len(grid.asked.traces))
    for nodes in grid.nodes:
        for load in grid.loads:
            for policy, name in enumerate(policies):
                found = [
                    _by_key(done.get(Cell(nodes, load, policy, trace), Result()))
                    for trace in traces
                ]
                keys = {key for each in found for key in each}
                for metric, scope in sorted(keys, key=_rank):
                    values = [each.get((metric, scope)) for each in found]
                    known = [value for value in values if value is not None]
                    whole = interval([value.value for value in known])
                    exact = not any(value.at_least for value in known)
                    yield SweepValue(
                        nodes=nodes,
                        load=load,
                        policy=name,
                        metric=metric,
                        scope=scope,
                        unit=METRICS[metric],
                        values=tuple(None if v is None else v.value for v in values),
                        at_least=tuple(v is not None and v.at_least for v in values),
                        mean=None if whole is None else whole.mean,
                        half_width=whole.half_width if whole is not None and exact else None,
                    )


def _by_key(result: Result) -> dict[tuple[str, str], Value]:
    return {(value.metric, value.scope): value for value in result.values}


def _rank(key: tuple[str, str]) -> tuple[int, int]:
    return list(METRICS).index(key[0]), _SCOPES.index(key[1])


def sweep_csv(sweep: Sweep) -> bytes:
    """Write a row per value: what a policy has on a trace at a point of the grid, no means."""
    return csv_of(
        _HEADER,
        (
            (
                *(row.nodes, row.load, row.policy, trace, row.metric, row.scope),
                *(value, row.unit, at_least),
            )
            for row in sweep.values
            for trace, value, at_least in zip(sweep.traces, row.values, row.at_least, strict=True)
            if value is not None
        ),
    )
