"""Pods that restart together: of a job that goes as a whole, as soon as one of them moves."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement, Spots


def restarted(instance: Instance, before: Placement, after: Placement) -> frozenset[int]:
    """Return the running pod sets of jobs that go together and of which some pod moves.

    All of their pods leave, and all of them arrive: those that end where they were as well.
    """
    found: set[int] = set()
    for j in instance.together:
        running = instance.running_of(j)
        if any(_moves(before.podsets[s], after.podsets[s]) for s in running):
            found.update(running)
    return frozenset(found)


def _moves(old: Spots, new: Spots) -> bool:
    """Whether pods leave a spot and arrive at another."""
    if new is old:
        return False
    comes = any(pods > old.get(spot, 0) for spot, pods in new.items())
    return comes and any(pods > new.get(spot, 0) for spot, pods in old.items())
