"""M24 changes_to_plan."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.placement import Spots
from kantopt.problem.tiers import Tier
from kantopt.problem.wanted import by_node, wanted_of
from kantopt.verify.bounds.departures import fewest_departures, most_evictions, most_moves
from kantopt.verify.step import Step


def measure_changes_to_plan(tier: Tier, step: Step) -> int:
    """Pods that are not where the last plan, as far as it can still be done, wants them."""
    return sum(
        _changes(podset, spots)
        for podset, spots in zip(step.instance.podsets, step.after.podsets, strict=True)
        if podset.wanted is not None or (podset.running and spots is not podset.current)
    )


def _changes(podset: PodSet, spots: Spots) -> int:
    wanted, found = wanted_of(podset), by_node(spots)
    missed = sum(max(0, pods - found.get(n, 0)) for n, pods in wanted.items())
    if not podset.running:
        return missed
    # Those that were to be evicted and are not.
    return missed + max(0, sum(found.values()) - sum(wanted.values()))


def bound_changes_to_plan(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Pods that the last plan takes off their nodes beyond those that may leave, or the reverse.

    The reverse: pods that must leave nodes or domains to empty as many as the tiers above ask for,
    beyond those that the last plan takes off theirs.
    """
    leave = 0
    for podset in instance.podsets:
        if podset.running and podset.wanted is not None:
            wanted = podset.wanted
            leave += sum(
                max(0, pods - wanted.get(n, 0)) for n, pods in by_node(podset.current).items()
            )
    most = most_moves(instance, above) + most_evictions(instance, above)
    return max(0, leave - most, fewest_departures(instance, above) - leave)
