"""Certificates of a suite: how many objectives arithmetic proves and how many only search."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kantopt.bench.case import Case, Documents
from kantopt.bench.models import MakeModel, model_text
from kantopt.bench.placed import emptied, placed_by
from kantopt.bench.process import environment
from kantopt.bench.row import cell
from kantopt.report.blocks import Block, Paragraph, Table
from kantopt.report.units import percent
from kantopt.schema.dump import dump_json
from kantopt.search.strategy import Strategy

SUITE = "certificates"
OURS = "kantopt"
LIMIT_SECONDS = 10.0
_PATIENCE_SECONDS = 120.0
_FAILED = {"verdict": "", "tiers": []}


@dataclass(frozen=True, slots=True)
class Certified:
    """One row: a plan or placement that was certified, and the certificate checked."""

    suite: str
    instance: str
    group: str
    """What the tables sum over: usage or size."""
    seed: int
    model: str
    judged: str
    """Who made what was judged: kantopt, or a strategy alone."""
    verdict: str
    tiers: int
    arithmetic: int
    relaxation_search: int
    column_generation: int
    cp_sat: int
    placement_tiers: int
    placement_arithmetic: int
    """Tiers of ``unplaced``, and those of them that arithmetic closes."""
    differs: int
    """Number of the tier in which the counter-example first differs, from 1; 0 without one."""
    certify_seconds: float
    verify_seconds: float
    fault: str

    @property
    def searched(self) -> int:
        """Tiers that only search has closed."""
        return self.relaxation_search + self.column_generation + self.cp_sat

    @property
    def open(self) -> int:
        """Tiers that nothing has closed."""
        return self.tiers - self.arithmetic - self.searched


COLUMNS = tuple(each.name for each in fields(Certified))


def to_cells(row: Certified) -> list[str]:
    """Write a row as the cells of a CSV line."""
    return [cell(getattr(row, name)) for name in COLUMNS]


def run_all(
    cases: Sequence[Case],
    models: Sequence[tuple[str, MakeModel]],
    limit_seconds: float,
    strategies: Sequence[str],
    tell: Callable[[Certified], None],
) -> list[Certified]:
    """Certify our plan of each question, or with strategies what each of these makes of it.

    Strategies begin with an empty cluster, take the jobs in the order listed and move nobody.
    """
    rows = []
    for case in cases:
        for name, make in models:
            for row in _certified(case, name, make, limit_seconds, strategies):
                rows.append(row)
                tell(row)
    return rows


def _certified(
    case: Case, name: str, make: MakeModel, limit: float, strategies: Sequence[str]
) -> Iterator[Certified]:
    documents = case.make()
    model = make(documents)
    if strategies:
        documents = emptied(documents)
    with tempfile.TemporaryDirectory(prefix="kantopt-bench-") as path:
        folder = Path(path)
        (folder / "model.yaml").write_text(model_text(model), encoding="utf-8")
        asked = [*map(str, documents.write(folder)), "-m", str(folder / "model.yaml")]
        for judged in strategies or (OURS,):
            given = folder / f"{judged}.json"
            if judged == OURS:
                _run("plan", *asked, "--time-limit", f"{limit:g}s", "-q", "-O", str(given))
                judge = ("--plan", str(given))
            else:
                after = placed_by(documents, model, Strategy(judged))
                given.write_text(dump_json(after), encoding="utf-8")
                judge = ("--after", str(given))
            certificate = folder / "certificate.json"
            certificate.unlink(missing_ok=True)
            options = (*judge, "--time-limit", f"{limit:g}s", "-q", "-O", str(certificate))
            seconds, _, fault = _run("certify", *asked, *options)
            document = _FAILED
            checked = 0.0
            if certificate.exists():
                document = json.loads(certificate.read_text(encoding="utf-8"))
                checked, code, wrong = _run(
                    "verify", "--certificate", str(certificate), *asked[:2], "-o", "name"
                )
                fault = fault or (f"refused: {wrong}" if code else "")
            elif not fault:
                fault = "no certificate"
            yield _row(case, documents, name, judged, document, seconds, checked, fault)


def _run(*arguments: str) -> tuple[float, int, str]:
    """Run a command; return its seconds, exit code and, if it went wrong, what it said."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "kantopt", *arguments],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=_PATIENCE_SECONDS * 3,
        check=False,
    )
    said = (done.stderr or done.stdout).strip().splitlines()
    wrong = done.returncode not in (0, 10, 11, 12)
    return time.monotonic() - began, done.returncode, said[-1] if said and wrong else ""


def _row(
    case: Case,
    documents: Documents,
    model: str,
    judged: str,
    certificate: dict[str, Any],
    certify_seconds: float,
    verify_seconds: float,
    fault: str,
) -> Certified:
    tiers = certificate.get("tiers", [])
    closed = [tier for tier in tiers if tier["status"] == "OPTIMAL"]
    by = [tier["provedBy"] for tier in closed]
    placing = [tier for tier in tiers if tier["metric"] == "unplaced"]
    better = certificate.get("counterExample")
    names = [tier["name"] for tier in tiers]
    group = case.parameters.get("usage") or case.parameters.get("nodes") or ""
    return Certified(
        suite=case.suite,
        instance=case.instance,
        group=f"U={group}" if "usage" in case.parameters else f"{len(documents.snapshot.nodes)}",
        seed=case.seed,
        model=model,
        judged=judged,
        verdict=certificate["verdict"],
        tiers=len(tiers),
        arithmetic=by.count("arithmetic"),
        relaxation_search=by.count("relaxation-search"),
        column_generation=by.count("column-generation"),
        cp_sat=by.count("cp-sat"),
        placement_tiers=len(placing),
        placement_arithmetic=sum(
            tier["status"] == "OPTIMAL" and tier["provedBy"] == "arithmetic" for tier in placing
        ),
        differs=names.index(better["tier"]) + 1 if better and better["tier"] in names else 0,
        certify_seconds=certify_seconds,
        verify_seconds=verify_seconds,
        fault=fault,
    )


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
    for (suite, model, group), members in _groups(
        rows, lambda row: (row.suite, row.model, row.group)
    ).items():
        tiers, placing = (
            sum(row.tiers for row in members),
            sum(row.placement_tiers for row in members),
        )
        arithmetic = sum(row.arithmetic for row in members)
        times = sorted(row.certify_seconds for row in members)
        lines.append(
            (
                suite,
                model,
                group,
                str(len(members)),
                str(tiers),
                percent(arithmetic, tiers),
                percent(sum(row.searched for row in members), tiers),
                percent(sum(row.open for row in members), tiers),
                percent(sum(row.placement_arithmetic for row in members), placing),
                str(sum(row.verdict == "OPTIMAL" for row in members)),
                f"{times[len(times) // 2]:.1f}",
                f"{max(row.verify_seconds for row in members):.1f}",
            )
        )
    columns = (
        "SUITE MODEL GROUP RUNS TIERS ARITHMETIC SEARCH OPEN PLACEMENT OPTIMAL SECONDS CHECKED"
    )
    title = (
        "Our plans, certified: tiers closed by arithmetic, by search, open; of placement tiers by "
        "arithmetic; plans certified optimal; median seconds, most seconds to check"
    )
    return Table(title, tuple(columns.split()), tuple(lines), frozenset(range(3, 12)))


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
