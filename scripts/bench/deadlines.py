"""Whether time limits were kept, and used: over the rows of any suite."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.report.blocks import Block, Paragraph, Table
from scripts.bench.figures import grouped, share
from scripts.bench.row import Row

OVERRUN_SHARE, OVERRUN_SECONDS = 0.05, 0.3
"""A run may be over its limit by the larger of the two."""
READ_SHARE = 1 / 3
"""What of the limit reading may take; of runs that read longer nothing is asked."""
USED_SHARE = 0.9
"""What of the limit is to be used while a tier stays open."""


def read_in_time(row: Row) -> bool:
    """Whether the input was read in under a third of the limit."""
    return row.read_seconds is not None and row.read_seconds < READ_SHARE * row.limit_seconds


def is_late(row: Row) -> bool:
    """Whether a run that had read its input in time was over the limit by too much."""
    most = max(OVERRUN_SHARE * row.limit_seconds, OVERRUN_SECONDS)
    return read_in_time(row) and (row.overrun_seconds or 0.0) > most


def is_idle(row: Row) -> bool:
    """Whether a run gave up too early; the fast engine ends when it has tried what it can."""
    return row.engine != "fast" and row.used_share is not None and row.used_share < USED_SHARE


def deadline_blocks(rows: Sequence[Row]) -> list[Block]:
    """Lay out by setting how limits were kept; first in one line whether they were."""
    ran = [row for row in rows if row.wall_seconds is not None]
    lines = []
    for (limit, engine, model), group in grouped(
        ran, lambda row: (row.limit_seconds, row.engine, row.model)
    ):
        judged = [row for row in group if read_in_time(row)]
        used = [row.used_share for row in group if row.used_share is not None]
        lines.append(
            (
                f"{limit:g}s",
                engine,
                model,
                share(len(judged), len(group)),
                _worst([row.read_seconds for row in group]),
                _worst([row.overrun_seconds for row in judged]),
                str(sum(map(is_late, group))),
                str(len(used)),
                f"{100 * min(used):.0f} %" if used else "-",
                str(sum(map(is_idle, group))),
            )
        )
    late, idle = sum(map(is_late, ran)), sum(map(is_idle, ran))
    kept = not late and not idle
    text = (
        f"Deadlines: of {len(ran)} runs {late} over the limit by more than 5 % and 0.3 s though "
        f"reading took under a third of it; {idle} ended before 90 % of it with a tier open."
    )
    columns = ("LIMIT", "ENGINE", "MODEL", "READ IN TIME", "SLOWEST READ", "OVERRUN", "LATE")
    columns_ = (*columns, "OPEN", "LEAST USED", "IDLE")
    title = (
        "Deadlines: worst overrun in seconds and runs too LATE, of those that read in time; runs "
        "with a tier still OPEN, the least of the limit that one used, and runs IDLE"
    )
    return [
        Paragraph(text, "good" if kept else "warn"),
        Table(title, columns_, tuple(lines), frozenset(range(3, len(columns_)))),
    ]


def _worst(seconds: Sequence[float | None]) -> str:
    known = [each for each in seconds if each is not None]
    return f"{max(known):.2f}" if known else "-"
