"""What arrivals in windows have brought, beside FGD on the same arrivals and what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from kantopt.report.blocks import Block, Paragraph, Style, Table
from kantopt.search.strategy import Strategy
from scripts.bench.online_runs import OnlineRow
from scripts.bench.openb_arrivals import LOADS_PERCENT

PUBLISHED: Mapping[tuple[str, str, int], float] = {
    ("default", "fgd", 100): 95.23,
    ("default", "fgd", 130): 95.39,
    ("default", "best-fit", 100): 92.86,
    ("default", "best-fit", 130): 93.08,
    ("default", "most-allocated", 100): 91.78,
    ("default", "most-allocated", 130): 92.00,
    ("gpushare40", "fgd", 100): 93.96,
    ("gpushare40", "fgd", 130): 94.15,
    ("gpushare40", "best-fit", 100): 91.44,
    ("gpushare40", "best-fit", 130): 91.69,
    ("gpushare40", "most-allocated", 100): 89.77,
    ("gpushare40", "most-allocated", 130): 90.03,
}
"""GPUs allocated in percent, means of 10 seeds by trace (FGD, ATC'23): FGD, BestFit and Packing."""
_PEER = Strategy.FGD.value


def online_blocks(rows: Sequence[OnlineRow]) -> list[Block]:
    """Lay out everything that is told of the runs."""
    if not rows:
        return [Paragraph("No rows.")]
    blocks: list[Block] = [online_table(rows)]
    against = against_table(rows)
    return blocks if against is None else [*blocks, against]


def online_table(rows: Sequence[OnlineRow]) -> Table:
    """Lay out the means over the seeds, beside those published."""
    lines = []
    for (trace, strategy, window), alike in _groups(rows).items():
        cells = [trace, strategy, str(window), str(len(alike))]
        for load in LOADS_PERCENT:
            figures = [row.online.allocated[load] for row in alike]
            cells += [f"{mean(figures):.2f}", f"{min(figures):.2f}"]
            if load == LOADS_PERCENT[0]:
                # There is room for all that has come: what counts is how much of it has a place.
                shares = [row.online.allocated[load] / row.online.arrived[load] for row in alike]
                cells.append(f"{100 * mean(shares):.2f}")
            else:
                published = PUBLISHED.get((trace, strategy, load))
                cells.append("-" if published is None else f"{published:.2f}")
        cells.append(f"{max(row.online.worst_seconds for row in alike):.3f}")
        cells.append(f"{mean(row.online.mean_seconds for row in alike):.3f}")
        cells.append(str(max(row.peak_mib for row in alike)))
        lines.append(tuple(cells))
    columns: tuple[str, ...] = ("TRACE", "STRATEGY", "WINDOW", "SEEDS")
    columns = (*columns, f"{LOADS_PERCENT[0]} %", "WORST", "OF ARRIVED")
    for load in LOADS_PERCENT[1:]:
        columns = (*columns, f"{load} %", "WORST", "PUBLISHED")
    columns = (*columns, "SLOWEST", "MEAN", "MIB")
    title = (
        "GPUs allocated in percent when pods for 95, 100 and 130 % of the GPUs have arrived: mean "
        "and worst of the seeds; at 95 % also the share allocated of what has arrived; published "
        "means of 10 seeds of each strategy one by one; the slowest window and the mean in "
        "seconds; peak memory of a whole process"
    )
    busy = sum(row.load > row.processors for row in rows)
    if busy:
        title += f". {busy} runs on a busy machine: their times are inflated"
    return Table(title, columns, tuple(lines), frozenset(range(2, len(columns))))


def against_table(rows: Sequence[OnlineRow]) -> Table | None:
    """Compare with FGD one by one on the same arrivals; ``None`` if there is no such pair."""
    theirs = {
        (row.online.trace, row.online.seed): row.online.allocated
        for row in rows
        if (row.online.strategy, row.online.window) == (_PEER, 1)
    }
    lines: list[tuple[str, ...]] = []
    styles: list[Style] = []
    for (trace, strategy, window), alike in _groups(rows).items():
        pairs = [
            (row.online.allocated, theirs[trace, row.online.seed])
            for row in alike
            if (trace, row.online.seed) in theirs
        ]
        if not pairs or (strategy, window) == (_PEER, 1):
            continue
        cells = [trace, strategy, str(window), str(len(pairs))]
        more = []
        for load in LOADS_PERCENT:
            gains = [ours[load] - other[load] for ours, other in pairs]
            more.append(mean(gains))
            ahead = sum(gain > 0 for gain in gains)
            behind = sum(gain < 0 for gain in gains)
            cells += [f"{mean(gains):+.2f}", f"{ahead}/{len(gains) - ahead - behind}/{behind}"]
        lines.append(tuple(cells))
        styles.append("good" if min(more) > 0 else "")
    if not lines:
        return None
    columns: tuple[str, ...] = ("TRACE", "STRATEGY", "WINDOW", "SEEDS")
    for load in LOADS_PERCENT:
        columns = (*columns, f"{load} %", "SEEDS +/=/-")
    title = (
        "Against our FGD, one by one, on the same arrivals: percent of the GPUs more, and on how "
        "many seeds more, as many and fewer"
    )
    return Table(title, columns, tuple(lines), frozenset(range(2, len(columns))), tuple(styles))


def _groups(rows: Sequence[OnlineRow]) -> dict[tuple[str, str, int], list[OnlineRow]]:
    groups: dict[tuple[str, str, int], list[OnlineRow]] = {}
    for row in rows:
        online = row.online
        groups.setdefault((online.trace, online.strategy, online.window), []).append(row)
    return groups
