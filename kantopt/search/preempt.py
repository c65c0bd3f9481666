"""Minimal preemption: lesser pods give way to a job, then whatever still fits is put back."""

from __future__ import annotations

import numpy as np

from kantopt.schema.model import Rule
from kantopt.search.fill import room_for
from kantopt.search.gangs import Want
from kantopt.search.pushing import Place, Pushing
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import Change

_MOST_REGIONS = 6
"""Domains, or nodes for a single pod, among which the least harm is looked for."""


class Preemption(Pushing):
    """The lowest victims first; of the places that are tried the one with the least harm."""

    def _push_in(self, j: int, wants: list[Want], place: Place) -> bool:
        priority = self.state.instance.jobs[j].priority
        for level in self.victims.priorities_below(priority):
            now = [room_for(self.state, w.s, max(1, w.least)) for w in wants]
            with self.victims.without(level):
                could = [room_for(self.state, w.s, max(1, w.least)) for w in wants]
            if any(int(c.sum()) < w.least for c, w in zip(could, wants, strict=True)):
                continue
            best: tuple[list[int], list[Change]] | None = None
            for region in self._regions(j, wants, now, could, level):
                mark = self.state.mark()
                if self._try(j, wants, place, region, level, (now, could)):
                    harm = self.victims.gone.harm()
                    if best is None or harm < best[0]:
                        best = harm, self.state.journal[mark:]
                self.state.undo(mark)
            if best is not None:
                for change in best[1]:
                    self.state.add(*change)
                return True
        return False

    def _regions(
        self, j: int, wants: list[Want], now: list[Ints], could: list[Ints], level: int
    ) -> list[Mask]:
        """Where to look: domains of the required level, nodes for a single pod, or everywhere."""
        state, domains = self.state, self.placer.domains
        costs = self.victims.costs(level)
        required = [
            need.required
            for need in self.placer.needs.get(j, ())
            if need.required is not None and state.instance.on(Rule.TOPOLOGY)
        ]
        fixed = any(state.placed[s] for s in state.instance.jobs[j].podsets)
        if required and not fixed:
            coarse = min(required)
            fits = np.all(
                [domains.totals(coarse, c) >= w.least for c, w in zip(could, wants, strict=True)],
                axis=0,
            )
            room = domains.totals(coarse, np.sum(now, axis=0))
            harm = domains.totals(coarse, costs)
            order = np.lexsort((np.arange(len(room)), harm, -room))
            chosen = [d for d in order.tolist() if fits[d]][:_MOST_REGIONS]
            return [domains.mask(coarse, d) for d in chosen]
        if sum(w.least for w in wants) == 1:
            want = next(i for i, w in enumerate(wants) if w.least)
            nodes = np.flatnonzero(could[want])
            order = nodes[np.lexsort((nodes, costs[nodes]))][:_MOST_REGIONS]
            return [np.arange(state.size) == n for n in order.tolist()]
        return [np.ones(state.size, dtype=np.bool_)]

    def _try(
        self,
        j: int,
        wants: list[Want],
        place: Place,
        region: Mask,
        level: int,
        rooms: tuple[list[Ints], list[Ints]],
    ) -> bool:
        seen = len(self.state.touched)
        if not self._free_quota(j, wants, level):
            return False
        if not self._free_nodes(wants, place, region, level, rooms):
            return False
        return self.put_back.settles(seen)

    def _free_quota(self, j: int, wants: list[Want], level: int) -> bool:
        """Evict from the job's queue and its cohort until the job is within quota."""
        state = self.state
        queue = state.instance.jobs[j].queue
        if queue is None:
            return True
        least = [(want.s, want.least) for want in wants]
        if state.admits(j, least):
            return True
        rivals = state.quotas.rivals(queue)
        jobs = [v for v in self.victims.jobs if v.queue in rivals and v.priority <= level]
        for own in (True, False):
            for victim in sorted(jobs, key=lambda v: (v.priority, v.index)):
                if (victim.queue == queue) is not own:
                    continue
                for s in victim.podsets:
                    if not state.instance.podsets[s].running:
                        continue
                    for spot in sorted(state.spots[s]):
                        self.victims.evict(s, spot)
                        if state.admits(j, least):
                            return True
        return False

    def _free_nodes(
        self,
        wants: list[Want],
        place: Place,
        region: Mask,
        level: int,
        rooms: tuple[list[Ints], list[Ints]],
    ) -> bool:
        """Empty nodes of lesser pods, the cheapest per pod first, until the job has its place."""
        if place(region):
            return True
        gain = np.sum(rooms[1], axis=0) - np.sum(rooms[0], axis=0)
        nodes = np.flatnonzero((gain > 0) & region)
        costs = self.victims.costs(level)[nodes]
        most = max(1, sum(want.least for want in wants))
        per_pod = costs * 1000 // np.minimum(gain[nodes], most)
        queue = nodes[np.lexsort((nodes, per_pod))].tolist()
        missing = max(1, most - int(np.sum(rooms[0], axis=0)[region].sum()))
        while queue:
            batch = []
            while queue and missing > 0:
                n = queue.pop(0)
                missing -= int(gain[n])
                batch += [x for x in self.victims.on_node(n) if x[0] <= level]
            more = [x for x in batch if self.victims.evict(x[1], x[2])]
            if place(region):
                return True
            if more:  # gangs have given what they could spare: now the rest of them
                for _, s, spot in more:
                    self.victims.evict(s, spot)
                if place(region):
                    return True
            missing = max(1, len(nodes) // 8)
        return False
