"""Ruin and recreate (Schrimpf et al. 2000): a few new gangs leave a plan, others come before them.

Who made way for one that leaves comes back.
"""

from __future__ import annotations

import random
from collections.abc import Callable

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.construct import How
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.homecoming import directly_home
from kantopt.search.insertion.zones import placer_of
from kantopt.search.offer import offer_constructed, squeaky, who_is_open
from kantopt.search.preemption.justify import drop
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.schedule import RUIN_AND_RECREATE
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import is_legal

_PATIENCE, _PATIENCE_BY_GANG, _MOST_IN_VAIN = 100, 8, 100_000_000
"""Times in vain after which gangs are not recreated any more, at most, for each of them, and times
pods and nodes."""
_UNCOUNTED, _WORK_PER_SECOND = 2**60, 100_000
"""Times, and those of a deterministic run for each second, times pods and nodes."""
_MOST_RUINED = 8
"""Gangs that leave at once."""
_LEFT_OUT_FIRST, _FIRST = 0.2, 0.6
"""How often one that was left out comes as well then, and how often one comes first."""
_MOST_THOROUGH = 100_000
"""Pod sets times nodes up to which each construction is thorough."""


def recreate_gangs(
    best: Incumbent,
    deadline: Deadline,
    strategy: Strategy,
    *,
    seed: int,
    look: Callable[[], bool],
) -> bool:
    """Construct again and again without a few of the new gangs, until that is long in vain.

    Each gang takes the nodes that harm least beside those before it; beside others, who have come
    since, these are others. Mostly one of them comes first, now and then one that was left out. Who
    is less important than all of these is not looked at. A deterministic run counts its rounds.
    Returns whether anything came of it.
    """
    begin = best.placement
    instance, rng, vain, rounds = best.searched, random.Random(seed), 0, _UNCOUNTED
    work = instance.pods_of(range(len(instance.podsets))) * len(instance.nodes)
    most = min(_PATIENCE, _MOST_IN_VAIN // max(1, work))
    if deadline.deterministic:
        rounds = int((deadline.asked or 10.0) * _WORK_PER_SECOND) // max(1, work)
    small = len(instance.podsets) * len(instance.nodes) <= _MOST_THOROUGH
    while rounds and who_is_open(best) and not deadline.cuts():
        gangs = new_gangs(instance, best.placement)
        if vain >= min(most, _PATIENCE_BY_GANG * len(gangs)):
            break
        gone = rng.sample(gangs, min(len(gangs), rng.randint(1, _MOST_RUINED)))
        left_out = sorted(squeaky(best)) if rng.random() < _LEFT_OUT_FIRST else []
        first = [rng.choice(left_out or gone)] if left_out or rng.random() < _FIRST else []
        start = without_gangs(instance, best.placement, gone)
        better = start is not None and offer_constructed(
            best,
            deadline,
            How(
                strategy,
                seed=rng.randrange(1, 100),
                largest_first=rng.random() < 0.5,
                first=first,
                start=start,
                least_priority=min(instance.jobs[j].priority for j in (*gone, *first)),
                thorough=small,
            ),
            by=RUIN_AND_RECREATE.name,
        )
        vain = 0 if better else vain + 1
        rounds -= 1
        look()
    return best.placement is not begin


def new_gangs(instance: Instance, placement: Placement) -> list[int]:
    """Return gangs of several pods that have a place, all of it new."""
    return [
        job.index
        for job in instance.jobs
        if job.is_gang and job.count > 1 and not instance.running_of(job.index)
        if any(map(placement.placed, job.podsets))
    ]


def without_gangs(instance: Instance, placement: Placement, gangs: list[int]) -> Placement | None:
    """Return what is left of a placement without some of its new gangs; ``None`` if not legal.

    So it is where somebody who has moved is in the place of a victim, who then has no reason to be
    gone.
    """
    state = State(instance)
    preemption = Preemption(placer_of(state, Strategy.BEST_FIT, lambda: False))
    state.go_to(placement)
    mark = state.mark()
    for j in gangs:
        drop(state, j)
    directly_home(state)
    preemption.put_back.reprieve({spot.node for _, spot, _ in state.journal[mark:]})
    left = state.placement()
    return left if is_legal(instance, left) else None
