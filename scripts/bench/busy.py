"""The same question again and again beside busy processes: whether the plans are equally good.

Runs that are all starved can be equal because none gets beyond its first plan. So one run without
the busy processes comes first, and the table shows what they cost.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from kantopt.report.blocks import Block, Paragraph, Table
from scripts.bench.busy_cluster import busy_cluster
from scripts.bench.compiled import compiled_sources
from scripts.bench.determinism import busy_machine
from scripts.bench.measure import read_plan
from scripts.bench.process import Processes
from scripts.bench.row import cell

SUITE = "busy"
RUNS = 10
LIMIT_SECONDS = 10.0
"""The default of ``kantopt plan``."""
ALIKE = 9
"""Runs of ten that are to have the same values."""
_STARVED = "starved of CPU"


@dataclass(frozen=True, slots=True)
class Repeat:
    """One row: one of several runs on the same question."""

    seed: int
    number: int
    """0 is the run without the busy processes."""
    values: tuple[str, ...]
    """Value of each tier, in the units of the plan; empty if there is no plan."""
    tiers: tuple[str, ...]
    """Names of the tiers."""
    proved: tuple[bool, ...]
    starved: bool
    """The plan says that it was."""
    found_by: str
    wall_seconds: float
    cpu_seconds: float
    """What the run had of the processors, and the machine's load average when it ended."""
    load: float


COLUMNS = tuple(each.name for each in fields(Repeat))


def to_cells(row: Repeat) -> list[str]:
    """Write a row as the cells of a CSV line."""
    told = (getattr(row, name) for name in COLUMNS)
    return [" ".join(map(str, each)) if isinstance(each, tuple) else cell(each) for each in told]


def run_all(
    seeds: int, runs: int, limit_seconds: float, nice: int, tell: Callable[[Repeat], None]
) -> list[Repeat]:
    """Plan each question once alone, and several times beside a busy process per processor."""
    rows = []
    for seed in range(seeds):
        with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as name:
            folder = Path(name)
            files = [str(path) for path in busy_cluster(seed).write(folder)]
            sources = compiled_sources(folder)
            for number in range(1 + runs):
                with busy_machine(nice) if number else contextlib.nullcontext():
                    rows.append(repeat(seed, number, files, limit_seconds, folder, sources))
                tell(rows[-1])
    return rows


def repeat(
    seed: int,
    number: int,
    files: Sequence[str],
    limit_seconds: float,
    folder: Path,
    sources: Path | None = None,
) -> Repeat:
    """Plan a question once; ``files`` are what follows ``kantopt plan``."""
    plan = folder / "plan.json"
    plan.unlink(missing_ok=True)
    arguments = [*files, "-o", "json", "-O", str(plan), "--time-limit", f"{limit_seconds:g}s"]
    with Processes(sources) as processes:
        ran = processes.plan(arguments, limit_seconds, folder)
    assert ran is not None  # nobody has stopped it
    document, _ = read_plan(plan)
    tiers = () if document is None else document.objectives
    return Repeat(
        seed,
        number,
        tuple(str(tier.value) for tier in tiers),
        tuple(
            tier.metric + ("" if tier.priority is None else f"[{tier.priority}]") for tier in tiers
        ),
        tuple(tier.status == "OPTIMAL" for tier in tiers),
        document is not None and any(_STARVED in text for text in document.warnings),
        "" if document is None else document.solver.strategy,
        ran.wall_seconds,
        ran.cpu_seconds,
        round(os.getloadavg()[0], 2),
    )


def commonest(rows: Sequence[Repeat]) -> int:
    """How many of some runs have the values that most of them have; none without a plan."""
    return max(Counter(row.values for row in rows if row.values).values(), default=0)


def _numbers(row: Repeat) -> tuple[float, ...]:
    return tuple(map(float, row.values))


def repeat_blocks(rows: Sequence[Repeat]) -> list[Block]:
    """Lay out the tiers in which runs differ, a line for each run."""
    blocks: list[Block] = []
    for seed in dict.fromkeys(row.seed for row in rows):
        asked = [row for row in rows if row.seed == seed]
        alike = [row for row in asked if row.number]
        names = max((row.tiers for row in asked), key=len)
        whole = [row for row in asked if row.values]
        alone = [row for row in whole if not row.number]
        worse = sum(_numbers(row) > _numbers(alone[0]) for row in whole if row.number and alone)
        differ = [i for i in range(len(names)) if len({row.values[i] for row in whole}) > 1]
        most = commonest(alike)
        starved = sum(row.starved for row in alike)
        text = (
            f"Cluster {seed}: {most} of {len(alike)} runs have the same values in all "
            f"{len(names)} tiers, {worse} are worse than the run alone; {starved} say that they "
            "were starved."
        )
        blocks.append(Paragraph(text, "good" if 10 * most >= ALIKE * len(alike) else "bad"))
        columns = ("RUN", *(names[i] for i in differ), "STARVED", "SECONDS", "CPU", "LOAD")
        lines = tuple(
            (
                str(row.number) if row.number else "alone",
                *(
                    (row.values[i] + ("*" if row.proved[i] else "") if row.values else "-")
                    for i in differ
                ),
                "yes" if row.starved else "no",
                f"{row.wall_seconds:.1f}",
                f"{row.cpu_seconds:.1f}",
                f"{row.load:.1f}",
            )
            for row in asked
        )
        title = "Values of the tiers in which runs differ; * is proved"
        blocks.append(Table(title, columns, lines, frozenset(range(len(columns)))))
    return blocks
