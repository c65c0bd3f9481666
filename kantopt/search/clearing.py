"""Room for jobs that others must move for: lesser pods leave the rooms that those can move to."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.search.preempt import Preemption


def clear_for(
    preemption: Preemption, jobs: Sequence[int], place: Callable[[int], bool]
) -> list[int]:
    """Place jobs of one priority while all lesser pods are gone; those that still fit come back.

    For one job after the other room is made by evictions, or by moves into free room. This finds
    what takes both: pods that move into room that lesser ones had.

    Parameters
    ----------
    jobs
        Jobs that did not fit; those that may not evict anybody are left out.
    place
        Places a job, moving others if need be, or leaves no trace.

    Returns
    -------
    list of int
        The jobs that were placed; if there are none, nothing has changed.
    """
    state, victims = preemption.state, preemption.victims
    asking = [j for j in jobs if state.instance.jobs[j].may_preempt]
    lesser = set(victims.priorities_below(state.instance.jobs[jobs[0]].priority))
    mark, seen = state.mark(), len(state.touched)
    if not asking or not lesser:
        return []
    for n in range(state.size):
        for level, s, spot in victims.on_node(n):
            if level in lesser:
                victims.evict(s, spot)
    if state.mark() == mark:
        return []
    placed = [j for j in asking if place(j)]
    if placed and preemption.put_back.settles(seen):
        return placed
    state.undo(mark)
    return []
