"""What a plan leaves out, in the words of a verdict: not modelled, not asked about, held back."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.schema.answers.left import NotModelled, aside_words
from kantopt.schema.answers.plan import Plan
from kantopt.schema.features import FEATURES, WORDS
from kantopt.schema.hints import first_of, plural


def proviso(plan: Plan) -> str:
    """Return what a verdict holds for, to be put behind its first word; mostly nothing."""
    by_queues = any(item.beyond or item.no_turn for item in plan.unplaced)
    return " for what is modelled" if plan.not_modelled or by_queues else ""


def left_words(plan: Plan) -> str:
    """Count what is left out; begins with ``; `` if there is any.

    Of pods that ask for what is not modelled those left alone and those planned all the same; of
    jobs for which queues may evict more than plans do, or in another turn; of jobs that were not
    asked about those no less important than one that was; and what may not start yet. Without nodes
    everything is.
    """
    rows, aside = plan.not_modelled, plan.left_aside
    alone = [row for row in rows if not row.assumed]
    planned = [row for row in rows if row.assumed]
    pending, running = sum(row.pending for row in alone), sum(row.running for row in alone)
    parts = []
    if pending:
        parts.append(f"{plural(pending, 'pod')} left out")
    if running:
        count = str(running) if pending else plural(running, "pod")
        parts.append(f"{count} left where {'it is' if running == 1 else 'they are'}")
    words = f"; {' and '.join(parts)}: {_kinds(alone)}" if parts else ""
    total = sum(row.pending + row.running for row in planned)
    if total:
        words += f"; {plural(total, 'pod')} planned all the same: {_kinds(planned)}"
    if jobs := sum(bool(item.beyond) for item in plan.unplaced):
        words += f"; more may be evicted, by queues, for {plural(jobs, 'job')}"
    if names := [item.job for item in plan.unplaced if item.no_turn]:
        who = f"{plural(len(names), 'job')} ({first_of(names, 1)})"
        words += f"; for {who} nobody is evicted, as other waiting jobs are served first"
    if aside is not None:
        words += f"; {aside_words(aside)}"
    if (held := plan.held_back) is not None:
        who = f"{plural(held.jobs, 'job')} ({plural(held.pods, 'pod')})"
        words += f"; held back: {who}, which count with --gated"
    if plan.metadata.snapshot.nodes == 0:
        words += "; the snapshot has no nodes"
    return words


def nothing_pending(plan: Plan) -> str:
    """Say why a plan that places nothing has nothing to place; empty if something waits."""
    summary, asked = plan.summary, plan.model.pending is None
    if summary.placed_pods or summary.unplaced_pods or summary.leftover_pods or not asked:
        return ""
    read_as = plan.metadata.read_as
    left = [row.pending for row in plan.not_modelled if not row.assumed]
    if any(left) or plan.held_back is not None or (read_as is not None and read_as.pending):
        return "all that is pending is left out"
    return "no job is pending in the input"


def _kinds(rows: Sequence[NotModelled]) -> str:
    found = []
    for feature in FEATURES:
        count = sum(row.pending + row.running for row in rows if feature in row.features)
        if count:
            found.append(f"{count} {WORDS[feature]}")
    return ", ".join(found)
