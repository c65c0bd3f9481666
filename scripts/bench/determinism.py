"""Same input, same bytes: each question is planned twice, the second time on a busy machine."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from kantopt.report.blocks import Block, Paragraph, Table
from scripts.bench.case import Case
from scripts.bench.measure import read_plan
from scripts.bench.models import MakeModel, model_text
from scripts.bench.process import Processes

SUITE = "determinism"


@dataclass(frozen=True, slots=True)
class Twice:
    """One row: a question that was planned twice with ``--deterministic``."""

    instance: str
    seed: int
    nodes: int
    engine: str
    model: str
    limit_seconds: float
    same: bool
    """The plans are the same, byte by byte."""
    reproducible: bool
    """Both say that no clock cut in."""
    open_tiers: int
    status: str
    first_seconds: float
    second_seconds: float
    """Wall time of both runs; the second is beside busy processes."""
    fault: str


COLUMNS = tuple(each.name for each in fields(Twice))


def run_twice(case: Case, model: str, make: MakeModel, engine: str, limit_seconds: float) -> Twice:
    """Plan a question twice and compare.

    Parameters
    ----------
    case
        The instance.
    model, make
        Name of the model and what makes it.
    limit_seconds
        Time limit, which also says how much work the search may do.
    """
    made = case.make()
    texts: list[bytes] = []
    walls = []
    with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as name, Processes() as processes:
        folder = Path(name)
        asking = folder / "model.yaml"
        asking.write_text(model_text(make(made)), encoding="utf-8")
        arguments = [*map(str, made.write(folder)), "-m", str(asking), "--engine", engine]
        arguments += ["--deterministic", "--seed", "0", "-o", "json"]
        arguments += ["--time-limit", f"{limit_seconds:g}s"]
        plans = folder / "first.json", folder / "second.json"
        for plan, busy in zip(plans, (False, True), strict=True):
            with busy_machine() if busy else contextlib.nullcontext():
                ran = processes.plan([*arguments, "-O", str(plan)], limit_seconds, folder)
            walls.append(0.0 if ran is None else ran.wall_seconds)
            texts.append(plan.read_bytes() if plan.exists() else b"")
        documents = [read_plan(plan)[0] for plan in plans]
    found = [document for document in documents if document is not None]
    same = texts[0] == texts[1]
    reproducible = len(found) == 2 and all(document.solver.reproducible for document in found)
    fault = ""
    if len(found) < 2:
        fault = "no plan"
    elif not same and reproducible:
        fault = f"differs from byte {_first_difference(*texts)} on"
    first = found[0] if found else None
    tiers = () if first is None else first.objectives
    return Twice(
        instance=case.instance,
        seed=case.seed,
        nodes=len(made.snapshot.nodes),
        engine=engine,
        model=model,
        limit_seconds=limit_seconds,
        same=same,
        reproducible=reproducible,
        open_tiers=sum(tier.status != "OPTIMAL" for tier in tiers),
        status="" if first is None else first.solver.status,
        first_seconds=walls[0],
        second_seconds=walls[1],
        fault=fault,
    )


@contextlib.contextmanager
def busy_machine(nice: int = 0) -> Iterator[None]:
    """Keep every processor busy with something else, that yields to others if it is nice."""
    spin = [sys.executable, "-I", "-S", "-c", f"import os; os.nice({nice})\nwhile True: pass"]
    others = [subprocess.Popen(spin) for _ in range(os.cpu_count() or 1)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def _first_difference(one: bytes, other: bytes) -> int:
    pairs = zip(one, other, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))


def run_all(
    cases: Sequence[Case],
    models: Sequence[tuple[str, MakeModel]],
    engines: Sequence[str],
    limits_seconds: Sequence[float],
    tell: Callable[[Twice], None],
) -> list[Twice]:
    """Compare every combination, one after the other, and tell each when it is known."""
    rows = []
    for case in cases:
        for limit in limits_seconds:
            for name, make in models:
                for engine in engines:
                    rows.append(run_twice(case, name, make, engine, limit))
                    tell(rows[-1])
    return rows


def twice_blocks(rows: Sequence[Twice]) -> list[Block]:
    """Lay out what was compared, and what differs."""
    lines = tuple(
        (
            row.instance,
            str(row.seed),
            f"{row.limit_seconds:g}s",
            row.engine,
            row.model,
            "same" if row.same else "differ",
            "yes" if row.reproducible else "no",
            str(row.open_tiers),
            f"{row.first_seconds:.2f}",
            f"{row.second_seconds:.2f}",
        )
        for row in rows
    )
    same = sum(row.same for row in rows)
    clocked = sum(not row.reproducible for row in rows)
    wide = sum(row.same and row.open_tiers > 0 for row in rows)
    wrong = sum(bool(row.fault) for row in rows)
    text = (
        f"{same} of {len(rows)} questions planned twice gave the same bytes, {wide} of them with a "
        f"tier open; {clocked} say that the clock cut in; {wrong} are at fault."
    )
    columns = ("INSTANCE", "SEED", "LIMIT", "ENGINE", "MODEL", "BYTES", "REPRODUCIBLE", "OPEN")
    columns_ = (*columns, "FIRST", "SECOND")
    title = "Planned twice with --deterministic, the second time beside busy processes"
    return [
        Paragraph(text, "bad" if wrong else "good"),
        Table(title, columns_, lines, frozenset({7, 8, 9})),
    ]
