"""Squeaky wheel optimization: new jobs placed all anew, in an order that favours who fared ill."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.justify import rightly
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.shares import WHEEL
from kantopt.verify.closeness import CLOSENESS

if TYPE_CHECKING:
    from kantopt.search.engine.desk import Desk

_SPEED = 20_000_000
"""Jobs times nodes that a round looks at in a second, about: for where work is counted."""
_PATIENCE = 40
"""Rounds in vain after which nothing more is expected."""
_HOMELESS = 1 / 4
"""Of the order, how far a job that found no place comes forward."""
_SPREAD = 1 / 10
"""Of the order, how far a job that is spread comes forward at most for each domain too many."""
_MOST_BEYOND = 3


def closer(desk: Desk, deadline: Deadline) -> None:
    """Bring the gangs of the best plan closer together, by other chances each time."""
    if not desk.incumbent.missing:
        desk.looked_at["squeaky-wheel"] = desk.incumbent.values
        seed = desk.budget.seed + desk.before("squeaky-wheel")
        rounds = _rounds(desk.instance, desk.budget.work)
        asked = desk.instance, desk.incumbent.placement, desk.tiers, deadline, desk.judged
        regroup(*asked, seed=seed, rounds=rounds)


def _rounds(instance: Instance, work: float | None) -> float:
    """Return how many rounds there may be where work is counted."""
    if work is None:
        return math.inf
    new = {podset.job for podset in instance.podsets if not podset.running}
    return work * WHEEL * _SPEED / max(1, len(new) * len(instance.nodes))


def regroup(
    instance: Instance,
    placement: Placement,
    tiers: Sequence[Tier],
    deadline: Deadline,
    found: Callable[[Placement], bool],
    *,
    seed: int = 0,
    rounds: float = math.inf,
    news: Callable[[], bool] = lambda: False,
) -> None:
    """Bring gangs closer together that are placed with a plan, in the room that they have.

    Again and again all new jobs are taken off their nodes and placed one by one, the largest pods
    first. Who is spread over more domains than need be, or finds no place, comes earlier the next
    time (Joslin and Clements 1999, J. Artif. Intell. Res. 10). Who is evicted or moves stays as it
    is.

    Parameters
    ----------
    placement
        A legal placement.
    deadline
        When to end; before that the search ends when it has long been in vain.
    found
        Told placements of the same jobs that are closer together; says whether it is legal.
    rounds
        Most times to place them.
    news
        Asked after each time whether somebody else has found a better placement: then this ends.
    """
    closeness = [tiers[i] for i in closeness_tiers(tiers)]
    if closeness:
        _Wheel(instance, placement, closeness, seed).run(deadline, found, rounds, news)


def closeness_tiers(tiers: Sequence[Tier]) -> list[int]:
    """Return which tiers say how far gangs are spread."""
    return [i for i, tier in enumerate(tiers) if tier.metric in CLOSENESS]


class _Wheel:
    def __init__(
        self, instance: Instance, placement: Placement, tiers: Sequence[Tier], seed: int
    ) -> None:
        self._instance, self._tiers = instance, tiers
        self._state = State(instance)
        # E-Binpack brings jobs together that have not asked for it, too.
        asked = all(tier.metric is Metric.DOMAINS_CROSSED for tier in tiers)
        strategy = Strategy.BEST_FIT if asked else Strategy.E_BINPACK
        self._placer = Placer(Scores(self._state, strategy))
        self._preemption = Preemption(self._placer)
        self._rng = random.Random(seed)
        self._pods = {job.index: pods for job in instance.jobs if (pods := _new(placement, job))}
        """Pods of each job that was placed with the plan as a whole."""
        lifted = [s for j in self._pods for s in instance.jobs[j].podsets]
        # From here on it is watched who is gone.
        self._state.go_to(placement.replace({s: {} for s in lifted}))
        self._least = _total(self._beyond(placement))

    def _placed(self, j: int) -> int:
        return sum(self._state.placed[s] for s in self._instance.jobs[j].podsets)

    def _beyond(self, placement: Placement) -> dict[int, tuple[int, ...]]:
        """What each job uses beyond the fewest, by tier."""
        by_tier = [CLOSENESS[t.metric](t, self._instance, placement) for t in self._tiers]
        return {j: tuple(excess[j] for excess in by_tier) for j in self._pods}

    def run(
        self,
        deadline: Deadline,
        found: Callable[[Placement], bool],
        rounds: float,
        news: Callable[[], bool],
    ) -> None:
        """Go on until the time is up, nothing is spread or it has long been in vain."""
        least, idle, done = self._least, 0, 0
        order = sorted(self._pods, key=lambda j: (self._rank(j), -self._pods[j], j))
        while idle < _PATIENCE and done < rounds and any(least) and not deadline.cuts():
            idle, done = idle + 1, done + 1
            mark = self._state.mark()
            homeless = self._place(order, deadline)
            spread = self._beyond(self._state.placement())
            if not homeless and _total(spread) < least:
                after = rightly(self._placer, self._preemption)
                if after is not None and found(after):
                    least, idle = _total(spread), 0
            self._state.undo(mark)
            if news():
                return
            order = self._turned(order, homeless, spread)

    def _rank(self, j: int) -> tuple[int, ...]:
        """What the order keeps to: large pods first, and those that are better off close."""
        podsets = [self._instance.podsets[s] for s in self._instance.jobs[j].podsets]
        largest = max(podset.gpu_milli for podset in podsets)
        size = max(int(self._state.shape[podset.index].demand.sum()) for podset in podsets)
        return (-largest, -size, j not in self._placer.needs)

    def _place(self, order: Sequence[int], deadline: Deadline) -> set[int]:
        """Place all, as far as there is time; return those that have not got all that they had."""
        jobs = self._instance.jobs
        for _, alike in groupby(order, key=lambda j: (jobs[j].priority, jobs[j].may_preempt)):
            several = list(alike)
            with self._preemption.kept.held(several[0]):
                for j in several:
                    if deadline.cuts():
                        break
                    self._placer.place(j)
                    if self._placed(j) < self._pods[j] and self._placed(j):
                        self._placer.place_more(j)
        return {j for j in order if self._placed(j) < self._pods[j]}

    def _turned(
        self, order: Sequence[int], homeless: set[int], spread: dict[int, tuple[int, ...]]
    ) -> list[int]:
        """Return the order for the next time."""
        total = len(order)

        def place(i: int, j: int) -> float:
            if j in homeless:
                return i - total * _HOMELESS
            most = min(_MOST_BEYOND, sum(spread[j])) * total * _SPREAD
            return i - self._rng.uniform(0, most) if most else i

        places = {j: place(i, j) for i, j in enumerate(order)}
        return sorted(order, key=lambda j: (self._rank(j), places[j], j))


def _new(placement: Placement, job: Job) -> int:
    """Pods of a job that are placed, if all of them are new."""
    roles = [(role.running, role.pending) for role in job.roles]
    if any(running is not None and placement.placed(running) for running, _ in roles):
        return 0
    return sum(placement.placed(pending) for _, pending in roles if pending is not None)


def _total(spread: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(map(sum, zip(*spread.values(), strict=True)))
