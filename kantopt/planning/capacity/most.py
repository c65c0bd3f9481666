"""How many copies to ask about: no more can fit, by arithmetic over nodes and resources."""

from __future__ import annotations

from kantopt.planning.capacity.copies import Copies, unplaced_tier
from kantopt.verify.metrics import bound_of

MOST_PODS = 1_000_000
"""Pods that are asked about at most, where nothing that they ask for is scarce."""

_MOST_AMOUNT = 2**60
"""Of any resource that all copies ask for together: sums must stay below 2^62."""


def most_copies(copies: Copies) -> int:
    """Return a number of copies that no plan without evictions exceeds; at most a million pods.

    Copies that are no one pod set are looked at pod set by pod set, as if its pods could lie
    anywhere: what the cluster and the quota have room for of it, divided by what a copy needs.
    """
    if copies.pods:
        return _most(copies)
    found = []
    for need in copies.needs:
        if need.pods:
            loose = {"count": 1, "min_count": 1, "topology_request": None}
            podsets = (need.pod_set.model_copy(update=loose),)
            update = {"pod_sets": podsets, "min_count": None, "topology_request": None}
            alone = Copies(copies.question, copies.model, copies.job.model_copy(update=update))
            found.append(_most(alone) // need.pods)
    return min(found, default=MOST_PODS)


def _most(copies: Copies) -> int:
    """Ask about more than can fit, so that the bound says how many do."""
    demand = copies.asked(copies.counted(1), None).podsets[-1].demand
    pods = min(MOST_PODS, _MOST_AMOUNT // max(demand))
    form = copies.counted(pods // copies.pods)
    instance = copies.asked(form, None)
    return form.copies_at(instance, bound_of(*unplaced_tier(instance), instance, {}))
