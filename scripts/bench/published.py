"""Published figures of others, to compare with; each with its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SEEDS = (
    484806185843093489,
    4219457405427907235,
    7309940385334237743,
    5896358955358513046,
    1420052706459400740,
)
"""Seeds of the comparison below; the first ones of every run of ``priority-matters``."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """Pods placed at each priority, the highest first, and what they cost."""

    placed: tuple[int, ...]
    evictions: int = 0
    moves: int = 0


@dataclass(frozen=True, slots=True)
class PeerRun:
    """A run of the published solver: where it started and where it ended."""

    usage: str
    seed: int
    start: tuple[int, ...]
    outcome: Outcome


PEER_INSTANCE = {"nodes": "32", "pods": "8", "priorities": "4"}
PEER_LIMIT_SECONDS = 10.0
PEER_SOURCE = (
    "the solver of arXiv 2511.08373 (tier by tier, ortools 9.14, 2 workers, 10 s), run from the "
    "same start on an idle 2-core machine; at 1 s it ends UNKNOWN on all ten"
)

_ROWS: Mapping[str, tuple[tuple[tuple[int, ...], tuple[int, ...], int, int], ...]] = {
    "0.95": (
        ((60, 75, 64, 50), (63, 75, 65, 53), 0, 8),
        ((72, 50, 50, 72), (79, 53, 51, 73), 0, 11),
        ((69, 60, 59, 60), (69, 61, 66, 60), 0, 12),
        ((71, 61, 69, 51), (73, 61, 69, 53), 0, 4),
        ((63, 57, 62, 71), (63, 57, 64, 72), 0, 6),
    ),
    "1.00": (
        ((54, 75, 61, 50), (63, 75, 65, 48), 5, 14),
        ((72, 50, 46, 70), (79, 53, 51, 68), 5, 20),
        ((67, 60, 57, 54), (69, 61, 66, 55), 5, 24),
        ((69, 61, 69, 45), (73, 61, 69, 47), 3, 14),
        ((63, 52, 59, 71), (63, 57, 64, 68), 4, 33),
    ),
}

PEER_RUNS = tuple(
    PeerRun(usage, seed, start, Outcome(placed, evictions, moves))
    for usage, rows in _ROWS.items()
    for seed, (start, placed, evictions, moves) in zip(SEEDS, rows, strict=True)
)
