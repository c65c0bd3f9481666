"""From a run and the plan that it wrote to a row."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import kantopt
from kantopt.errors import KantoptError
from kantopt.planning.document.actions import waves_of
from kantopt.planning.document.judge import judge
from kantopt.planning.question import Import, question_of
from kantopt.problem.difference import apply
from kantopt.schema.answers.plan import Plan, Tier
from kantopt.schema.extends import resolve_model
from kantopt.schema.files import load_raw
from kantopt.schema.model import Rule
from kantopt.schema.validation import validate
from kantopt.verify.rules import check
from scripts.bench.case import Case, Documents
from scripts.bench.process import Ran
from scripts.bench.row import Bound, Category, Row

Asked = tuple[str, str, float]
"""Engine, model and limit in seconds."""


@dataclass(frozen=True, slots=True)
class Run:
    """What is run and how; ``parallel`` runs go on at the same time."""

    case: Case
    documents: Documents
    asked: Asked
    parallel: int


def row_of(run: Run, ran: Ran | None, files: Sequence[Path], plan: Path) -> Row:
    """Measure a run.

    Parameters
    ----------
    ran
        How the process went; ``None`` if nothing was pending, so that there was nothing to run.
    files
        Snapshot, job list and model that it read.
    plan
        Where it was to write its plan.
    """
    if ran is None:
        return _row(run, None, None, "", "", (0, 0))
    document, note = read_plan(plan)
    verified, missing = "", (0, 0)
    if document is not None:
        verified, more = verified_by_judge(files, plan)
        note = more or note
        if verified == "yes":
            missing = missing_required(files, document)
    note = note or " ".join(ran.complaints)
    return _row(run, ran, document, verified, note, missing)


@cache
def versions() -> tuple[str, str, str]:
    """Versions of kantopt, ortools and Python; kantopt's names its sources too.

    Else rows of a program that has changed since would pass for rows of this one.
    """
    try:
        ortools = version("ortools")
    except PackageNotFoundError:
        ortools = "missing"
    package = Path(kantopt.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\0".encode() + path.read_bytes())
    ours = f"{kantopt.__version__}+{digest.hexdigest()[:8]}"
    return ours, ortools, ".".join(map(str, sys.version_info[:3]))


def category_of(
    called: bool, verified: str, plan: Plan | None, missing: tuple[int, int] = (0, 0)
) -> Category:
    """Sort an outcome into the categories of the published protocol.

    Parameters
    ----------
    missing
        Required jobs that the start and the plan leave out.
    """
    if not called:
        return "no call"
    if plan is None or verified != "yes" or plan.solver.status == "UNKNOWN":
        return "failed"
    proved = all(tier.status == "OPTIMAL" for tier in plan.objectives)
    before = (missing[0], *(tier.before for tier in plan.objectives))
    values = (missing[1], *(tier.value for tier in plan.objectives))
    if values < before:
        return "better+optimal" if proved else "better"
    return "default optimal" if proved and values == before else "failed"


def read_plan(path: Path) -> tuple[Plan | None, str]:
    """Read a plan; without one say why, or nothing if there is no file."""
    try:
        document = validate(load_raw([str(path)])[0], Plan)
    except KantoptError as error:
        return None, "" if not path.exists() else str(error)
    assert isinstance(document, Plan)
    return document, ""


def verified_by_judge(files: Sequence[Path], plan: Path) -> tuple[str, str]:
    """Judge a plan under the model that comes last: ``yes`` or ``no``, and what was found."""
    *documents, model = map(str, files)
    try:
        verdict = judge([*documents, str(plan)], model)
    except KantoptError as error:
        return "no", str(error)
    if not verdict.findings:
        return "yes", ""
    first = verdict.findings[0]
    return "no", f"{len(verdict.findings)} findings, first {first.subject}: {first.message}"


def missing_required(files: Sequence[Path], plan: Plan) -> tuple[int, int]:
    """Count the required jobs that the snapshot and a legal plan leave out."""
    model = resolve_model(plan.model, "the plan")
    if not model.required:
        return 0, 0
    question = question_of(load_raw([str(path) for path in files]), Import())
    instance = question.instance(model)
    waves, _ = waves_of(instance, plan, "the plan")
    start = instance.current
    before, left = (
        len(check(instance, placement, (Rule.REQUIRED,)))
        for placement in (start, apply(start, waves))
    )
    return before, left


def _row(
    run: Run,
    ran: Ran | None,
    plan: Plan | None,
    verified: str,
    note: str,
    missing: tuple[int, int],
) -> Row:
    case, documents = run.case, run.documents
    counts = documents.pods_by_priority()
    start = {priority: running for priority, (_, running) in counts.items()}
    tiers = plan.objectives if plan is not None else ()
    best = None if ran is None or plan is None else _best_seconds(ran, tiers)
    engine, model, limit = run.asked
    names = versions()
    figures: dict[str, Any] = {}
    if ran is not None:
        figures = {
            "wall_seconds": ran.wall_seconds,
            "cpu_seconds": ran.cpu_seconds,
            "read_seconds": ran.read_seconds,
            "first_seconds": ran.improvements[0].seconds if ran.improvements else None,
            "best_seconds": best,
            "proof_seconds": ran.done_seconds if _optimal(plan) else None,
            "overrun_seconds": max(0.0, ran.wall_seconds - limit),
            "used_share": None if plan is None or _optimal(plan) else ran.wall_seconds / limit,
            "peak_mib": ran.peak_mib,
            "exit_code": ran.exit_code,
        }
    else:
        figures = dict.fromkeys(_FIGURES)
    return Row(
        suite=case.suite,
        instance=case.instance,
        seed=case.seed,
        parameters={**case.parameters, **run.documents.facts},
        engine=engine,
        model=model,
        limit_seconds=limit,
        category=category_of(ran is not None, verified, plan, missing),
        verified=verified,
        status="" if plan is None else plan.solver.status,
        tiers=tuple(tier.name for tier in tiers),
        before=tuple(tier.before for tier in tiers),
        values=tuple(tier.value for tier in tiers),
        required_before=missing[0],
        required_left=missing[1],
        bounds=tuple(
            None if tier.bound is None else Bound(tier.bound, bool(tier.given)) for tier in tiers
        ),
        statuses=tuple(tier.status for tier in tiers),
        wanted={priority: wanted for priority, (wanted, _) in counts.items()},
        start=start,
        placed=start if plan is None else _placed(documents, plan, start),
        evictions=None if plan is None else plan.summary.evicted_pods,
        moves=None if plan is None else plan.summary.moved_pods,
        **figures,
        found_by="" if plan is None else plan.solver.found_by,
        size={
            "nodes": len(documents.snapshot.nodes),
            "jobs": len(documents.jobs),
            "pods": sum(wanted for wanted, _ in counts.values()),
            "pending": documents.pending_pods(),
        },
        parallel=run.parallel,
        processors=os.cpu_count() or 1,
        load=round(os.getloadavg()[0], 2),
        kantopt=names[0],
        ortools=names[1],
        python=names[2],
        note=note[:300],
    )


_FIGURES = (
    "wall_seconds",
    "cpu_seconds",
    "read_seconds",
    "first_seconds",
    "best_seconds",
    "proof_seconds",
    "overrun_seconds",
    "used_share",
    "peak_mib",
    "exit_code",
)


def _optimal(plan: Plan | None) -> bool:
    return plan is not None and plan.solver.status == "OPTIMAL"


def _best_seconds(ran: Ran, tiers: Sequence[Tier]) -> float | None:
    """When the plan that was written in the end was found."""
    final = tuple(tier.value for tier in tiers)
    for news in ran.improvements:
        if news.values == final:
            return news.seconds
    return ran.done_seconds


def _placed(documents: Documents, plan: Plan, start: Mapping[int, int]) -> dict[int, int]:
    priority = {job.full_name: job.priority or 0 for job in documents.jobs}
    placed = dict(start)
    for binding in plan.assignments:
        placed[priority[binding.job]] += binding.count
    for eviction in plan.evictions:
        placed[priority[eviction.job]] -= eviction.count
    return placed
