"""The metrics of a cluster for people, before and after a plan."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.report.blocks import Block, Listing, Paragraph, Table
from kantopt.report.units import duration, in_unit, percent, unit_name
from kantopt.schema.answers.reports import Amount, Figure, MetricsReport, Spread, SpreadFigure

_WORDS = {
    "D_node": "D_node (JTTED): nodes that gangs use over the fewest, by size in GPUs",
    "D_group": "D_group (JTTED): topology groups that gangs use over the fewest, by size in GPUs",
    "waiting": "WAITING SO FAR (JWTD, censored): jobs not started, by size in GPUs",
}


def metrics_blocks(report: MetricsReport) -> list[Block]:
    """Lay out the metrics; without a plan there is one column of numbers."""
    name = report.metadata.name or "the cluster"
    state = "before and after the plan" if report.planned else "as it is"
    blocks: list[Block] = [Paragraph(f"Metrics of {name} {state}.", "title")]
    plain = [figure for figure in report.figures if figure.metric != "unplaced"]
    rows = tuple(_row(figure, report.planned) for figure in plain)
    blocks.append(Table("", _columns("METRIC", report.planned), rows))
    blocks += _unplaced(report)
    for metric, title in _WORDS.items():
        spreads = [spread for spread in report.spreads if spread.metric == metric]
        if spreads:
            blocks.append(_spread_table(title, spreads, report.planned))
    if report.notes:
        blocks.append(Listing("NOTES", report.notes, "warn"))
    return blocks


def _columns(first: str, planned: bool) -> tuple[str, ...]:
    return (first, "BEFORE", "AFTER") if planned else (first, "VALUE")


def _row(figure: Figure, planned: bool) -> tuple[str, ...]:
    text = f"{figure.text} [{figure.scope}]" if figure.scope else figure.text
    cells = [_amount(figure, figure.before)]
    if planned:
        cells.append(_amount(figure, figure.after))
    return (text, *cells)


def _amount(figure: Figure, amount: Amount | None) -> str:
    if amount is None:
        return "-"
    number = in_unit(amount.value, figure.unit)
    whole = None if amount.of is None else in_unit(amount.of, figure.unit)
    unit = unit_name(figure.unit, whole or number)
    tail = f" {unit}" if unit and unit != "cost" else ""
    if whole is None or amount.of is None:
        return f"{number}{tail}"
    share = percent(amount.value, amount.of)
    # The literature gives this one as a rate, and gives it to four decimals.
    if figure.metric == "fragment_rate":
        share = f"{amount.ratio or 0:.4f}"
    return f"{number}/{whole}{tail} {share}"


def _unplaced(report: MetricsReport) -> Iterator[Table]:
    """One row per priority: GPUs, jobs and pods."""
    by_scope: dict[str, list[Figure]] = {}
    for figure in report.figures:
        if figure.metric == "unplaced":
            by_scope.setdefault(figure.scope, []).append(figure)
    if not by_scope:
        return
    units = [unit_name(figure.unit).upper() for figure in next(iter(by_scope.values()))]
    rows = []
    for scope, figures in by_scope.items():
        cells = []
        for figure in figures:
            amounts = (figure.before, figure.after) if report.planned else (figure.before,)
            numbers = [in_unit(a.value, figure.unit) for a in amounts if a is not None]
            cells.append(" -> ".join(numbers))
        rows.append((scope.removeprefix("priority="), *cells))
    right = frozenset(range(len(units) + 1))
    title = "UNPLACED by priority" + (", before -> after" if report.planned else "")
    yield Table(title, ("PRIORITY", *units), tuple(rows), right)


def _spread_table(title: str, figures: list[SpreadFigure], planned: bool) -> Table:
    ratios = figures[0].metric.startswith("D_")
    header = ["JOBS", "MEAN", "P50", "P90", "MAX"] + (["AT 1.0"] if ratios else [])
    states = ("before", "after") if planned else ("",)
    rows = []
    for figure in figures:
        for state, spread in zip(states, (figure.before, figure.after), strict=False):
            row = [figure.size, state, *_spread_cells(spread, ratios)]
            rows.append(tuple(row if planned else [row[0], *row[2:]]))
    first = ["SIZE", "STATE"] if planned else ["SIZE"]
    right = frozenset(range(len(first), len(first) + len(header)))
    return Table(title, (*first, *header), tuple(rows), right)


def _spread_cells(spread: Spread | None, ratios: bool) -> list[str]:
    if spread is None:
        return ["0", *["-"] * (5 if ratios else 4)]
    values = (spread.mean, spread.p50, spread.p90, spread.max)
    if not ratios:
        return [str(spread.count), *(duration(value) for value in values)]
    share = percent(spread.least or 0, spread.count)
    return [str(spread.count), *(f"{value:.2f}" for value in values), share]
