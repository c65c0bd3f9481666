"""Room for jobs that others must move for: lesser pods leave the rooms that those can move to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

import numpy as np

from kantopt.search.as_if_gone import as_if_gone
from kantopt.search.insertion.fill import fill, room_for
from kantopt.search.least_harm import LeastHarm
from kantopt.search.preemption.gone import Level
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.shapes import Mask

_MOVES = 1_000
"""Moves that count as much as the least victim when domains are compared."""
_MOST_DOMAINS, _ENOUGH = 40, 12
"""Domains that are tried for one job, the cheapest first, and those that suffice."""
_MOST_TRIES, _MOST_LOOKS = 200, 30_000
"""Domains that are tried for all jobs, and those times nodes, unless each job is worth its time."""
_MOST_NODES = 12
"""Nodes on which the least harm is looked for, for a pod that has to go somewhere else."""


def clear_for(clearing: Clearing, jobs: Sequence[int], place: Callable[[int], bool]) -> list[int]:
    """Place jobs of one priority while all lesser pods are gone; those that still fit come back.

    For one job after the other room is made by evictions, or by moves into free room. This finds
    what takes both: pods that move into room that lesser ones had. Where they land while nobody
    lesser is there they are in the way of many; so where the jobs went is emptied once more, with
    all lesser pods elsewhere in their places, and of both ways that which harms less is taken.

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
    preemption = clearing.preemption
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
    nodes = {j: _nodes_of(preemption, j) for j in placed}
    least = LeastHarm(state)
    if placed and preemption.put_back.settles(seen):
        least.note(victims.gone.harm(), mark)
    state.undo(mark)
    if placed and clearing.place_all(nodes):
        least.note(victims.gone.harm(), mark)
        state.undo(mark)
    return placed if least.carry_out() else []


def _nodes_of(preemption: Preemption, j: int) -> list[int]:
    """Nodes on which pods of a job have been placed."""
    state = preemption.state
    podsets = (state.instance.podsets[s] for s in state.instance.jobs[j].podsets)
    return sorted({x.node for p in podsets if not p.running for x in state.spots[p.index]})


