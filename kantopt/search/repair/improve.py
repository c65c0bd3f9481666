"""Iterated greedy (Ruiz and Stuetzle 2007): the best changes per move, others for the last ones."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.repair.board import Board, restless
from kantopt.search.repair.fit import Fit
from kantopt.search.repair.greedy import Greedy

NOISES = (0.1, 0.3, 0.6)
KEPT = (0.0, 0.9)
"""Share of the changes that stay when the others are undone, to draw from."""
_DISTURBED = (
    Metric.LOST_GPU_SECONDS,
    Metric.MOVES,
    Metric.MIGRATION_COST,
    Metric.DISRUPTION_COST,
)
_TURNS = 3
"""Of a deterministic run."""
_NO_LIMIT = 2**60


def improve(
    best: Incumbent,
    deadline: Deadline,
    seed: int = 0,
    *,
    patience: int | None = None,
    news: Callable[[], Placement | None] = lambda: None,
) -> None:
    """Move pods so that others which wait find room, with few moves, until the time is up.

    Serves the tiers of what is unplaced that come before any tier of disruption, in their order.
    Nobody is evicted. Pods move one by one: into free room, in the place of another pod that does,
    or in exchange with one; those of gangs and of devices as well, as long as their place matters
    to no other pod. Only pods that count by themselves are bound.

    Parameters
    ----------
    best
        Where to begin; takes each improvement.
    deadline
        When to be done; a deterministic one makes the work depend on the question alone.
    patience
        Turns without improvement after which to give up; ``None``: go on.
    news
        Asked after each turn for a better placement, judged, that someone else has found.
    """
    if promising(best.instance, best.placement, best.tiers):
        _Run(best, deadline, seed).work(patience, news)


def promising(instance: Instance, start: Placement, tiers: Sequence[Tier]) -> bool:
    """Whether a pod with devices waits that :func:`improve` may place, and another may move."""
    loose = restless(instance)
    targets = _targets(instance, tiers)
    return any(
        loose[podset.index] and start.podsets[podset.index] for podset in instance.podsets
    ) and any(
        loose[podset.index]
        and podset.devices
        and not podset.running
        and start.placed(podset.index) < podset.count
        and any(weights[podset.index] for weights in targets)
        for podset in instance.podsets
    )


def suffices(instance: Instance, tiers: Sequence[Tier]) -> bool:
    """Whether :func:`improve` does all that may be done, so that others need not try at length.

    It does where moves are limited, nobody can be evicted and all pods that wait, or might, count
    by themselves.
    """
    limits = instance.model.limits
    if limits.moves is None or limits.evictions != 0:
        return False
    loose = restless(instance)
    alone = all(loose[podset.index] for podset in instance.podsets if not podset.running)
    return alone and promising(instance, instance.current, tiers)


def _targets(instance: Instance, tiers: Sequence[Tier]) -> list[list[int]]:
    """What a pod of each pod set counts in each tier that is served."""
    found = []
    for tier in tiers:
        if tier.metric in _DISTURBED:
            break
        if tier.counts_unplaced:
            found.append(
                [
                    tier.weight(podset) if tier.concerns(instance.job_of(podset.index)) else 0
                    for podset in instance.podsets
                ]
            )
    return found


class _Run:
    """The best placement as the judge knows it, and the board on which others are tried."""

    def __init__(self, best: Incumbent, deadline: Deadline, seed: int) -> None:
        self.best = best
        self.instance = instance = best.instance
        self.deadline = deadline
        self.rng = random.Random(seed)
        self.board = Board(instance, best.placement)
        limit = self.board.pace.most
        self.limited = limit is not None
        most = _NO_LIMIT if limit is None else limit
        fit = Fit(self.board)
        self.passes = [
            Greedy(self.board, fit, weights, most, deadline.cuts, self.rng)
            for weights in _targets(instance, best.tiers)
        ]
        self.marks: list[int] = []

    def work(self, patience: int | None, news: Callable[[], Placement | None]) -> None:
        """Place what can be placed, then try again from somewhere on the way."""
        turns = since = 0
        if self._may_begin_anew() and not self.deadline.cuts():
            turns += self._anew()
        while not self.deadline.cuts() and not self.best.done:
            if since == patience or (self.deadline.deterministic and turns == _TURNS):
                return
            better = self._turn(first=turns == 0)
            turns, since = turns + 1, 0 if better else since + 1
            other = news()
            if other is not None and self.best.adopt(other):
                self.board.go_to(other)
                self.marks = []

    def _may_begin_anew(self) -> bool:
        """Whether the start has spent some of few moves, and placed only pods placed here, too."""
        board, start = self.board, self.best.placement
        return (
            self.limited
            and board.moves > 0
            and all(
                board.restless[podset.index] or not start.placed(podset.index)
                for podset in self.instance.podsets
                if not podset.running
            )
        )

    def _anew(self) -> bool:
        """Begin with all pods at home: moves of the start may be worth less than others."""
        board = self.board
        mark = board.mark()
        board.go_to(self.instance.current)
        for work in self.passes:
            self.marks += work.work(0.0)
        board.send_home()
        if self.best.offer(board.placement()):
            return True
        board.undo(mark)
        self.marks = []
        return False

    def _turn(self, *, first: bool) -> bool:
        """Undo the last changes, carry out others, and keep them if they are better."""
        board = self.board
        low, high = KEPT
        kept = int(len(self.marks) * (low + (high - low) * self.rng.random()))
        mark = self.marks[kept] if kept < len(self.marks) else board.mark()
        before, marks = board.journal[mark:], self.marks
        board.undo(mark)
        self.marks = marks[:kept]
        if first:
            board.send_home()
        for work in self.passes:
            self.marks += work.work(0.0 if first else self.rng.choice(NOISES))
        board.send_home()
        if self.best.offer(board.placement()):
            return True
        board.undo(mark)
        for s, spot, pods in before:
            board.add(s, spot, pods)
        self.marks = marks
        return False
