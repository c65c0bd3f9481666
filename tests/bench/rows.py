"""A row to vary."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from scripts.bench.row import Bound, Row

ROW = Row(
    suite="priority-matters",
    instance="n04-p4-k2-u095",
    seed=7,
    parameters={"nodes": "4", "pods": "4", "priorities": "2", "usage": "0.95"},
    engine="auto",
    model="placement-first",
    limit_seconds=1.0,
    category="better",
    verified="yes",
    status="FEASIBLE",
    tiers=("unplaced[priority=2, pods]", "unplaced[priority=1, pods]", "evictions", "moves"),
    before=(2, 1, 0, 0),
    values=(0, 2, 1, 4),
    required_before=0,
    required_left=0,
    bounds=(Bound(0), Bound(1, given=True), Bound(0), Bound(3, given=True)),
    statuses=("OPTIMAL", "FEASIBLE", "FEASIBLE", "FEASIBLE"),
    wanted={2: 10, 1: 6},
    start={2: 8, 1: 5},
    placed={2: 10, 1: 4},
    evictions=1,
    moves=4,
    wall_seconds=0.75,
    cpu_seconds=0.7,
    read_seconds=0.2,
    first_seconds=0.4,
    best_seconds=0.6,
    proof_seconds=None,
    overrun_seconds=0.0,
    used_share=0.75,
    peak_mib=60,
    exit_code=0,
    found_by="fast",
    size={"nodes": 4, "jobs": 6, "pods": 16, "pending": 3},
    parallel=1,
    processors=2,
    load=0.5,
    kantopt="0.1.0",
    ortools="9.15",
    python="3.11.7",
    note="",
)


def row(**changes: Any) -> Row:
    """Return the row with some fields changed."""
    return replace(ROW, **changes)


def no_call() -> Row:
    """Return the row of an instance of which nothing was pending."""
    return row(
        category="no call",
        verified="",
        status="",
        tiers=(),
        before=(),
        values=(),
        bounds=(),
        statuses=(),
        evictions=None,
        moves=None,
        wall_seconds=None,
        cpu_seconds=None,
        read_seconds=None,
        first_seconds=None,
        best_seconds=None,
        overrun_seconds=None,
        used_share=None,
        peak_mib=None,
        exit_code=None,
        found_by="",
    )
