"""What a plan gains, goal by goal, and per disturbed pod."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kantopt.report.blocks import Block, Style, Table
from kantopt.report.units import in_unit, thousandths, unit_name
from kantopt.schema.answers.plan import Goal, Plan, Tier
from kantopt.schema.hints import plural


def goals_table(plan: Plan) -> Iterator[Block]:
    """Lay out the goals of a plan: before, after, wanted, gain per pod, reached or missed."""
    if not plan.goals:
        return
    tiers = {tier.name: tier for tier in plan.objectives}
    targeted = {goal.objective for goal in plan.goals if goal.goal is not None}
    pods = plan.summary.moved_pods + plan.summary.evicted_pods
    rows, styles = [], []
    for goal in goals_shown(plan):
        text, style = _outcome(goal, tiers[goal.objective], targeted)
        numbers = [in_unit(goal.before, goal.unit), in_unit(goal.after, goal.unit)]
        rows.append((goal.text, *numbers, _wanted(goal), _per_pod(goal, pods), text))
        styles.append(style)
    title = "GOALS, most important first"
    if pods:
        title += f"; gained per pod of the {plural(pods, 'pod')} disturbed"
    yield Table(
        title,
        ("GOAL", "BEFORE", "AFTER", "WANTED", "PER POD", "OUTCOME"),
        tuple(rows),
        frozenset({1, 2, 3, 4}),
        tuple(styles),
    )


def goals_shown(plan: Plan) -> tuple[Goal, ...]:
    """Return the goals that say something, or all if none does."""
    tiers = {tier.name: tier for tier in plan.objectives}
    return tuple(goal for goal in plan.goals if not _idle(goal, tiers)) or plan.goals


def _idle(goal: Goal, tiers: Mapping[str, Tier]) -> bool:
    """Whether a goal says nothing: ``fit`` has one for every priority that there is."""
    return (
        tiers[goal.objective].metric == "unplaced" and goal.before == goal.after == goal.goal == 0
    )


def _wanted(goal: Goal) -> str:
    if goal.goal is None:
        return "most" if goal.more_is_better else "least"
    return in_unit(max(0, goal.goal), goal.unit)


def _per_pod(goal: Goal, pods: int) -> str:
    if not pods:
        return "-"
    # Thousandths of what people count in.
    of_ours = {"milli-GPU": 1, "milliwatts": 1, "milli-nodes": 1, "micro-units": 1000}.get(
        goal.unit
    )
    scaled = 1000 * goal.gain if of_ours is None else goal.gain / of_ours
    return thousandths(round(scaled / pods))


def _outcome(goal: Goal, tier: Tier, targeted: set[str]) -> tuple[str, Style]:
    """Say whether a goal is reached, by how much it is missed, and what is proved of that."""
    if goal.missed_by is None:
        if tier.status == "OPTIMAL":
            return "as far as possible, proved", "good"
        return "as far as found; more is not ruled out", "warn"
    if not goal.missed_by:
        return "reached", "good"
    number = in_unit(goal.missed_by, goal.unit)
    name = unit_name(goal.unit, number)
    missed = f"missed by {number}" + ("" if name == "other" else f" {name}")
    if goal.beyond or (tier.bound and targeted.issuperset(tier.given)):
        closest = ", and none comes closer" if tier.status == "OPTIMAL" else ""
        return f"{missed}; provably no plan reaches it{closest}", "bad"
    return f"{missed}; not ruled out", "bad"