class Clearing:
    """Empties nodes for jobs: lesser pods go, others move to free room or evict lesser ones."""

    def __init__(
        self, preemption: Preemption, relocation: Relocation, over: Callable[[], bool]
    ) -> None:
        self.state = preemption.state
        self.preemption, self.victims = preemption, preemption.victims
        self.relocation = relocation
        self.over = over
        self.tries = 0
        self.below = 0
        """Who has this priority or a higher one does not go."""

    def spent(self) -> bool:
        """Whether no more places are to be tried, or the time is up."""
        few = min(_MOST_TRIES, _MOST_LOOKS // self.state.size)
        return self.tries >= (_MOST_TRIES if self.relocation.thorough else few) or self.over()

    def place_all(self, nodes: dict[int, list[int]]) -> bool:
        """Place jobs each on its nodes or others; where one of them fails nothing has changed."""
        state = self.state
        mark = state.mark()
        if all(self.place(j, on) for j, on in nodes.items()):
            return True
        state.undo(mark)
        return False

    def place(self, j: int, *known: list[int]) -> bool:
        """Place a job on nodes where it is known to go or on others, at the least harm.

        Of who is lesser the least go, and the others rather move to where others of them were.
        """
        state = self.state
        self.below = state.instance.jobs[j].priority
        levels = self.victims.priorities_below(self.below)
        if self.spent() or not levels:
            return False
        least, found = LeastHarm(state), 0
        for on in (*known, *self._others(j)):
            if found == _ENOUGH or self.spent():
                break
            self.tries += 1
            settled = False
            for most in sorted({levels[0], levels[-1]}, reverse=True):
                mark, seen = state.mark(), len(state.touched)
                with self.preemption.kept.held(j):
                    for n in on:
                        self._evict(n, most + 1)
                    emptied = self.relocation.empty_for(j, on, self._push)
                if emptied and self.preemption.put_back.settles(seen):
                    settled = True
                    least.note([*self.victims.gone.harm(), state.pace.moves], mark)
                state.undo(mark)
            found += settled
        return least.carry_out()

    def _others(self, j: int) -> Iterator[list[int]]:
        """Other nodes that a job could go to: of the domains that it asks for the cheapest."""
        state, placer = self.state, self.preemption.placer
        self.relocation.refresh()
        wants = placer.wants(j)
        level = placer.required_level(j)
        if any(state.placed[s] for s in state.instance.jobs[j].podsets):
            return
        least = [want.least if placer.is_gang(j) else want.most for want in wants]
        need = max(1, sum(least), placer.missing(j))
        with self._without_who_may_leave():
            could = np.sum([room_for(state, want.s, want.most) for want in wants], axis=0)
        of = np.zeros(state.size, np.int64) if level is None else placer.domains.of[level]
        lowest = self.victims.priorities_below(self.below)[0]
        costs, _ = self.victims.shared_costs(Level(lowest), need, np.where(could > 0, of, -1))
        # Who moves takes the room of the least, as a rule.
        evicting = self.relocation.gpus * self.victims.gone.dearer(lowest, lowest)
        costs = (costs + evicting) * _MOVES + self.relocation.toll
        prices = costs / np.maximum(could, 1)
        found = []
        for d in np.unique(of[(could > 0) & (of >= 0)]).tolist():
            nodes = np.flatnonzero((of == d) & (could > 0))
            nodes = nodes[np.lexsort((nodes, prices[nodes]))]
            enough = int(np.searchsorted(np.cumsum(could[nodes]), need)) + 1
            if enough <= len(nodes):
                found.append((int(costs[nodes[:enough]].sum()), d, nodes[:enough].tolist()))
        yield from (nodes for _, _, nodes in sorted(found)[:_MOST_DOMAINS])

    def _without_who_may_leave(self) -> AbstractContextManager[None]:
        """Pretend that all pods are gone that may move or be evicted, each of them once."""
        state = self.state
        leave = {
            (s, spot): pods for n in range(state.size) for s, spot, pods in self.relocation.here(n)
        }
        for n in range(state.size):
            for priority, s, spot in self.victims.on_node(n):
                if priority < self.below:
                    leave[s, spot] = state.spots[s].get(spot, 0)
        free, devices = np.zeros_like(state.free), np.zeros_like(state.devices)
        state.give(((s, spot, pods) for (s, spot), pods in leave.items()), free, devices)
        return as_if_gone(state, free, devices)

    def _evict(self, n: int, below: int) -> None:
        """Evict whoever is lesser from a node; gangs that lose all they can spare go whole."""
        lesser = [x for x in self.victims.on_node(n) if x[0] < below]
        for _, s, spot in [x for x in lesser if self.victims.evict(x[1], x[2])]:
            self.victims.evict(s, spot)

    def _push(self, s: int, pods: int, within: Mask) -> bool:
        """Place pods that had to leave in free room, or where lesser ones go for them."""
        job = self.state.instance.job_of(s)
        with self.preemption.kept.held(job.index):
            pods -= fill(self.preemption.placer.scores, s, pods, within)
        below = min(self.below, job.priority)
        return not pods or (
            job.may_preempt
            and all(not self.over() and self._push_one(s, within, below) for _ in range(pods))
        )

    def _push_one(self, s: int, within: Mask, below: int) -> bool:
        state, victims = self.state, self.victims
        for most in victims.priorities_below(below):
            level = Level(most)
            with victims.without(level):
                nodes = np.flatnonzero((room_for(state, s, 1) > 0) & within)
            costs = victims.costs(level)[nodes]
            least = LeastHarm(state)
            for n in nodes[np.lexsort((nodes, costs))][:_MOST_NODES].tolist():
                mark = state.mark()
                self._evict(n, most + 1)
                if self.preemption.placer.place_on(s, n):
                    self.preemption.put_back.spare(mark, most + 1)
                    least.note(victims.gone.harm(), mark)
                state.undo(mark)
            if least.carry_out():
                return True
        return False
