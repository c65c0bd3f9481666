"""Pods by priority on seeds of their own, each question planned twice and told tier by tier.

Two runs are to be equally good. Where they are not, the row says in which tier they first differ.
The published solver is not among what can be run here; its figures for its own seeds stand in
``published.py``.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from kantopt.report.blocks import Block, Paragraph, Table
from scripts.bench.busy import Repeat, repeat
from scripts.bench.models import model_text, shipped
from scripts.bench.priority_matters import Cell, documents

SUITE = "pairs"
LIMIT_SECONDS = 10.0
_MODEL = "placement-first"


def seeds_of(count: int) -> list[int]:
    """Seeds that no table names."""
    rng = random.Random("pairs")
    return [rng.randrange(2**63) for _ in range(count)]


def run_all(
    cell: Cell, seeds: int, limit_seconds: float, tell: Callable[[Repeat], None]
) -> list[Repeat]:
    """Plan the instance of each seed twice, one run after the other."""
    rows = []
    for seed in seeds_of(seeds):
        made = documents(cell, seed)
        with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as name:
            folder = Path(name)
            model = folder / "model.yaml"
            text = model_text(shipped(_MODEL, counts=True)(made))
            model.write_text(text, encoding="utf-8")
            asked = [*map(str, made.write(folder)), "-m", str(model)]
            for number in (1, 2):
                rows.append(repeat(seed, number, asked, limit_seconds, folder))
                tell(rows[-1])
    return rows


def first_difference(one: Repeat, other: Repeat) -> str:
    """Name the first tier in which two plans differ, and which run is better there."""
    for name, a, b in zip(one.tiers, one.values, other.values, strict=False):
        if a != b:
            return f"{name}: run {1 if float(a) < float(b) else 2} better"
    return "" if one.values and other.values else "no plan"


def pair_blocks(rows: Sequence[Repeat]) -> list[Block]:
    """Lay out values tier by tier, a line for each run, and how many pairs are equal."""
    pairs = list(zip(rows[::2], rows[1::2], strict=False))
    names = max((row.tiers for row in rows), key=len, default=())
    lines = []
    for pair in pairs:
        for row in pair:
            values = [
                value + ("*" if proved else "")
                for value, proved in zip(row.values, row.proved, strict=True)
            ]
            told = first_difference(*pair) if row is pair[1] else ""
            cells = (*values, *("-" for _ in names[len(values) :]))
            seed = str(row.seed) if row is pair[0] else ""
            lines.append((seed, *cells, f"{row.wall_seconds:.1f}", f"{row.load:.1f}", told))
    equal = sum(not first_difference(*pair) for pair in pairs)
    columns = ("SEED", *names, "SECONDS", "LOAD", "FIRST DIFFERENCE")
    return [
        Paragraph(f"{equal} of {len(pairs)} pairs are equal in every tier."),
        Table(
            "Values by tier, the most important first; * is proved",
            columns,
            tuple(lines),
            frozenset(range(1, len(columns) - 1)),
        ),
    ]
