"""Regions that gangs use already beyond the fewest, with pods that cannot move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kantopt.cp.relaxed.kinds import may_move
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet, TopologyNeed
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.verify.metrics.domains_crossed import fewest_for_need
from kantopt.verify.metrics.excess_groups import fewest_groups
from kantopt.verify.metrics.excess_nodes import fewest_nodes

CLOSENESS = (Metric.DOMAINS_CROSSED, Metric.EXCESS_NODES, Metric.EXCESS_GROUPS)
"""Metrics of how far gangs are spread."""


def standing_excess(instance: Instance, tiers: Sequence[Tier]) -> dict[int, tuple[int, ...]]:
    """Return for jobs with pods that cannot move what these use beyond the fewest regions.

    One entry for each of some tiers about closeness; jobs with nothing beyond are left out.
    """
    stuck: dict[int, list[PodSet]] = {}
    for podset in instance.podsets if tiers else ():
        if podset.running and not may_move(instance, podset):
            stuck.setdefault(podset.job, []).append(podset)
    needs: dict[int, list[TopologyNeed]] = {}
    for need in instance.topology_needs:
        needs.setdefault(need.job, []).append(need)
    found = {}
    for j, podsets in stuck.items():
        excess = tuple(_excess(instance, tier, j, podsets, needs.get(j, ())) for tier in tiers)
        if any(excess):
            found[j] = excess
    return found


def _excess(
    instance: Instance,
    tier: Tier,
    j: int,
    podsets: Sequence[PodSet],
    needs: Iterable[TopologyNeed],
) -> int:
    job, beyond = instance.jobs[j], 0
    if tier.metric is Metric.DOMAINS_CROSSED:
        for need in needs:
            if need.preferred is not None:
                domain_of = instance.topology.domain_of[need.preferred]
                concerned = [podset for podset in podsets if podset.role in need.roles]
                used = {domain_of[spot.node] for podset in concerned for spot in podset.current}
                if len(used) > 1:
                    beyond += max(0, len(used) - fewest_for_need(instance, need))
        return beyond
    if not job.is_gang:
        return 0
    nodes = {spot.node for podset in podsets for spot in podset.current}
    if tier.metric is Metric.EXCESS_NODES:
        return max(0, len(nodes) - fewest_nodes(instance, job)) if len(nodes) > 1 else 0
    if tier.level is None:
        return 0
    groups = {instance.topology.domain_of[tier.level][n] for n in nodes}
    if len(groups) < 2:  # one is never over the fewest
        return 0
    return max(0, len(groups) - fewest_groups(instance, job, tier.level))
