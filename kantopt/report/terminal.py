"""A plan for people: what to do, how good it is, what is left and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from kantopt.report.actions import actions_table, wide_actions_table
from kantopt.report.blocks import Block, Listing, Paragraph, Screen, Style, Table, render
from kantopt.report.brief import MOST, first_rows, lines_of, mistyped_blocks, warnings_blocks
from kantopt.report.goals import goals_table
from kantopt.report.headline import headline, quality
from kantopt.report.overview import overview
from kantopt.report.plan_difference import difference_blocks
from kantopt.report.size import Size, size_blocks
from kantopt.report.standing import standing_blocks
from kantopt.report.units import duration, size_bytes, tier_label, tier_number
from kantopt.schema.answers.actions import actions_of
from kantopt.schema.answers.plan import Eviction, Plan, Tier, Unplaced
from kantopt.schema.hints import listed, plural

_NOWHERE: Mapping[str, str] = MappingProxyType({})


def plan_blocks(
    plan: Plan,
    *,
    wide: bool = False,
    size: Size | None = None,
    domains: Mapping[str, str] = _NOWHERE,
    level: str = "domain",
    notes: Collection[str] = (),
) -> list[Block]:
    """Lay out a plan.

    Parameters
    ----------
    plan
        The plan.
    wide
        Every action with its pods, devices and budgets, and every standing violation.
    size
        What the plan is for; said if it is wide.
    domains, level
        As of :func:`kantopt.report.overview.overview`.
    notes
        Which of the plan's warnings are of reading: a line for all of them is enough.
    """
    acting = {(step.job, step.pod_set) for step in actions_of(plan).values()}
    cut = not wide and len(acting) > _TALL
    again = [Paragraph(""), quality(plan)]
    blocks = [] if cut else _whole(plan, size, notes, wide)
    if cut or (not wide and sum(map(lines_of, blocks)) > _TALL):
        blocks = _cut(plan, size, notes, domains, level, MOST)
        lines = render([*blocks, *again], Screen(width=_WIDTH)).splitlines()
        if (over := len(lines) - _LONGEST) > 0:
            blocks = _cut(plan, size, notes, domains, level, max(_FEW, MOST - over))
    if sum(map(lines_of, blocks)) > _SCREEN:
        blocks += again
    return [*blocks, *_since(plan)]


def _whole(plan: Plan, size: Size | None, notes: Collection[str], wide: bool) -> list[Block]:
    """Lay out every action; wide, all there is to say of each."""
    blocks = _worth(plan, size, notes, wide, _TIERS)
    blocks += wide_actions_table(plan) if wide else actions_table(plan, None)
    blocks += [*_schedule(plan, wide), *_victims(plan.evictions), *_cascade(plan, wide)]
    blocks += pending_table(plan.unplaced, None if wide else MOST, plan.evictions)
    return blocks + _last(plan, notes, wide)


def _cut(
    plan: Plan,
    size: Size | None,
    notes: Collection[str],
    domains: Mapping[str, str],
    level: str,
    most: int,
) -> list[Block]:
    """Lay out the actions that matter most, and how many pods there are of each kind."""
    blocks = _worth(plan, size, notes, False, _FEW)
    # Of evictions, which matter most, the actions say whom they are for.
    blocks += [*overview(plan, domains, level), *actions_table(plan, most), *_schedule(plan, False)]
    blocks += _cascade(plan, False)
    blocks += pending_table(plan.unplaced, most // 2, plan.evictions)
    return blocks + _last(plan, notes, False)


def plan_sections(
    plan: Plan, domains: Mapping[str, str] = _NOWHERE, level: str = "domain"
) -> tuple[list[Block], list[Block]]:
    """Lay out all of a plan where there is room: what it is worth, and behind it what it does.

    ``domains`` and ``level`` as of :func:`kantopt.report.overview.overview`.
    """
    worth = _worth(plan, None, (), True, _TIERS)
    actions = list(actions_table(plan, None))
    many = any(isinstance(block, Table) and len(block.rows) > MOST for block in actions)
    done: list[Block] = [*(overview(plan, domains, level) if many else ()), *actions]
    done += _schedule(plan, True)
    done += _victims(plan.evictions)
    done += _cascade(plan, True)
    done += pending_table(plan.unplaced, None, plan.evictions)
    return worth, [*done, *_last(plan, (), True), *_since(plan)]


def _worth(
    plan: Plan, size: Size | None, notes: Collection[str], wide: bool, most: int
) -> list[Block]:
    """What a plan does in a sentence, and how good that is."""
    blocks: list[Block] = [*headline(plan)]
    blocks += [*mistyped_blocks(plan.warnings), *size_blocks(size, wide=wide)]
    # Cut short, a plan may be far from what was asked for: said before what it is.
    blocks += warnings_blocks(plan.warnings, notes, wide=wide) if _is_cut(plan) else ()
    if plan.solver.status == "UNKNOWN" and not wide:  # no bounds, and every value as before
        return blocks
    return [*blocks, *goals_table(plan), *_tiers(plan.objectives, wide, most)]


def _last(plan: Plan, notes: Collection[str], wide: bool) -> list[Block]:
    """What the reader should know besides."""
    warnings = () if _is_cut(plan) else warnings_blocks(plan.warnings, notes, wide=wide)
    return [*warnings, *standing_blocks(plan.pre_existing, wide=wide)]


def _since(plan: Plan) -> list[Block]:
    """How it differs from the plan of the run before."""
    since = plan.since_last_plan
    return [] if since is None else difference_blocks(since)


def _is_cut(plan: Plan) -> bool:
    return any(text.startswith(_CUT_SHORT) for text in plan.warnings)


_FEW = 5
"""Rows of what is not the actions, where there are many of these."""
_IDLE = 4
"""Fewer idle tiers than this are not worth a line that says so."""
_TIERS = 16
"""Objectives that are shown where there is not much else."""
_SCREEN, _TALL = 24, 48
"""Lines that a terminal shows at least: of a longer answer the verdict stands at the end too; and
those of a tall one: of what is longer still only what matters most is told."""
_LONGEST, _WIDTH = 60, 100
"""Lines of that at most, on a terminal so wide: where words take several, ten are too many."""


def _tiers(tiers: Sequence[Tier], wide: bool, most: int) -> Iterator[Block]:
    """Tiers in order; those that are met without doing anything only counted, unless wide."""
    if not tiers:
        return
    shown = [tier for tier in tiers if wide or not _idle(tier)]
    if len(tiers) - len(shown) < _IDLE:
        shown = list(tiers)
    left = len(shown) - most if not wide and len(shown) > most + 1 else 0
    if left:  # the open ones first, of the others those that change, in their order
        shown = sorted(
            shown, key=lambda tier: (tier.status == "OPTIMAL", tier.before == tier.value)
        )
        shown = sorted(shown[:most], key=tiers.index)
    unproved = frozenset(tier.name for tier in tiers if tier.status != "OPTIMAL")
    rows, styles = [], []
    for tier in shown:
        numbers = [
            tier_number(tier.unit, tier.mix_weight, value)
            for value in (tier.before, tier.value, tier.bound)
        ]
        rows.append((tier_label(tier.name), *numbers, _proof(tier, unproved)))
        style: Style = "" if tier.status == "OPTIMAL" else "warn"
        styles.append(style)
    title, idle = "OBJECTIVES, most important first", len(tiers) - len(shown) - left
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
    more = [f"{left} more that are proved"] if left else []
    more += [f"{idle} that are {zero}"] if idle else []
    if more:
        yield Paragraph(f"and {', '.join(more)}", "dim")


def _proof(tier: Tier, unproved: frozenset[str]) -> str:
    """Who proved what; a bound that rests on tiers which are open themselves says so."""
    given = ", given the open ones above" if unproved.intersection(tier.given) else ""
    if tier.status == "OPTIMAL":
        return f"OPTIMAL by {tier.proved_by}{given}"
    return f"{tier.status}{given}"


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


def _again(evictions: Sequence[Eviction]) -> Iterator[str]:
    """Say that who is evicted waits afterwards: such pods are not among those that are pending."""
    for gone, (one, more) in (False, ("waits again", "wait again")), (True, _FOR_GOOD):
        items = [item for item in evictions if item.for_good is gone]
        pods = sum(item.count for item in items)
        jobs = list(dict.fromkeys(item.job for item in items))
        of = f" of {len(jobs)} jobs" if len(jobs) > 1 else ""
        if pods:
            does = one if pods == 1 else more
            yield f"{plural(pods, 'evicted pod')}{of} {does}: {listed(jobs, 2)}"


_FOR_GOOD = "is gone for good", "are gone for good"


def _cascade(plan: Plan, wide: bool) -> Iterator[Block]:
    """What the victims would do once they are queued again."""
    if plan.cascade is None:
        return
    rows = [
        (str(i), pushed.job, str(pushed.priority), str(pushed.pods), pushed.for_job or "-")
        for i, each in enumerate(plan.cascade.rounds, 1)
        for pushed in each.evicted
    ]
    if rows:
        title = "PUSHED OUT NEXT, if the victims are queued again"
        heads = ("ROUND", "JOB", "PRIORITY", "PODS", "FOR")
        table = Table(title, heads, tuple(rows), frozenset({0, 2, 3}))
        yield from first_rows(table, wide=wide, most=_FEW)
    if not plan.cascade.complete:
        text = "What the victims would do once they are queued again was not followed to its end."
        yield Paragraph(text, "warn")
    elif not rows:
        yield Paragraph("Queued again, the victims would push nobody out.", "dim")


def pending_table(
    unplaced: Sequence[Unplaced], most: int | None, evictions: Sequence[Eviction] = ()
) -> Iterator[Block]:
    """Lay out who waits and why; of many those of a priority with one reason are one row.

    How many pods each is short of is not told of many: the row counts them. A reason that is that
    of the row above is not written out again, unless all is. Below stands who waits again as it is
    evicted.
    """
    groups: dict[tuple[int, str, str], list[Unplaced]] = {}
    for item in sorted(unplaced, key=lambda item: -item.priority):
        turn = "evicts nobody, as others that wait come first; " if item.no_turn else ""
        reason, apart = f"{turn}{item.rule}: {item.message}", item.job
        if most is not None and len(unplaced) > most + 1:
            reason, apart = _SHORT_OF.sub("", reason), ""
        groups.setdefault((item.priority, reason, apart), []).append(item)
    below = [*_again(evictions)]
    shown = list(groups.items())
    rest: list[Unplaced] = []
    if most is not None and len(shown) > most + 1:
        rest = [item for _, items in shown[most:] for item in items]
        shown = shown[:most]
    rows, above = [], ""
    for (priority, reason, _), items in shown:
        told = _SHORT_OF.sub("", reason)
        rows.append(
            (
                listed([item.job for item in items], 1),
                str(priority),
                f"{sum(item.pods for item in items)} of {sum(item.wanted for item in items)}",
                reason.replace(told, "as above") if told == above and most is not None else reason,
            )
        )
        above = told
    if rows:
        yield Table("PENDING", ("JOB", "PRIORITY", "PODS", "WHY"), tuple(rows), frozenset({1}))
    if rest:
        rules = Counter(item.rule for item in rest)
        counts = ", ".join(f"{count} for {rule}" for rule, count in sorted(rules.items()))
        pods = plural(sum(item.pods for item in rest), "pod")
        below.insert(0, f"and {len(rest)} more ({pods}): {counts}")
    if text := "; ".join(filter(None, below)):
        yield Paragraph(text, "dim")


_SHORT_OF = re.compile(r"(; |, )short of \d+( pods?)?$")
"""How reasons of one job to wait end."""
_CUT_SHORT = ("interrupted", "the time limit")
"""How warnings begin that say what ended the search."""


def _schedule(plan: Plan, wide: bool) -> Iterator[Block]:
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
    heads = ("WAVE", "MEMORY", "COPYING", "EARLIEST START")
    yield from first_rows(Table(title, heads, tuple(rows), frozenset({0})), wide=wide)
