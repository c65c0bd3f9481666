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

    Each pod set is looked at by itself, as if its pods could lie anywhere: what the cluster and
    the quota have room for of it, divided by what a copy needs.
    """
    found = []
    for need in copies.needs:
        if not need.pods:
            continue
        # A copy of one pod, wherever: so many more are asked about that the bound says it all.
        loose = {"count": 1, "min_count": 1, "topology_request": None}
        podsets = (need.pod_set.model_copy(update=loose),)
        update = {"pod_sets": podsets, "min_count": None, "topology_request": None}
        single = Copies(copies.question, copies.model, copies.job.model_copy(update=update))
        amounts = single.asked(single.counted(1), None).podsets[-1].demand
        form = single.counted(min(MOST_PODS, _MOST_AMOUNT // max(amounts)))
        instance = single.asked(form, None)
        bound = bound_of(*unplaced_tier(instance), instance, {})
        found.append(form.copies_at(instance, bound) // need.pods)
    return min(found, default=MOST_PODS)
