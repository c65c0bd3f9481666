"""A plan in a few words: what to do, how good that is, what it is for."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.report.blocks import Paragraph
from kantopt.report.goals import goals_shown
from kantopt.report.losses import losses_line
from kantopt.report.names import cluster_at
from kantopt.report.not_modelled import left_words, nothing_pending, proviso
from kantopt.report.units import percent, size_bytes, tier_label, tier_number
from kantopt.schema.answers.left import stricter_words
from kantopt.schema.answers.plan import Plan
from kantopt.schema.hints import plural


def headline(plan: Plan) -> Iterator[Paragraph]:
    """Say what a plan does, how good it is, and what it was made for, by what."""
    summary = plan.summary
    parts = []
    if summary.placed_pods:
        jobs = plural(summary.placed_jobs, "job")
        parts.append(f"place {plural(summary.placed_pods, 'pod')} of {jobs}")
    if summary.evicted_pods:
        parts.append(f"evict {plural(summary.evicted_pods, 'pod')}")
    if summary.moved_pods:
        aside = f" with {plural(summary.stopovers, 'stop-over')}" if summary.stopovers else ""
        memory = plan.timing.memory_bytes if plan.timing is not None else 0
        live = f" ({size_bytes(memory)} live)" if memory else ""
        parts.append(f"move {plural(summary.moved_pods, 'pod')}{live}{aside}")
    why = nothing_pending(plan) if not plan.goals else ""
    nothing = _NOTHING.get(plan.solver.status, "nothing to do")
    todo = ", ".join(parts) if parts else f"{nothing}{why and f': {why}'}"
    left = ""
    if summary.leftover_pods:
        pods = plural(summary.leftover_pods, "more pod")
        jobs = plural(summary.leftover_jobs, "job")
        fit = "fits" if summary.leftover_pods == 1 else "fit"
        left = f"; {pods} of {jobs} {fit} into room that evictions leave over"
    if summary.unplaced_pods:
        stay = "stays" if summary.unplaced_jobs == 1 else "stay"
        jobs = plural(summary.unplaced_jobs, "job")
        left += f"; {jobs} ({plural(summary.unplaced_pods, 'pod')}) {stay} pending"
    missed = sum(bool(goal.missed_by) for goal in plan.goals)
    if missed:
        total = len(goals_shown(plan))
        which = "the goal" if total == 1 else f"{missed} of {total} goals"
        left += f"; {which} {'is' if missed == 1 else 'are'} missed"
    yield Paragraph(f"{todo[0].upper()}{todo[1:]}{left}.", "title")
    yield from _disturbs(plan)
    yield from _nominated(plan)
    yield quality(plan)
    yield from losses_line(plan)
    snapshot = plan.metadata.snapshot
    where = cluster_at(snapshot.name, snapshot.captured_at)
    model = plan.model.metadata.name or "(unnamed)"
    found = {
        "none": "",
        "last-plan": ", kept from the last plan",
        "fast": f", found by {plan.solver.strategy}",
        "cp-sat": ", found by cp-sat",
    }
    text = f"{where}, model {model}, engine {plan.solver.engine}"
    yield Paragraph(f"{text}{found[plan.solver.found_by]}.", "dim")


_NOTHING = {"UNKNOWN": "nothing was examined", "FEASIBLE": "nothing was found to do"}
"""Of a plan without a step that is not proved, by its status."""


def _disturbs(plan: Plan) -> Iterator[Paragraph]:
    """Say that a plan disturbs much, and what would limit it."""
    pods = plan.summary.evicted_pods + plan.summary.moved_pods
    running = plan.metadata.snapshot.running_pods
    if not running or pods < _MUCH or pods < _SHARE * running:
        return
    text = f"Disturbs {pods} of {plural(running, 'running pod')}"
    share = percent(pods, running)
    yield Paragraph(f"{text} ({share}): --max-moves and --max-evictions limit that.", "warn")


def _nominated(plan: Plan) -> Iterator[Paragraph]:
    """Say that pods which count as evicted do not run: others take the room kept for them."""
    waiting = {
        (job.full_name, role.name) for job in plan.jobs for role in job.pod_sets if role.nominated
    }
    pods = sum(item.count for item in plan.evictions if (item.job, item.pod_set) in waiting)
    if pods == 1:
        yield Paragraph(
            "Of the evicted 1 does not run: it is nominated, and loses only the room that is kept."
        )
    elif pods:
        yield Paragraph(
            f"Of the evicted {pods} do not run: they are nominated, and lose only the room that is "
            "kept."
        )


def _limits(plan: Plan) -> str:
    """Name the limits within which something is said to be impossible."""
    limits = plan.model.limits
    most = ((limits.evictions, "eviction"), (limits.moves, "move"))
    named = [f"at most {plural(number, word)}" for number, word in most if number is not None]
    return f" with {' and '.join(named)}" if named else ""


_MUCH, _SHARE = 20, 0.1
"""From how many pods on, and from which share of those that run, a plan disturbs much."""


def quality(plan: Plan) -> Paragraph:
    """Say how good the plan is: proved, or which objective is open first, and by how much."""
    status, left = plan.solver.status, left_words(plan)
    if status == "UNKNOWN":
        text = f"UNKNOWN: the run ended before it looked at what could be done{left}."
        return Paragraph(text, "warn")
    if status == "INFEASIBLE":
        closed = all(tier.status == "OPTIMAL" for tier in plan.objectives)
        rest = "no plan does better by the others" if closed else "this is a plan for the others"
        by = stricter_words(plan.solver.stricter)
        none = f"{_limits(plan)} a required job provably has no place{by}"
        text = f"INFEASIBLE:{none}; {rest}{left}."
        return Paragraph(text, "bad")
    if status == "OPTIMAL":
        begin = f"OPTIMAL{proviso(plan)}"
        text = f"{begin}: no plan is better in any objective, in this order{left}."
        return Paragraph(text, "good")
    open_tiers = [tier for tier in plan.objectives if tier.status != "OPTIMAL"]
    if not open_tiers:
        text = f"FEASIBLE: a legal plan, but it misses what is required{left}."
        return Paragraph(text, "warn")
    first = open_tiers[0]
    gap = "nothing is known of better ones"
    if first.bound is not None:
        value, bound = (
            tier_number(first.unit, first.mix_weight, number)
            for number in (first.value, first.bound)
        )
        gap = f"it is {value}, and no plan gets below {bound}"
    proved = plan.objectives.index(first)
    above = "; the objective above it is proved" if proved == 1 else ""
    if proved > 1:
        above = f"; the {proved} objectives above it are proved"
    return Paragraph(f"FEASIBLE: {tier_label(first.name)} is open: {gap}{above}{left}.", "warn")
