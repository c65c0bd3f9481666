"""Metrics of how far gangs are spread, by job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.metrics.domains_crossed import domains_crossed
from kantopt.verify.metrics.excess_groups import excess_groups
from kantopt.verify.metrics.excess_nodes import excess_nodes

CLOSENESS: dict[Metric, Callable[[Tier, Instance, Placement], Counter[int]]] = {
    Metric.DOMAINS_CROSSED: domains_crossed,
    Metric.EXCESS_NODES: excess_nodes,
    Metric.EXCESS_GROUPS: excess_groups,
}
"""What each job uses beyond the fewest regions that could hold it, by its index."""
