"""Policies beside each other: what they made of the same traces.

``simulation_blocks(simulation, wide=False)`` gives one table per group of metrics; ``wide`` adds
intervals of all means, differences from the first policy, all owners, and the formulas.
"""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.report.blocks import Block, Listing, Paragraph, Table
from kantopt.report.units import duration, percent, thousandths
from kantopt.schema.answers.simulation import Estimate, Measure, MeasureGroup, Simulation
from kantopt.schema.hints import plural

_OWNERS = 10
"""Owners that are shown, those that fall short the most."""
_GPU_HOUR = 1000 * 3_600_000
"""milli-GPU x ms."""


def simulation_blocks(simulation: Simulation, *, wide: bool = False) -> list[Block]:
    """Lay out the measures, group by group."""
    blocks: list[Block] = list(_head(simulation, wide))
    for group in simulation.groups:
        if group.measures:
            blocks.append(_flat(group, wide) if not group.by else _by_scope(group, wide))
    if wide:
        blocks += _formulas(simulation)
    if simulation.notes:
        blocks.append(Listing("NOTES", simulation.notes, "warn"))
    return blocks


def simulation_lines(simulation: Simulation) -> str:
    """One line per value: policy, trace, metric, scope, value; separated by tabs."""
    return "".join(
        "\t".join((estimate.policy, trace, measure.metric, measure.scope, str(value))) + "\n"
        for group in simulation.groups
        for measure in group.measures
        for estimate in measure.estimates
        for trace, value in zip(simulation.traces, estimate.values, strict=True)
        if value is not None
    )


def _head(simulation: Simulation, wide: bool) -> Iterator[Paragraph]:
    policies, traces = len(simulation.policies), len(simulation.traces)
    what = "1 policy" if policies == 1 else f"{policies} policies"
    name = f"{simulation.metadata.name}: " if simulation.metadata.name else ""
    span = f"{duration(simulation.begin / 1000)} to {duration(simulation.end / 1000)}"
    yield Paragraph(f"{name}{what} on {plural(traces, 'trace')}, from {span}.", "title")
    if traces > 1:
        yield Paragraph(
            "Means over the traces; +- is half of the "
            f"{simulation.confidence}% confidence interval (Student t).",
            "dim",
        )
    for text in _common(simulation):
        yield Paragraph(f"{text}.", "dim")
    if not wide:
        yield Paragraph("Formulas, all intervals and differences: -o wide.", "dim")


def _common(simulation: Simulation) -> tuple[str, ...]:
    """What several groups say of their formulas: it is said once."""
    texts = [text for group in simulation.groups if group.measures for text in group.formulas]
    return tuple(dict.fromkeys(text for text in texts if texts.count(text) > 1))


def _flat(group: MeasureGroup, wide: bool) -> Table:
    """One row per metric, one column per policy."""
    policies = [estimate.policy for estimate in group.measures[0].estimates]
    shares = {measure.metric for measure in group.measures if measure.unit == "share"}
    rows = []
    for measure in group.measures:
        if measure.metric.replace("_time", "_share") in shares - {measure.metric}:
            continue  # told as a share of all
        cells = [_amount(measure, estimate, interval=True) for estimate in measure.estimates]
        if wide:
            cells += [_difference(measure, estimate) for estimate in measure.estimates[1:]]
        rows.append((_named(measure), *cells))
    columns = ["METRIC", *policies]
    if wide:
        columns += [f"{policy} - {policies[0]}" for policy in policies[1:]]
    return Table(group.title, tuple(columns), tuple(rows), frozenset(range(1, len(columns))))


def _named(measure: Measure) -> str:
    """Name of a metric, with the unit where its numbers do not say it."""
    unit = _UNITS.get(measure.unit, "")
    return f"{measure.text}, {unit}" if unit else measure.text


_UNITS = {"milli-GPU": "GPUs", "milli-GPU x ms": "GPU hours"}


def _by_scope(group: MeasureGroup, wide: bool) -> Table:
    """One row per size class or owner and policy, one column per metric."""
    metrics = {measure.metric: measure.text for measure in group.measures}
    found = {(measure.scope, measure.metric): measure for measure in group.measures}
    scopes = list(dict.fromkeys(measure.scope for measure in group.measures))
    title = group.title
    if group.by == "owner" and not wide and len(scopes) > _OWNERS:
        scopes = sorted(scopes, key=lambda scope: -_shortfall(found, scope))[:_OWNERS]
        title += f": the {_OWNERS} that fall short the most"
    rows = []
    for scope in scopes:
        for i, estimate in enumerate(group.measures[0].estimates):
            cells = []
            for metric in metrics:
                measure = found.get((scope, metric))
                cells.append(
                    "-" if measure is None else _amount(measure, measure.estimates[i], wide)
                )
            rows.append((scope or "(nobody)", estimate.policy, *cells))
    columns = (group.by.upper(), "POLICY", *(text.upper() for text in metrics.values()))
    return Table(title, columns, tuple(rows), frozenset(range(2, len(columns))))


def _shortfall(found: dict[tuple[str, str], Measure], scope: str) -> float:
    return max(estimate.mean or 0.0 for estimate in found[scope, "shortfall_max"].estimates)


def _amount(measure: Measure, estimate: Estimate, interval: bool) -> str:
    """Write a mean, with its interval if that is wanted and known."""
    if estimate.mean is None:
        return "-"
    text = number_in(measure.unit, estimate.mean)
    if any(estimate.at_least):
        return f">{text}"
    return text + (_about(measure, estimate.half_width) if interval else "")


def _difference(measure: Measure, estimate: Estimate) -> str:
    if estimate.difference is None:
        return "-"
    sign = "-" if estimate.difference < 0 else "+"
    text = sign + number_in(measure.unit, abs(estimate.difference))
    return text + _about(measure, estimate.difference_half_width)


def _about(measure: Measure, half_width: float | None) -> str:
    """Write half of an interval; where all traces agree there is nothing to say."""
    return f" +-{number_in(measure.unit, half_width)}" if half_width else ""


def number_in(unit: str, value: float) -> str:
    """Write a number of a metric over time as an operator reads it."""
    if unit == "share":
        return percent(value, 1)
    if unit == "ms":
        return duration(value / 1000)
    if unit == "milli-GPU":
        return thousandths(100 * round(value / 100))
    if unit == "milli-GPU x ms":
        return f"{value / _GPU_HOUR:.1f}"
    if unit == "ratio":
        return f"{value:.2f}"
    return f"{value:.1f}".removesuffix(".0")


def _formulas(simulation: Simulation) -> Iterator[Listing]:
    """How each group is computed."""
    common = _common(simulation)
    for group in simulation.groups:
        lines = [text for text in group.formulas if text not in common]
        if any("median" in measure.metric for measure in group.measures):
            lines.append(f"median: of moments {duration(simulation.every / 1000)} apart")
        if group.measures and lines:
            yield Listing(f"FORMULAS of {group.title}", tuple(lines), "dim")
