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
                if self.over() or not self._push_in_one(j, want.s, want.role):
                    break
                gained = True
        return gained

    def send_elsewhere(self, j: int) -> bool:
        """Let a victim run elsewhere, lesser ones giving way to it: all of it, or pod by pod.

        Returns whether that is less harm than its being gone; if not nothing has changed.
        """
        state = self.state
        job, running = state.instance.jobs[j], state.instance.running_of(j)
        if not job.may_preempt or not self.victims.priorities_below(job.priority):
            return False
        podsets = [state.instance.podsets[s] for s in running]
        if any(state.placed[s] for s in job.podsets):
            if job.all_victims:
                return False
            return sum(self._send_pods(j, p.index, p.role) for p in podsets) > 0
        wants = [Want(p.index, p.role, p.count, p.count) for p in podsets]
        everywhere = np.ones(state.size, dtype=np.bool_)

        def place(region: Mask | None) -> bool:
            return self.placer.place_running(j, within=everywhere if region is None else region)

        return self._at_less(j, lambda: self._push_in(j, wants, place))

    def grow(self, j: int) -> None:
        """Place members of a gang above its minimum where only what counts less has to go."""
        state, gone = self.state, self.victims.gone
        if state.instance.jobs[j].may_preempt and (above := gone.before_surplus(j)) is not None:
            for s in state.instance.pending_of(j):
                podset = state.instance.podsets[s]
                while state.placed[s] < podset.count and self._one_at_less(
                    j, s, podset.role, above
                ):
                    pass

    def _send_pods(self, j: int, s: int, role: int) -> int:
        """Let pods of a victim that still runs go elsewhere, one by one, until one cannot."""
        pods = 0
        while self.victims.evicted(s) and self._one_at_less(j, s, role):
            pods += 1
        return pods

    def _one_at_less(self, j: int, s: int, role: int, most: int | None = None) -> bool:
        return not self.over() and self._at_less(j, lambda: self._push_in_one(j, s, role), most)

    def _at_less(self, j: int, push: Callable[[], bool], most: int | None = None) -> bool:
        """Push pods in if that is less harm, or no more in so many of its first numbers."""
        state, mark = self.state, self.state.mark()
        harm = self.victims.gone.harm()[:most]
        if push() and state.pace.kept() and state.neighbours.holds(state.instance.running_of(j)):
            after = self.victims.gone.harm()[:most]
            if after < harm or (most is not None and after == harm):
                return True
        state.undo(mark)
        return False

    def _push_in_one(self, j: int, s: int, role: int) -> bool:
        def place(region: Mask | None) -> bool:
            return self.placer.place_some(j, s, 1, region)

        return self._push_in(j, [Want(s, role, 1, 1)], place)

    @abstractmethod
    def _push_in(self, j: int, wants: list[Want], place: Place) -> bool:
        """Make room for what is wanted together and place it; else leave no trace."""
