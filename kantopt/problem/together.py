"""Pods that restart together: of a job that goes as a whole, as soon as one of them moves."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement, Spots


def restarted(instance: Instance, before: Placement, after: Placement) -> frozenset[int]:
    """Return the running pod sets of jobs that go together and of which some pod moves.

    All of their pods leave, and all of them arrive: those that end where they were as well.
    """
    found: set[int] = set()
    both = zip(before.podsets, after.podsets, strict=True)
    moving = {instance.podsets[s].job for s, (old, new) in enumerate(both) if new is not old}
    for j in moving.intersection(instance.together):
        running = instance.running_of(j)
        changed = [s for s in running if after.podsets[s] is not before.podsets[s]]
        if any(_moves(before.podsets[s], after.podsets[s]) for s in changed):
            found.update(running)
    return frozenset(found)


def _moves(old: Spots, new: Spots) -> bool:
    """Whether pods leave a spot and arrive at another."""
    comes = any(pods > old.get(spot, 0) for spot, pods in new.items())
    return comes and any(pods > new.get(spot, 0) for spot, pods in old.items())
