"""Preemption, whichever victims it chooses: room is made for a gang at once, else pod by pod."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from kantopt.search.insertion.placer import Placer, Want
from kantopt.search.preemption.put_back import PutBack
from kantopt.search.preemption.victims import Victims
from kantopt.search.shapes import Mask

Place = Callable[[Mask | None], bool]
"""Places what room is made for, on some nodes or on any; returns whether there was room."""


class Pushing(ABC):
    """Finds victims for jobs; every change that it leaves keeps the rules on evictions."""

    def __init__(self, placer: Placer) -> None:
        self.placer, self.over = placer, placer.scores.over
        self.state = placer.state
        self.victims = Victims(placer.state)
        self.put_back = PutBack(self.victims)
        self.kept = self.put_back.kept

    def make_room(self, j: int) -> bool:
        """Place a job by evicting pods of lesser ones; return whether any pod could be placed."""
        placer = self.placer
        job = self.state.instance.jobs[j]
        if not job.may_preempt or not self.victims.priorities_below(job.priority):
            return False
        if placer.is_gang(j):
            return self._push_in(j, placer.wants(j), lambda region: placer.place(j, within=region))
        gained = False
        for want in placer.wants(j):
            for _ in range(want.most):
                if self.over() or not self._push_in_one(j, want):
                    break
                gained = True
        return gained

    def send_elsewhere(self, j: int) -> bool:
        """Let a victim that is gone as a whole run elsewhere, lesser ones giving way to it.

        Returns whether that is less harm than its being gone; if not nothing has changed.
        """
        state, harm, mark = self.state, self.victims.gone.harm(), self.state.mark()
        job, running = state.instance.jobs[j], state.instance.running_of(j)
        if not job.may_preempt or not self.victims.priorities_below(job.priority):
            return False
        podsets = [state.instance.podsets[s] for s in running]
        wants = [Want(p.index, p.role, p.count, p.count) for p in podsets]
        everywhere = np.ones(state.size, dtype=np.bool_)

        def place(region: Mask | None) -> bool:
            return self.placer.place_running(j, within=everywhere if region is None else region)

        if (
            not any(state.placed[s] for s in job.podsets)
            and self._push_in(j, wants, place)
            and state.pace.kept()
            and state.neighbours.holds(running)
            and self.victims.gone.harm() < harm
        ):
            return True
        state.undo(mark)
        return False

    def _push_in_one(self, j: int, want: Want) -> bool:
        wants = [Want(want.s, want.role, 1, 1)]
        return self._push_in(j, wants, lambda region: self.placer.place_some(j, want.s, 1, region))

    @abstractmethod
    def _push_in(self, j: int, wants: list[Want], place: Place) -> bool:
        """Make room for what is wanted together and place it; else leave no trace."""
