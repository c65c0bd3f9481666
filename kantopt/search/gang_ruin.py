"""Ruin (Schrimpf et al. 2000): a few new gangs leave a plan, and who made way comes back."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.homecoming import directly_home
from kantopt.search.insertion.zones import placer_of
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import is_legal


def new_gangs(instance: Instance, placement: Placement) -> list[int]:
    """Return gangs of several pods that have a place, all of it new."""
    return [
        job.index
        for job in instance.jobs
        if job.is_gang and job.count > 1 and not instance.running_of(job.index)
        if any(map(placement.placed, job.podsets))
    ]


def ruined(instance: Instance, placement: Placement, gangs: list[int]) -> Placement | None:
    """Return what is left of a placement without some of its new gangs; ``None`` if not legal.

    So it is where somebody who has moved is in the place of a victim, who then has no reason to be
    gone.
    """
    state = State(instance)
    preemption = Preemption(placer_of(state, Strategy.BEST_FIT, lambda: False))
    state.go_to(placement)
    mark = state.mark()
    for j in gangs:
        for s in instance.jobs[j].podsets:
            for spot, pods in sorted(state.spots[s].items()):
                state.add(s, spot, -pods)
    directly_home(state)
    preemption.put_back.reprieve({spot.node for _, spot, _ in state.journal[mark:]})
    left = state.placement()
    return left if is_legal(instance, left) else None
