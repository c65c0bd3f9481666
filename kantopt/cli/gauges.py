"""The metrics file of scheduled runs: what each gauge is and where it comes from."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from kantopt.cli.signals import INTERRUPTED, Terminated
from kantopt.clock import elapsed
from kantopt.errors import KantoptError
from kantopt.report.prometheus import Gauge, Sample, gauge, metrics_text, updated_text
from kantopt.schema.writing import write_atomic

if TYPE_CHECKING:
    from kantopt.planning.question import Question
    from kantopt.schema.answers.plan import Plan

_STATUSES = ("OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNKNOWN")
_ENDED = {"KeyboardInterrupt": INTERRUPTED, "BrokenPipeError": 141}
_SUCCESS = frozenset({0, 2, 3, 4, 5})
"""Exit codes of runs that have come to their own end with a plan."""


@dataclass(frozen=True, slots=True)
class Work:
    """What a run that has written a plan says of itself."""

    began: datetime
    phases: Mapping[str, float]
    """Seconds that each part took."""
    reused: bool
    """Whether the last plan still answered the question."""
    exit_code: int


def write_gauges(path: str, work: Work, plan: Plan, question: Question) -> None:
    """Write the gauges of a run that has written a plan.

    Raises
    ------
    CannotCreateError, WriteError
        If the file cannot be written; the old one is then untouched.
    """
    gauges = [*_of_run(work.began, work.exit_code), *_of_plan(plan)]
    gauges += [*_of_cluster(plan, question), *_of_work(work)]
    if work.exit_code in _SUCCESS:
        text = metrics_text(gauges)
    else:  # ended early: a plan, but the moment of the last success stays
        kept = [each for each in gauges if each.name != _SUCCESS_NAME]
        text = updated_text(_old_text(path), kept)
    write_atomic(path, text.encode())


def write_failure(path: str, now: datetime, error: BaseException) -> None:
    """Say that a run failed, and when; everything else stays as the last plan left it.

    The run fails for its own reason: that this cannot be said here either is no news. A pipe, which
    keeps nothing and which perhaps nobody reads, is not told.
    """
    if os.path.exists(path) and not os.path.isfile(path):
        return
    code = _ENDED.get(type(error).__name__, 1)
    if isinstance(error, KantoptError | Terminated):
        code = error.exit_code
    gauges = [each for each in _of_run(now, code) if each.name != _SUCCESS_NAME]
    with contextlib.suppress(KantoptError, OSError):
        write_atomic(path, updated_text(_old_text(path), gauges).encode())


def _old_text(path: str) -> str:
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        return file.read()
    return ""


_SUCCESS_NAME = "kantopt_last_success_timestamp_seconds"


def _of_run(now: datetime, exit_code: int) -> Iterator[Gauge]:
    at = now.timestamp()
    yield gauge("kantopt_last_run_timestamp_seconds", "When a run last began.", at)
    yield gauge(_SUCCESS_NAME, "When a run last began that came to its end with a plan.", at)
    yield gauge("kantopt_last_run_exit_code", "Exit code of the last run.", exit_code)


def _of_work(work: Work) -> Iterator[Gauge]:
    phases = {**work.phases, "write": max(0.0, elapsed() - sum(work.phases.values()))}
    samples = tuple(Sample(round(took, 3), {"phase": phase}) for phase, took in phases.items())
    yield Gauge("kantopt_run_duration_seconds", "How long parts of the last run took.", samples)
    text = "1 if the last plan still answered the question and nothing was solved."
    yield gauge("kantopt_plan_reused", text, int(work.reused))


def _of_plan(plan: Plan) -> Iterator[Gauge]:
    captured_at = plan.metadata.snapshot.captured_at
    if captured_at is not None:
        moment = datetime.fromisoformat(captured_at).timestamp()
        yield gauge("kantopt_snapshot_timestamp_seconds", "When the snapshot was taken.", moment)
    statuses = (Sample(int(s == plan.solver.status), {"status": s}) for s in _STATUSES)
    yield Gauge("kantopt_solver_status", "1 for the status of the plan.", tuple(statuses))
    gaps = []
    for tier in plan.objectives:
        if tier.bound is not None:
            gap = (tier.value - tier.bound) / max(1, tier.value)
            gaps.append(Sample(round(gap, 6), {"term": tier.name}))
    text = "How far an objective is from its proven bound, as a part of its value."
    yield Gauge("kantopt_objective_gap_ratio", text, tuple(gaps))
    summary = plan.summary
    yield gauge("kantopt_plan_changes", "1 if the plan has anything to do.", int(summary.changes))
    yield gauge("kantopt_plan_waves", "Waves of the plan.", len(plan.waves))
    yield gauge("kantopt_plan_bindings", "Pending pods that the plan binds.", summary.placed_pods)
    yield gauge("kantopt_plan_moves", "Running pods that the plan moves.", summary.moved_pods)
    yield gauge("kantopt_plan_evictions", "Pods that the plan evicts.", summary.evicted_pods)
    reasons = Counter(left.rule for left in plan.unplaced)
    text = "Jobs that stay pending, by the rule that stands in the way first."
    unplaced = tuple(Sample(jobs, {"reason": rule}) for rule, jobs in sorted(reasons.items()))
    yield Gauge("kantopt_unplaced_workloads", text, unplaced or (Sample(0, {"reason": "none"}),))


def _of_cluster(plan: Plan, question: Question) -> Sequence[Gauge]:
    """How fragmented the pools are, and how many GPUs the plan would recover."""
    from kantopt.planning.document.actions import waves_of
    from kantopt.planning.fragmentation import fragmentation
    from kantopt.problem.difference import apply

    instance = question.instance(plan.model)
    waves, _ = waves_of(instance, plan, "the plan")
    before = fragmentation(instance, instance.current)
    after = fragmentation(instance, apply(instance.current, waves))
    ratios = tuple(
        Sample(round(share.ratio, 6), {"pool": share.pool, "level": share.level})
        for share in before
    )
    recoverable = tuple(
        Sample(max(0, was.free_milli - will.free_milli) / 1000, {"pool": was.pool})
        for was, will in zip(before, after, strict=True)
        if was.level == "node"
    )
    return (
        Gauge(
            "kantopt_fragmentation_ratio",
            "Part of the GPU nodes, or of the domains of a level, that are partly used.",
            ratios,
        ),
        Gauge(
            "kantopt_recoverable_gpus",
            "GPUs free on partly used nodes that the plan would put to use or join to whole nodes.",
            recoverable,
        ),
    )
