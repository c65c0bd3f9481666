"""Preemption, whichever victims it chooses: room is made for a gang at once, else pod by pod."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from kantopt.search.gangs import Placer, Want
from kantopt.search.put_back import PutBack
from kantopt.search.shapes import Mask
from kantopt.search.victims import Victims

Place = Callable[[Mask | None], bool]
"""Places what room is made for, on some nodes or on any; returns whether there was room."""


class Pushing(ABC):
    """Finds victims for jobs; every change that it leaves keeps the rules on evictions."""

    def __init__(self, placer: Placer) -> None:
        self.placer = placer
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
                if not self._push_in_one(j, want):
                    break
                gained = True
        return gained

    def _push_in_one(self, j: int, want: Want) -> bool:
        wants = [Want(want.s, want.role, 1, 1)]
        return self._push_in(j, wants, lambda region: self.placer.place_some(j, want.s, 1, region))

    @abstractmethod
    def _push_in(self, j: int, wants: list[Want], place: Place) -> bool:
        """Make room for what is wanted together and place it; else leave no trace."""
