"""The metrics, one file each, and the ways to apply them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.kept import PER_TIER, kept_with_instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.metrics.allocation import bound_allocation, measure_allocation
from kantopt.verify.metrics.balance import bound_balance, measure_balance
from kantopt.verify.metrics.changes_to_plan import (
    bound_changes_to_plan,
    measure_changes_to_plan,
)
from kantopt.verify.metrics.cost import bound_cost, measure_cost
from kantopt.verify.metrics.displaced import bound_displaced, measure_displaced
from kantopt.verify.metrics.disruption_cost import (
    bound_disruption_cost,
    measure_disruption_cost,
)
from kantopt.verify.metrics.domains_crossed import (
    bound_domains_crossed,
    measure_domains_crossed,
)
from kantopt.verify.metrics.domains_in_use import bound_domains_in_use, measure_domains_in_use
from kantopt.verify.metrics.energy import bound_energy, measure_energy
from kantopt.verify.metrics.evictions import bound_evictions, measure_evictions
from kantopt.verify.metrics.excess_groups import bound_excess_groups, measure_excess_groups
from kantopt.verify.metrics.excess_nodes import bound_excess_nodes, measure_excess_nodes
from kantopt.verify.metrics.fair_share import bound_fair_share, measure_fair_share
from kantopt.verify.metrics.fragment_rate import bound_fragment_rate, measure_fragment_rate
from kantopt.verify.metrics.fragmented_nodes import (
    bound_fragmented_nodes,
    measure_fragmented_nodes,
)
from kantopt.verify.metrics.lost_gpu_seconds import (
    bound_lost_gpu_seconds,
    measure_lost_gpu_seconds,
)
from kantopt.verify.metrics.migration_cost import (
    bound_migration_cost,
    measure_migration_cost,
)
from kantopt.verify.metrics.moves import bound_moves, measure_moves
from kantopt.verify.metrics.nodes_in_use import bound_nodes_in_use, measure_nodes_in_use
from kantopt.verify.metrics.preferences import bound_preferences, measure_preferences
from kantopt.verify.metrics.stranded_gpus import bound_stranded_gpus, measure_stranded_gpus
from kantopt.verify.metrics.undrained import bound_undrained, measure_undrained
from kantopt.verify.metrics.unplaced import bound_unplaced, measure_unplaced
from kantopt.verify.metrics.waiting import bound_waiting, measure_waiting
from kantopt.verify.step import Step

Above = Mapping[Tier, int]
"""Most that the metrics of the tiers above are measured at: plans that are worse in one of them
need not be considered."""

_METRICS: dict[Metric, tuple[Callable[[Tier, Step], int], Callable[[Tier, Instance, Above], int]]]
_METRICS = {
    Metric.UNPLACED: (measure_unplaced, bound_unplaced),
    Metric.DISPLACED: (measure_displaced, bound_displaced),
    Metric.EVICTIONS: (measure_evictions, bound_evictions),
    Metric.LOST_GPU_SECONDS: (measure_lost_gpu_seconds, bound_lost_gpu_seconds),
    Metric.MOVES: (measure_moves, bound_moves),
    Metric.DISRUPTION_COST: (measure_disruption_cost, bound_disruption_cost),
    Metric.DOMAINS_CROSSED: (measure_domains_crossed, bound_domains_crossed),
    Metric.FRAGMENTED_NODES: (measure_fragmented_nodes, bound_fragmented_nodes),
    Metric.STRANDED_GPUS: (measure_stranded_gpus, bound_stranded_gpus),
    Metric.NODES_IN_USE: (measure_nodes_in_use, bound_nodes_in_use),
    Metric.ALLOCATION: (measure_allocation, bound_allocation),
    Metric.EXCESS_NODES: (measure_excess_nodes, bound_excess_nodes),
    Metric.EXCESS_GROUPS: (measure_excess_groups, bound_excess_groups),
    Metric.WAITING: (measure_waiting, bound_waiting),
    Metric.FRAGMENT_RATE: (measure_fragment_rate, bound_fragment_rate),
    Metric.DOMAINS_IN_USE: (measure_domains_in_use, bound_domains_in_use),
    Metric.UNDRAINED: (measure_undrained, bound_undrained),
    Metric.PREFERENCES: (measure_preferences, bound_preferences),
    Metric.COST: (measure_cost, bound_cost),
    Metric.ENERGY: (measure_energy, bound_energy),
    Metric.BALANCE: (measure_balance, bound_balance),
    Metric.MIGRATION_COST: (measure_migration_cost, bound_migration_cost),
    Metric.FAIR_SHARE: (measure_fair_share, bound_fair_share),
    Metric.CHANGES_TO_PLAN: (measure_changes_to_plan, bound_changes_to_plan),
}
MEASURES = {metric: measured for metric, (measured, _) in _METRICS.items()}
_BOUNDS = {metric: bounded for metric, (_, bounded) in _METRICS.items()}


def measure(instance: Instance, placement: Placement, tiers: Sequence[Tier]) -> tuple[int, ...]:
    """Return the value of each tier for going from the snapshot's placement to another.

    That is what its metric is measured at; of a tier with a target, what that is above it.
    """
    return measure_step(Step(instance, instance.current, placement), tiers)


def measure_step(step: Step, tiers: Sequence[Tier]) -> tuple[int, ...]:
    """Return the value of each tier for a step from the snapshot's placement."""
    return tuple(tier.above_target(MEASURES[tier.metric](tier, step)) for tier in tiers)


MOST_ABOVE, NEAREST = 256, 4
"""Tiers above one that its bound looks at: all of them or, where there are more, the nearest.

Of a thousand priorities each would be weighed against all above it, over and over.
"""


def bound_of(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return a number below which no legal plan can go in a tier, by arithmetic alone.

    It holds for plans that are no worse than the values ``above`` in the tiers above; nothing is
    taken for granted of tiers that are not among them, or of more than :data:`MOST_ABOVE` of them
    but for the nearest.
    """
    # A formula may say more if it takes nothing for granted; that holds here as well.
    bound = _bound_alone(tier, instance)
    if above:
        if len(above) > MOST_ABOVE:
            above = dict(list(above.items())[-NEAREST:])
        most = {other: other.most(value) for other, value in above.items()}
        bound = max(bound, _BOUNDS[tier.metric](tier, instance, most))
    return tier.above_target(bound)


@kept_with_instance(most=PER_TIER)
def _bound_alone(tier: Tier, instance: Instance) -> int:
    """Bound what a tier's metric is measured at in any plan whatsoever."""
    return _BOUNDS[tier.metric](tier, instance, {})


def words_of(tier: Tier) -> str:
    """Say what the arithmetic of a tier's bound counts: the first words of its formula."""
    return (_BOUNDS[tier.metric].__doc__ or "").strip().partition("\n")[0]


def bounds(instance: Instance, tiers: Sequence[Tier], values: Sequence[int]) -> tuple[int, ...]:
    """Return the bound of each tier for plans that are no worse than ``values`` above it."""
    return tuple(
        bound_of(tier, instance, values_above(tiers, values, i)) for i, tier in enumerate(tiers)
    )


def values_above(tiers: Sequence[Tier], values: Sequence[int], i: int) -> dict[Tier, int]:
    """Return those of the values above a tier that :func:`bound_of` looks at."""
    first = max(0, i - NEAREST) if i > MOST_ABOVE else 0
    return dict(zip(tiers[first:i], values[first:i], strict=True))
