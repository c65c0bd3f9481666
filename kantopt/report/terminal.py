"""A plan for people: what to do, how good it is, what is left and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kantopt.report.actions import actions_table, wide_actions_table
from kantopt.report.blocks import Block, Listing, Paragraph, Style, Table
from kantopt.report.goals import goals_table
from kantopt.report.headline import headline
from kantopt.report.size import Size, size_blocks
from kantopt.report.tiers import tier_label, tier_number
from kantopt.report.units import duration, size_bytes
from kantopt.schema.plan import Eviction, Plan, Standing, Tier


def plan_blocks(
    plan: Plan,
    *,
    wide: bool = False,
    scales: Mapping[str, int] | None = None,
    size: Size | None = None,
) -> list[Block]:
    """Lay out a plan.

    Parameters
    ----------
    plan
        The plan.
    wide
        Every action with its pods, devices and budgets, and every standing violation.
    scales
        By name of a tier, what its numbers are to be divided by to be GPUs; for tiers whose unit
        alone does not say it (``stranded_gpus``, which is weighted by the job mix).
    size
        What the plan is for; said if it is wide.
    """
    blocks: list[Block] = [*headline(plan, scales or {}), *size_blocks(size, wide=wide)]
    # Cut short, a plan may be far from what was asked for: said before what it is.
    cut = any(text.startswith(_CUT_SHORT) for text in plan.warnings)
    warnings = [Listing("WARNINGS", plan.warnings, "warn")] if plan.warnings else []
    blocks += warnings if cut else []
    blocks += goals_table(plan)
    blocks += _tiers(plan.objectives, scales or {}, wide)
    blocks += wide_actions_table(plan) if wide else actions_table(plan)
    blocks += _schedule(plan)
    blocks += _victims(plan.evictions)
    blocks += _cascade(plan)
    blocks += _unplaced(plan)
    blocks += [] if cut else warnings
    blocks += _standing(plan, wide)
    return blocks


def _tiers(tiers: Sequence[Tier], scales: Mapping[str, int], wide: bool) -> Iterator[Block]:
    """Tiers in order; those that are met without doing anything only counted, unless wide."""
    if not tiers:
        return
    shown = [tier for tier in tiers if wide or not _idle(tier)]
    if len(tiers) - len(shown) < _FEW:
        shown = list(tiers)
    unproved = frozenset(tier.name for tier in tiers if tier.status != "OPTIMAL")
    rows, styles = [], []
    for tier in shown:
        numbers = [
            tier_number(tier.name, tier.unit, value, scales)
            for value in (tier.before, tier.value, tier.bound)
        ]
        rows.append((tier_label(tier.name), *numbers, _proof(tier, unproved)))
        style: Style = "" if tier.status == "OPTIMAL" else "warn"
        styles.append(style)
    title, idle = "OBJECTIVES, most important first", len(tiers) - len(shown)
    zero = "0 before and after, which is optimal (-o wide lists them)"
    if not rows:
        yield Listing(title, (f"all {idle} are {zero}",))
        return
    yield Table(
        title,
        ("OBJECTIVE", "BEFORE", "VALUE", "BOUND", "PROOF"),
        tuple(rows),
        frozenset({1, 2, 3}),
        tuple(styles),
    )
    if idle:
        yield Paragraph(f"and {idle} that are {zero}", "dim")


def _proof(tier: Tier, unproved: frozenset[str]) -> str:
    """Who proved what; a bound that rests on tiers which are open themselves says so."""
    given = ", given the open ones above" if unproved.intersection(tier.given) else ""
    if tier.status == "OPTIMAL":
        return f"OPTIMAL by {tier.proved_by}{given}"
    return f"{tier.status}{given}"


_FEW = 4
"""Fewer idle tiers than this are not worth a line that says so."""


def _idle(tier: Tier) -> bool:
    return tier.before == tier.value == 0 and tier.status == "OPTIMAL"


def _victims(evictions: Sequence[Eviction]) -> Iterator[Table]:
    """Who gives way to whom."""
    pods: dict[tuple[str, int, str], int] = {}
    for item in evictions:
        key = (item.job, item.priority, item.for_job or "-")
        pods[key] = pods.get(key, 0) + item.count
    if pods:
        yield Table(
            "EVICTED",
            ("JOB", "PRIORITY", "PODS", "FOR"),
            tuple((job, str(p), str(count), why) for (job, p, why), count in pods.items()),
            frozenset({1, 2}),
        )


def _cascade(plan: Plan) -> Iterator[Block]:
    """What the victims would do once they are queued again."""
    if plan.cascade is None:
        return
    rows = [
        (str(i), pushed.job, str(pushed.priority), str(pushed.pods), pushed.for_job or "-")
        for i, each in enumerate(plan.cascade.rounds, 1)
        for pushed in each.evicted
    ]
    if rows:
        yield Table(
            "PUSHED OUT NEXT, if the victims are queued again",
            ("ROUND", "JOB", "PRIORITY", "PODS", "FOR"),
            tuple(rows),
            frozenset({0, 2, 3}),
        )
    if not plan.cascade.complete:
        text = "What the victims would do once they are queued again was not followed to its end."
        yield Paragraph(text, "warn")
    elif not rows:
        yield Paragraph("Queued again, the victims would push nobody out.", "dim")


def _unplaced(plan: Plan) -> Iterator[Table]:
    if plan.unplaced:
        rows = tuple(
            (
                item.job,
                str(item.priority),
                f"{item.pods} of {item.wanted}",
                f"{item.rule}: {item.message}",
            )
            for item in sorted(plan.unplaced, key=lambda item: -item.priority)
        )
        yield Table("PENDING", ("JOB", "PRIORITY", "PODS", "WHY"), rows, frozenset({1}))


_CUT_SHORT = ("interrupted", "the time limit")
"""How warnings begin that say what ended the search."""


def _standing(plan: Plan, wide: bool) -> Iterator[Block]:
    if not plan.pre_existing:
        return
    title = "WRONG BEFORE, and not made worse"
    if wide:
        yield standing_table(title, plan.pre_existing)
        return
    rules: dict[str, int] = {}
    for item in plan.pre_existing:
        rules[item.rule] = rules.get(item.rule, 0) + 1
    counts = ", ".join(f"{rule} {count}" for rule, count in sorted(rules.items()))
    yield Listing(title, (f"{counts} (-o wide lists them)",))


def standing_table(title: str, items: Sequence[Standing]) -> Table:
    """List violations: rule, subject, amount of limit."""
    rows = tuple((item.rule, item.subject, item.message) for item in items)
    return Table(title, ("RULE", "SUBJECT", "AMOUNT"), rows)


def _schedule(plan: Plan) -> Iterator[Table]:
    """Lay out the times of waves, if the model says anything of bandwidth or windows."""
    timing, schedule = plan.timing, plan.model.schedule
    if timing is None or (schedule.bandwidth is None and not schedule.windows):
        return
    rows = [
        (
            str(wave.id),
            size_bytes(wave.memory_bytes) if wave.memory_bytes else "-",
            "-" if wave.duration_seconds is None else duration(wave.duration_seconds),
            wave.earliest_start or "-",
        )
        for wave in plan.waves
    ]
    title = "SCHEDULE"
    if timing.duration_seconds is not None:
        title += f", copying {duration(timing.duration_seconds)} along the longest chain"
    if timing.earliest_end is not None:
        title += f", all done by {timing.earliest_end} at the earliest"
    yield Table(title, ("WAVE", "MEMORY", "COPYING", "EARLIEST START"), tuple(rows), frozenset({0}))
