"""Against figures of others and known optima, row by row."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.report.blocks import Style, Table
from scripts.bench.figures import share
from scripts.bench.published import (
    PEER_INSTANCE,
    PEER_LIMIT_SECONDS,
    PEER_RUNS,
    PEER_SOURCE,
    Outcome,
    PeerRun,
)
from scripts.bench.row import Row
from scripts.bench.vm_rescheduling import GREEDY, OPTIMAL_SLOTS, SUITE


def outcome_of(row: Row) -> Outcome:
    """Placed pods by priority and what they cost."""
    return Outcome(tuple(row.placed.values()), row.evictions or 0, row.moves or 0)


def compare(ours: Outcome, theirs: Outcome) -> str:
    """Say how an outcome compares: pods by priority first, then evictions, then moves."""
    if ours.placed != theirs.placed:
        return "more pods" if ours.placed > theirs.placed else "FEWER PODS"
    mine, other = (ours.evictions, ours.moves), (theirs.evictions, theirs.moves)
    if mine == other:
        return "equal"
    return "less disruption" if mine < other else "MORE DISRUPTION"


def peer_table(rows: Sequence[Row]) -> Table | None:
    """Compare all rows that have a counterpart; ``None`` if none has."""
    lines: list[tuple[str, ...]] = []
    styles: list[Style] = []
    for peer in PEER_RUNS:
        for row in rows:
            if _matches(row, peer):
                ours = outcome_of(row)
                verdict = compare(ours, peer.outcome)
                styles.append("bad" if verdict.isupper() else "")
                lines.append(
                    (
                        peer.usage,
                        str(peer.seed),
                        _placed(tuple(row.start.values())),
                        _text(peer.outcome),
                        f"{row.limit_seconds:g}s",
                        row.engine,
                        row.model,
                        _text(ours),
                        "-" if row.wall_seconds is None else f"{row.wall_seconds:.2f}",
                        "yes" if row.proved else "no",
                        verdict,
                    )
                )
    if not lines:
        return None
    columns: tuple[str, ...] = ("USAGE", "SEED", "START", f"SOLVER {PEER_LIMIT_SECONDS:g}s")
    columns = (*columns, "LIMIT", "ENGINE", "MODEL", "OURS", "WALL", "PROVED", "OURS HAS")
    title = (
        f"32 nodes x 8 pods, K=4: placed by priority, evictions/moves. Against {PEER_SOURCE}. "
        "Under tier-by-tier fewer pods can be due to less disruption of a higher priority, "
        "which is not published"
    )
    return Table(title, columns, tuple(lines), frozenset({8}), tuple(styles))


def slots_table(rows: Sequence[Row]) -> Table | None:
    """Compare free slots with what a heuristic makes and with the most that there can be.

    ``None`` without rows of VM rescheduling with a limit on moves.
    """
    lines: list[tuple[str, ...]] = []
    styles: list[Style] = []
    for row in rows:
        number = row.model.removeprefix("mnl-")
        told = row.parameters.get(GREEDY)
        if row.suite != SUITE or not number.isdecimal() or told is None or row.verified != "yes":
            continue
        greedy = [int(slots) for slots in told.split("/")]
        # The tier counts the slots that are missing from the ceiling.
        slots = greedy[0] + row.before[0] - row.values[0]
        most = None if row.bounds[0] is None else greedy[0] + row.before[0] - row.bounds[0].value
        known = OPTIMAL_SLOTS.get(int(number)) if row.instance == "snapshot" else None
        styles.append("bad" if known is not None and slots != known else "")
        lines.append(
            (
                *(row.instance, str(row.seed), number, f"{row.limit_seconds:g}s", row.engine),
                *(str(greedy[0]), str(greedy[min(int(number), len(greedy) - 1)]), str(slots)),
                *("-" if each is None else str(each) for each in (most, known)),
                "-" if most is None else share(most - slots, most),
                str(row.moves),
                "-" if row.wall_seconds is None else f"{row.wall_seconds:.2f}",
            )
        )
    if not lines:
        return None
    columns: tuple[str, ...] = ("INSTANCE", "SEED", "MOVES AT MOST", "LIMIT", "ENGINE", "START")
    columns = (*columns, "GREEDY", "SLOTS", "BOUND", "OPTIMUM", "GAP", "MOVES", "WALL")
    title = (
        "Free 16-core slots: at first, by the greedy heuristic with as many moves, ours, the most "
        "that are not ruled out, the optimum where it is known"
    )
    return Table(title, columns, tuple(lines), frozenset({1, 2, *range(5, 13)}), tuple(styles))


def ceiling_table(rows: Sequence[Row]) -> Table | None:
    """Compare GPUs allocated beyond the start with what is proved to be the most.

    ``None`` without rows of openb.
    """
    lines = []
    for row in rows:
        if row.suite != "openb" or row.verified != "yes" or row.bounds[0] is None:
            continue
        gained, most = row.before[0] - row.values[0], row.before[0] - row.bounds[0].value
        share = f"{100 * gained / most:.2f}" if most else "-"
        times = (row.first_seconds, row.best_seconds, row.wall_seconds)
        lines.append(
            (
                *(row.instance, f"{row.limit_seconds:g}s", row.engine, row.model, str(row.moves)),
                *(f"{gained / 1000:.2f}", f"{most / 1000:.2f}", share),
                *("-" if each is None else f"{each:.1f}" for each in times),
                str(row.peak_mib),
            )
        )
    if not lines:
        return None
    columns: tuple[str, ...] = ("INSTANCE", "LIMIT", "ENGINE", "MODEL", "MOVES", "GPUS", "CEILING")
    columns = (*columns, "SHARE", "FIRST", "BEST", "WALL", "MIB")
    title = (
        "GPUs allocated beyond the start, the proven ceiling and the share of it in percent; "
        "seconds to the first plan, to the best and of the whole process"
    )
    return Table(title, columns, tuple(lines), frozenset(range(4, len(columns))))


def _matches(row: Row, peer: PeerRun) -> bool:
    wanted = {**PEER_INSTANCE, "usage": peer.usage}
    return row.suite == "priority-matters" and row.seed == peer.seed and row.parameters == wanted


def _placed(pods: tuple[int, ...]) -> str:
    return "/".join(map(str, pods))


def _text(outcome: Outcome) -> str:
    return f"{_placed(outcome.placed)}, {outcome.evictions}/{outcome.moves}"
