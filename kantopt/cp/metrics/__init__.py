"""The metrics as expressions, one file each under the names of ``kantopt.verify.metrics``.

An expression is never below the metric, and can be equal to it in every placement: enough to
minimise and to lock.
"""

from __future__ import annotations

from collections.abc import Callable

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.metrics.allocation import allocation_expr
from kantopt.cp.metrics.balance import balance_expr
from kantopt.cp.metrics.changes_to_plan import changes_to_plan_expr
from kantopt.cp.metrics.cost import cost_expr
from kantopt.cp.metrics.displaced import displaced_expr
from kantopt.cp.metrics.disruption_cost import disruption_cost_expr
from kantopt.cp.metrics.domains_crossed import domains_crossed_expr
from kantopt.cp.metrics.domains_in_use import domains_in_use_expr
from kantopt.cp.metrics.energy import energy_expr
from kantopt.cp.metrics.evictions import evictions_expr
from kantopt.cp.metrics.excess_groups import excess_groups_expr
from kantopt.cp.metrics.excess_nodes import excess_nodes_expr
from kantopt.cp.metrics.fair_share import fair_share_expr
from kantopt.cp.metrics.fragment_rate import fragment_rate_expr
from kantopt.cp.metrics.fragmented_nodes import fragmented_nodes_expr
from kantopt.cp.metrics.lost_gpu_seconds import lost_gpu_seconds_expr
from kantopt.cp.metrics.migration_cost import migration_cost_expr
from kantopt.cp.metrics.moves import moves_expr
from kantopt.cp.metrics.nodes_in_use import nodes_in_use_expr
from kantopt.cp.metrics.preferences import preferences_expr
from kantopt.cp.metrics.stranded_gpus import stranded_gpus_expr
from kantopt.cp.metrics.undrained import undrained_expr
from kantopt.cp.metrics.unplaced import unplaced_expr
from kantopt.cp.metrics.waiting import waiting_expr
from kantopt.cp.variables import Variables
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric

MOST = 2**50
"""Most that any metric of a tier with a target may be above it."""

EXPRESSIONS: dict[Metric, Callable[[Variables, Tier], LinearExprT]] = {
    Metric.UNPLACED: unplaced_expr,
    Metric.DISPLACED: displaced_expr,
    Metric.EVICTIONS: evictions_expr,
    Metric.LOST_GPU_SECONDS: lost_gpu_seconds_expr,
    Metric.MOVES: moves_expr,
    Metric.DISRUPTION_COST: disruption_cost_expr,
    Metric.DOMAINS_CROSSED: domains_crossed_expr,
    Metric.FRAGMENTED_NODES: fragmented_nodes_expr,
    Metric.STRANDED_GPUS: stranded_gpus_expr,
    Metric.NODES_IN_USE: nodes_in_use_expr,
    Metric.ALLOCATION: allocation_expr,
    Metric.EXCESS_NODES: excess_nodes_expr,
    Metric.EXCESS_GROUPS: excess_groups_expr,
    Metric.WAITING: waiting_expr,
    Metric.FRAGMENT_RATE: fragment_rate_expr,
    Metric.DOMAINS_IN_USE: domains_in_use_expr,
    Metric.UNDRAINED: undrained_expr,
    Metric.PREFERENCES: preferences_expr,
    Metric.COST: cost_expr,
    Metric.ENERGY: energy_expr,
    Metric.BALANCE: balance_expr,
    Metric.MIGRATION_COST: migration_cost_expr,
    Metric.FAIR_SHARE: fair_share_expr,
    Metric.CHANGES_TO_PLAN: changes_to_plan_expr,
}


def tier_expr(m: Variables, tier: Tier) -> LinearExprT:
    """Value of a tier: the expression of its metric, or what that is above the tier's target."""
    expr = EXPRESSIONS[tier.metric](m, tier)
    return m.at_least(("over", tier), expr - tier.most(0), MOST) if tier.target else expr
