"""A sweep for people: how long jobs wait, by nodes added, offered load and policy."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.report.blocks import Block, Listing, Paragraph, Table, in_lines
from kantopt.report.simulation import number_in
from kantopt.schema.answers.sweep import Sweep, SweepValue
from kantopt.schema.hints import plural

_WHOLE = "all"
"""Scope of all size classes together."""
_COLUMNS = ("wait_p50", "wait_p90", "wait_p95", "wait_p99", "wait_mean", "wait_censored")
_TITLES = ("P50", "P90", "P95", "P99", "MEAN", "NOT STARTED")


def sweep_blocks(sweep: Sweep, *, wide: bool = False) -> list[Block]:
    """Lay out a sweep: a sentence and a row per point; ``wide`` adds a row per size class."""
    return [*_head(sweep), *_said(sweep), _table(sweep, wide), *_rest(sweep)]


def sweep_lines(sweep: Sweep) -> str:
    """One line per value: nodes, load, policy, metric, scope, mean; separated by tabs."""
    return in_lines(
        " ".join((str(v.nodes), v.load, v.policy, v.metric, v.scope or "-", _plain(v.mean)))
        for v in sweep.values
    )


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _head(sweep: Sweep) -> Iterator[Paragraph]:
    name = f"{sweep.metadata.name}: " if sweep.metadata.name else ""
    points = len(sweep.nodes) * len(sweep.loads)
    policies = "1 policy" if len(sweep.policies) == 1 else f"{len(sweep.policies)} policies"
    traces = plural(len(sweep.traces), "trace")
    yield Paragraph(
        f"{name}{plural(points, 'point')} of nodes and load, {policies}, {traces} each.", "title"
    )
    if sweep.like is not None:
        where = {
            "new": "in leaves of their own, each as large as its leaf",
            "existing": "in its own leaf",
        }
        yield Paragraph(f"Nodes added are copies of {sweep.like}, {where[sweep.leaves]}.", "dim")
    yield Paragraph(
        "LOAD x f: a job that comes at t comes at t / f; run times, outages and endings stay.",
        "dim",
    )
    if len(sweep.traces) > 1:
        yield Paragraph(
            f"Means over the traces; +- is half of the {sweep.confidence}% confidence interval "
            "(Student t); >: at least, since jobs still waited at the end.",
            "dim",
        )


def _said(sweep: Sweep) -> Iterator[Paragraph]:
    """The answer in words, for each number of nodes at the first load."""
    load = sweep.loads[0]
    for value in sweep.values:
        if (value.metric, value.scope, value.load) == ("wait_p95", _WHOLE, load):
            like = f" of type {sweep.like}" if sweep.like else ""
            yield Paragraph(
                f"With {plural(value.nodes, 'more node')}{like}, load x {load} and "
                f"{value.policy}, the 95th percentile of waiting is {_cell(value)}."
            )


def _table(sweep: Sweep, wide: bool) -> Table:
    found = {(v.nodes, v.load, v.policy, v.scope, v.metric): v for v in sweep.values}
    rows = []
    for nodes in sweep.nodes:
        for load in sweep.loads:
            for policy in sweep.policies:
                point = nodes, load, policy
                scopes = dict.fromkeys(
                    v.scope
                    for v in sweep.values
                    if (v.nodes, v.load, v.policy) == point and v.scope
                )
                for scope in scopes if wide else (_WHOLE,):
                    cells = (_cell(found.get((*point, scope, metric))) for metric in _COLUMNS)
                    gar = found.get((*point, "", "gar_mean")) if scope == _WHOLE else None
                    rows.append(
                        (
                            *(str(nodes), load, policy, *((scope,) if wide else ())),
                            *(*cells, _cell(gar)),
                        )
                    )
    columns = ("NODES ADDED", "LOAD x", "POLICY", *(("GPUS",) if wide else ()), *_TITLES, "GAR")
    first = 4 if wide else 3
    right = frozenset({0, 1, *range(first, len(columns))})
    return Table("WAITING", columns, tuple(rows), right)


def _cell(value: SweepValue | None) -> str:
    if value is None or value.mean is None:
        return "-"
    sign = ">" if any(value.at_least) else ""
    text = f"{sign}{number_in(value.unit, value.mean)}"
    if value.half_width is not None:
        text += f" +- {number_in(value.unit, value.half_width)}"
    return text


def _rest(sweep: Sweep) -> Iterator[Block]:
    if sweep.failed:
        lines = tuple(
            f"{plural(each.nodes, 'node')} more, load x {each.load}, "
            f"{each.policy} on {each.trace}: {each.reason}"
            for each in sweep.failed
        )
        yield Listing("FAILED", lines, "bad")
    if sweep.notes:
        yield Listing("NOTES", sweep.notes, "warn")
