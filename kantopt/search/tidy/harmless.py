"""Insertion where pending jobs come after other objectives: who fits at no cost to those."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import DISTURBING, Tier
from kantopt.schema.model import Metric
from kantopt.search.insertion.priority_list import priority_list
from kantopt.search.insertion.zones import placer_of
from kantopt.search.preemption.kept_room import room_of_the_gone
from kantopt.search.shapes import Mask
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.search.tidy.vacate import EMPTIED
from kantopt.verify.in_use import fees_of, groups_of
from kantopt.verify.metrics import measure
from kantopt.verify.rules import is_legal

_UNHARMED = DISTURBING | {Metric.UNPLACED, Metric.DISPLACED}
"""Metrics that do not rise where pending jobs are placed and nobody is disturbed."""


def above_pending(tiers: Sequence[Tier]) -> tuple[Tier, ...]:
    """Tiers above the last that counts pending jobs, if some of them may rise by insertion."""
    last = max((i for i, tier in enumerate(tiers) if tier.metric is Metric.UNPLACED), default=0)
    above = tuple(tiers[:last])
    return () if all(tier.metric in _UNHARMED for tier in above) else above


def insert_harmless(
    instance: Instance,
    start: Placement,
    tiers: Sequence[Tier],
    strategy: Strategy,
    deadline: Deadline,
) -> Placement:
    """Place more pending jobs such that no tier above them gets worse.

    Where all of them together cost something, halves of them are tried, and so on. First come the
    nodes where nothing comes into use by them.

    Parameters
    ----------
    start
        A legal placement; nobody moves.
    tiers
        Those that get no worse: :func:`above_pending`.
    """
    insertion = _Insertion(instance, start, tiers, strategy, deadline)
    insertion.run(priority_list(instance, seed=0, in_order=False, largest_first=False))
    return insertion.state.placement()


class _Insertion:
    def __init__(
        self,
        instance: Instance,
        start: Placement,
        above: Sequence[Tier],
        strategy: Strategy,
        deadline: Deadline,
    ) -> None:
        self.instance, self.state, self._above = instance, State(instance, start), above
        self._over = deadline.cuts
        self._placer = placer_of(self.state, strategy, self._over)
        self._kept = room_of_the_gone(self.state)
        self._values = measure(instance, start, above)

    def run(self, jobs: list[int]) -> None:
        """Insert jobs, their minima first; at last where something may come into use."""
        everywhere = np.ones(self.state.size, dtype=np.bool_)
        emptied = [tier for tier in self._above if tier.metric in EMPTIED]
        slack = any(tier.target is not None for tier in emptied)
        for mask in [self._in_use(emptied), everywhere][: 1 + slack]:
            self._insert(jobs, self._placer.place, mask)
            running = [j for j in jobs if self._placer.is_gang(j) and self._runs(j)]
            self._insert(running, self._placer.place_more, mask)

    def _runs(self, j: int) -> bool:
        return any(self.state.placed[s] for s in self.instance.jobs[j].podsets)

    def _in_use(self, tiers: Sequence[Tier]) -> Mask:
        """Nodes on which pods may arrive without anything coming into use that a tier counts."""
        mask, podsets = np.ones(self.state.size, dtype=np.bool_), self.instance.podsets
        used = {
            spot.node
            for podset, spots in zip(podsets, self.state.spots, strict=True)
            for spot in (() if podset.daemon else spots)
        }
        for tier in tiers:
            group_of, fees = groups_of(self.instance, tier), fees_of(self.instance, tier)
            busy = {group_of[n] for n in used} | {None}
            mask &= [group_of[n] in busy or not fee for n, fee in enumerate(fees)]
        return mask

    def _insert(self, jobs: Sequence[int], place: Callable[..., object], within: Mask) -> None:
        """Place all of some jobs, or halves of them, that cost nothing above."""
        mark, placed = self.state.mark(), list[int]()
        for j in jobs:
            if self._over():
                break
            before = self.state.mark()
            with self._kept.held(j):
                place(j, within=within)
            if self.state.mark() > before:
                placed.append(j)
        if not placed or self._harmless():
            return
        self.state.undo(mark)
        half = len(placed) // 2
        for part in (placed[:half], placed[half:]) if half else ():
            self._insert(part, place, within)

    def _harmless(self) -> bool:
        """Whether what is placed now is legal and no worse above."""
        placement = self.state.placement()
        values = measure(self.instance, placement, self._above)
        if values > self._values or not is_legal(self.instance, placement):
            return False
        self._values = values
        return True
