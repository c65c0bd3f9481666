"""Tables over the rows of a benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.report.blocks import Block, Paragraph, Table
from scripts.bench import ablation
from scripts.bench.deadlines import deadline_blocks
from scripts.bench.features.compared import feature_blocks
from scripts.bench.features.suite import SUITE
from scripts.bench.figures import grouped, mean, seconds, share, shifted_geometric_mean
from scripts.bench.peer import ceiling_table, peer_table, slots_table
from scripts.bench.profiles import profile_tables
from scripts.bench.records import Record
from scripts.bench.row import CATEGORIES, Row

_GROUPS = ("kind", "usage", "nodes")
_LISTED = {"everyday", "gangs", "openb", "vm-rescheduling"}
"""Suites of which every run is shown."""


def summary_blocks(rows: Sequence[Row], records: Sequence[Record]) -> list[Block]:
    """Lay out everything that is told about the rows of one suite."""
    if not rows:
        return [Paragraph("No rows.")]
    ordered = sorted(rows, key=_setting)
    if rows[0].suite == SUITE:
        told = [*deadline_blocks(ordered), *(Paragraph(text, "warn") for text in remarks(rows))]
        return [*feature_blocks(rows), *told]
    if rows[0].suite == ablation.SUITE:
        told = [Paragraph(text, "warn") for text in remarks(rows)]
        return [*ablation.ablation_blocks(rows), *told]
    blocks: list[Block] = [outcome_table(ordered), cost_table(ordered), *deadline_blocks(ordered)]
    if rows[0].suite in _LISTED:
        blocks.append(run_table(ordered))
    known_others = (peer_table(ordered), slots_table(ordered), ceiling_table(ordered))
    blocks += [table for table in known_others if table is not None]
    blocks += profile_tables(ordered, records)
    blocks += [Paragraph(text, "warn") for text in remarks(ordered)]
    return blocks


def outcome_table(rows: Sequence[Row]) -> Table:
    """Outcomes by category, and how many placements are settled, over the whole grid."""
    lines = []
    for setting, group in grouped(rows, _setting):
        parts = _parts(group)
        for name, part in [*parts, ("all", group)] if len(parts) > 1 else parts:
            counts = [str(sum(row.category == each for row in part)) for each in CATEGORIES]
            settled = sum(row.placement_settled() for row in part)
            nearly = sum(row.placement_settled(1) for row in part)
            worse = str(sum(row.worse for row in part))
            shares = (share(settled, len(part)), share(nearly, len(part)))
            lines.append((*_words(setting), name, *counts, worse, *shares))
    columns = ("LIMIT", "ENGINE", "MODEL", "GROUP", *(each.upper() for each in CATEGORIES))
    columns = (*columns, "WORSE", "PLACEMENT PROVED", "OR WITHIN 1 POD")
    title = (
        "Outcomes against the start. Shares are of all instances; no call (nothing pending) counts "
        "as proved. Within 1 pod: all placement tiers proved but the lowest, which may miss its "
        "bound by one"
    )
    return Table(title, columns, tuple(lines), frozenset(range(4, len(columns))))


def cost_table(rows: Sequence[Row]) -> Table:
    """Times, memory and disruption of the runs, by setting."""
    lines = []
    for setting, group in grouped(rows, _setting):
        ran = [row for row in group if row.wall_seconds is not None]
        if not ran:
            continue
        walls = [row.wall_seconds for row in ran if row.wall_seconds is not None]
        lines.append(
            (
                *_words(setting),
                str(len(ran)),
                seconds(walls),
                f"{shifted_geometric_mean(walls):.2f}",
                seconds([row.cpu_seconds for row in ran]),
                seconds([row.first_seconds for row in ran]),
                seconds([row.best_seconds for row in ran]),
                seconds([row.proof_seconds for row in ran]),
                str(sum(row.proof_seconds is not None for row in ran)),
                str(max(row.peak_mib or 0 for row in ran)),
                mean([row.evictions for row in ran]),
                mean([row.moves for row in ran]),
            )
        )
    columns: tuple[str, ...] = (
        "LIMIT",
        "ENGINE",
        "MODEL",
        "RUNS",
        "WALL",
        "SGM",
        "CPU",
        "FIRST",
        "BEST",
    )
    columns = (*columns, "PROOF", "PROVED", "MIB", "EVICTIONS", "MOVES")
    title = (
        "Whole processes in seconds: medians, shifted geometric mean of the wall time (s = 1); "
        "PROOF: median of those proved"
    )
    busy = sum(row.load > row.processors for row in rows if row.called)
    if busy:
        title += f". {busy} runs on a busy machine: their wall times are inflated"
    return Table(title, columns, tuple(lines), frozenset(range(3, len(columns))))


def run_table(rows: Sequence[Row]) -> Table:
    """Every run: the value of each tier, with its bound where that is another number."""
    lines = tuple(
        (
            row.instance,
            str(row.seed),
            *_words(_setting(row)),
            " ".join(
                str(value) if bound is None or bound.value == value else f"{value}({bound})"
                for value, bound in zip(row.values, row.bounds, strict=True)
            ),
            row.status,
            "-" if row.wall_seconds is None else f"{row.wall_seconds:.2f}",
            str(row.peak_mib or 0),
        )
        for row in sorted(rows, key=lambda row: row.size["nodes"])
    )
    title = "Every run: values of the tiers, in brackets bounds that they do not meet"
    columns = ("INSTANCE", "SEED", "LIMIT", "ENGINE", "MODEL", "VALUES", "STATUS", "WALL", "MIB")
    return Table(title, columns, lines, frozenset({7, 8}))


def remarks(rows: Iterable[Row]) -> list[str]:
    """What must not happen and did."""
    found = []
    for row in rows:
        name = f"{row.instance} {row.seed} {row.model} {row.engine} {row.limit_seconds:g}s"
        if row.worse:
            found.append(f"{name}: worse than the start")
        if row.called and row.verified != "yes":
            reason = row.note or f"exit code {row.exit_code}"
            found.append(f"{name}: {'no plan' if not row.verified else 'illegal'}: {reason}")
        elif any(words in row.note for words in _BROKE_DOWN):
            found.append(f"{name}: {row.note}")
    return found


_BROKE_DOWN = ("technique failed", "the search by", "the solver failed")
"""What a plan says of a search that it had to do without."""


Setting = tuple[float, str, str]


def _setting(row: Row) -> Setting:
    return row.limit_seconds, row.engine, row.model


def _words(setting: Setting) -> tuple[str, str, str]:
    return f"{setting[0]:g}s", setting[1], setting[2]


def _parts(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """Rows by usage, or whatever they differ by."""
    parameter = next((name for name in _GROUPS if name in rows[0].parameters), None)
    if parameter is None:
        return grouped(rows, lambda row: row.instance)
    return [
        (f"{parameter} {value}", part)
        for value, part in grouped(rows, lambda row: row.parameters.get(parameter, ""))
    ]
