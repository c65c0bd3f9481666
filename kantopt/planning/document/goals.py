"""What a plan gains: its goals in numbers that an operator counts by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from kantopt.problem.counted import counted, counted_domains
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.restricted import ANY_GPU, PER_UNIT
from kantopt.problem.tiers import DISTURBING, Tier, tiers_of
from kantopt.schema.answers.plan import Goal, GoalUnit, Plan
from kantopt.schema.answers.plan import Tier as Row
from kantopt.schema.model import Metric
from kantopt.schema.quantity import from_base
from kantopt.verify.metrics import MEASURES
from kantopt.verify.metrics.fragment_rate import ideal_slots
from kantopt.verify.step import Step

_TIDY = (
    Metric.FRAGMENTED_NODES,
    Metric.STRANDED_GPUS,
    Metric.NODES_IN_USE,
    Metric.FRAGMENT_RATE,
    Metric.DOMAINS_IN_USE,
    Metric.UNDRAINED,
    Metric.COST,
    Metric.ENERGY,
    Metric.BALANCE,
)
"""Metrics that pods are moved for where they come before the moves."""


def goal_rows(instance: Instance, placement: Placement) -> tuple[Goal, ...]:
    """Return a row per goal: objectives with a target, and what comes before the first moves."""
    before = Step(instance, instance.current, instance.current)
    after = Step(instance, instance.current, placement)
    return tuple(_row(tier, before, after) for tier in goal_tiers(tiers_of(instance)))


def goal_tiers(tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """Tiers that pods are disturbed for: not for domains where there is no level."""
    disturbing = (i for i, tier in enumerate(tiers) if tier.metric in DISTURBING)
    first = next(disturbing, 0)
    return tuple(
        tier
        for i, tier in enumerate(tiers)
        if (tier.target is not None or (i < first and tier.metric in _TIDY))
        and not (tier.metric is Metric.DOMAINS_IN_USE and tier.level is None)
    )


def impossible(plan: Plan) -> tuple[str, ...]:
    """Names of the goals that provably no plan reaches together with the goals before them."""
    targeted = {goal.objective for goal in plan.goals if goal.goal is not None}
    beyond = {goal.objective for goal in plan.goals if goal.beyond}
    return tuple(
        tier.name
        for tier in plan.objectives
        if tier.name in beyond
        or (tier.name in targeted and tier.bound and targeted.issuperset(tier.given))
    )


def benefit(plan: Plan) -> Fraction:
    """What all goals gain together: nodes, domains, slots, GPUs, jobs, units of price, watts.

    What is beyond the number that is wanted is no gain.
    """
    return sum((_gained(tier, tier.value) for tier in _tiers(plan)), Fraction(0))


def most_benefit(plan: Plan) -> Fraction | None:
    """Most that any plan of the question gains, as far as a plan proves one; ``None``: unknown."""
    found = Fraction(0)
    for tier in _tiers(plan):
        if tier.bound is None or tier.given:
            return None
        found += _gained(tier, tier.bound)
    return found


def _tiers(plan: Plan) -> Iterator[Row]:
    """Objectives that are goals."""
    goals = {goal.objective for goal in plan.goals}
    return (tier for tier in plan.objectives if tier.name in goals)


def _gained(tier: Row, value: int) -> Fraction:
    return Fraction(tier.before - value, PER_UNIT.get(tier.unit, 1) * (tier.mix_weight or 1))


def disturbed(plan: Plan) -> int:
    """Pods that a plan moves or evicts."""
    return plan.summary.moved_pods + plan.summary.evicted_pods


def _row(tier: Tier, before: Step, after: Step) -> Goal:
    instance = after.instance
    was, now = MEASURES[tier.metric](tier, before), MEASURES[tier.metric](tier, after)
    over = tier.above_target(now)
    text, goal = tier.metric.value.replace("_", " "), tier.target
    unit: GoalUnit = "other"
    most: tuple[int, int] | None = None
    """Where more is better: what the metric counts down from, before and after."""
    match tier.metric:
        case Metric.NODES_IN_USE:
            nodes = len(counted(instance, tier))
            text, unit, most = "empty nodes", "nodes", (nodes, nodes)
        case Metric.DOMAINS_IN_USE:
            assert tier.level is not None, "a goal of domains has a level"
            level = instance.topology.levels[tier.level]
            domains = len(counted_domains(instance, tier))
            text, unit, most = f"empty domains of {level}", "domains", (domains, domains)
        case Metric.FRAGMENT_RATE:
            text, unit = _slots(tier, instance), "slots"
            most = (ideal_slots(tier, before), ideal_slots(tier, after))
        case Metric.UNPLACED:
            scope = "" if tier.priority is None else f" of priority {tier.priority}"
            text, unit = f"jobs without their pods{scope}", "jobs" if tier.unit == "jobs" else unit
        case Metric.UNDRAINED:
            text, unit = "pods on nodes to be emptied", "pods"
        case Metric.COST:
            text, unit = "price of nodes in use", "micro-units"
        case Metric.ENERGY:
            text, unit = "power of nodes in use", "milliwatts"
        case Metric.BALANCE:
            text, unit = f"nodes' worth of {tier.scope}", "milli-nodes"
        case Metric.FRAGMENTED_NODES:
            text, unit = "GPU nodes partly used", "nodes"
        case Metric.STRANDED_GPUS:
            text, unit = "stranded GPUs", "milli-GPU"
            weight = sum(shape.weight for shape in tier.mix) or 1
            was, now = (2 * was + weight) // (2 * weight), (2 * now + weight) // (2 * weight)
            over, goal = -(-over // weight), None if goal is None else goal // weight
    if restricted := ", ".join(filter(None, (tier.selector, _class_named(tier)))):
        text = f"{text} ({restricted})"
    if most is not None:
        goal = None if goal is None else most[1] - goal + tier.beyond
        was, now = most[0] - was, most[1] - now
    return Goal(
        objective=tier.name,
        text=text,
        unit=unit,
        more_is_better=most is not None,
        before=was,
        after=now,
        goal=goal,
        missed_by=None if goal is None else over + tier.beyond,
        beyond=tier.beyond,
    )


def _class_named(tier: Tier) -> str:
    """Class of the nodes that a goal counts, where it is not the one that counts anyhow."""
    return "" if tier.offers in ("", ANY_GPU) else f"with {tier.offers}"


def _slots(tier: Tier, instance: Instance) -> str:
    assert tier.resource is not None
    resource = instance.resources[tier.resource]
    size = f"{from_base(resource, tier.size)} {resource}"
    return f"free slots of {size} per {tier.device_class or 'node'}"
