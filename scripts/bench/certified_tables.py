"""Tables of certificates: tiers closed by arithmetic, by search, open; strategies judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.report.units import percent
from scripts.bench.certified_rows import OURS, Certified


def certified_blocks(rows: Sequence[Certified]) -> list[Block]:
    """Lay out shares by suite, model and group, then how strategies were judged."""
    ours = [row for row in rows if row.judged == OURS]
    blocks: list[Block] = []
    if ours:
        blocks.append(_shares(ours))
    judged = [row for row in rows if row.judged != OURS]
    if judged:
        blocks.append(_strategies(judged))
    wrong = sum(bool(row.fault) for row in rows)
    text = f"{len(rows)} certificates, {wrong} of them at fault."
    return [Paragraph(text, "bad" if wrong else "good"), *blocks]


def _groups(
    rows: Sequence[Certified], key: Callable[[Certified], tuple[str, ...]]
) -> dict[tuple[str, ...], list[Certified]]:
    found: dict[tuple[str, ...], list[Certified]] = {}
    for row in rows:
        found.setdefault(key(row), []).append(row)
    return dict(sorted(found.items()))


def _shares(rows: Sequence[Certified]) -> Table:
    lines = []
    for (suite,), of_suite in _groups(rows, lambda row: (row.suite,)).items():
        groups = _groups(of_suite, lambda row: (row.model, row.group))
        for (model, group), members in groups.items():
            lines.append((suite, model, group, *_share(members)))
        if len(groups) > 1:
            lines.append((suite, "all", "", *_share(of_suite)))
    columns = (
        "SUITE MODEL GROUP RUNS TIERS ARITHMETIC SEARCH OPEN PLACEMENT OPTIMAL SECONDS MOST CHECKED"
    )
    title = (
        "Our plans, certified: tiers closed by arithmetic, by search, open; of placement tiers by "
        "arithmetic; plans certified optimal; seconds to certify, median and most; most to check"
    )
    return Table(title, tuple(columns.split()), tuple(lines), frozenset(range(3, 13)))


def _share(members: Sequence[Certified]) -> tuple[str, ...]:
    """Counts and shares of some rows."""
    tiers = sum(row.tiers for row in members)
    placing = sum(row.placement_tiers for row in members)
    times = sorted(row.certify_seconds for row in members)
    return (
        str(len(members)),
        str(tiers),
        _part(sum(row.arithmetic for row in members), tiers),
        _part(sum(row.searched for row in members), tiers),
        _part(sum(row.open for row in members), tiers),
        _part(sum(row.placement_arithmetic for row in members), placing),
        str(sum(row.verdict == "OPTIMAL" for row in members)),
        f"{times[len(times) // 2]:.1f}",
        f"{times[-1]:.1f}",
        f"{max(row.verify_seconds for row in members):.1f}",
    )


def _part(count: int, of: int) -> str:
    return f"{count} = {percent(count, of)}" if of else "-"


def _strategies(rows: Sequence[Certified]) -> Table:
    lines = []
    for (suite, strategy), members in _groups(rows, lambda row: (row.suite, row.judged)).items():
        better = [row for row in members if row.verdict == "BETTER"]
        lines.append(
            (
                suite,
                strategy,
                str(len(members)),
                str(sum(row.verdict == "OPTIMAL" for row in members)),
                str(len(better)),
                str(sum(row.verdict == "OPEN" for row in members)),
                str(sum(row.verdict == "ILLEGAL" for row in members)),
                str(sum(row.differs == 1 for row in better)),
                str(sum(row.differs > 1 for row in better)),
            )
        )
    columns = "SUITE STRATEGY RUNS OPTIMAL BETTER OPEN ILLEGAL TIER-1 BELOW"
    title = "Strategies alone, certified: verdicts, and where counter-examples first differ"
    return Table(title, tuple(columns.split()), tuple(lines), frozenset(range(2, 9)))
