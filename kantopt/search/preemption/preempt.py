"""Minimal preemption: lesser pods give way to a job, then whatever still fits is put back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import product

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.insertion.fill import room_for
from kantopt.search.insertion.placer import Want
from kantopt.search.least_harm import LeastHarm
from kantopt.search.preemption.gone import Level
from kantopt.search.preemption.pushing import Place, Pushing
from kantopt.search.preemption.quota_room import QuotaRoom
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import Change

_MOST_REGIONS = 6
"""Domains, or nodes for a single pod, among which the least harm is looked for."""

_MOST_TRIMMED = 12
"""Jobs of which it is tried whether they need not go."""


class Preemption(Pushing):
    """The lowest victims first; of the places that are tried the one with the least harm."""

    def _push_in(self, j: int, wants: list[Want], place: Place) -> bool:
        priority = self.state.instance.jobs[j].priority
        for level in self.victims.levels_below(priority):
            now = [room_for(self.state, w.s, max(1, w.least)) for w in wants]
            with self.victims.without(level):
                could = [room_for(self.state, w.s, max(1, w.least)) for w in wants]
            if any(int(c.sum()) < w.least for c, w in zip(could, wants, strict=True)):
                continue
            gain = np.sum(could, axis=0) - np.sum(now, axis=0)
            asked = [(want.s, want.least) for want in wants]
            beyond = QuotaRoom(self.victims, level).find(j, asked, gain > 0)
            if beyond is None:
                continue
            least = LeastHarm(self.state)
            where: Mask | None = None
            for region, shared in self._tries(j, wants, now, could, level):
                if shared and self._tight(least.changes, wants):
                    continue
                if self.over():
                    break
                mark, seen = self.state.mark(), len(self.state.touched)
                for change in beyond:
                    self.state.add(*change)
                freed = self._free_nodes(wants, place, region, level, (now, could), shared=shared)
                if freed and self.put_back.settles(seen):
                    where = region if least.note(self.victims.gone.harm(), mark) else where
                self.state.undo(mark)
            if where is not None:
                if sum(want.least for want in wants) > 1 and not self._tight(least.changes, wants):
                    self._trim(least, wants, where, place)
                return least.carry_out()
        return False

    def _tries(
        self, j: int, wants: list[Want], now: list[Ints], could: list[Ints], level: Level
    ) -> Iterator[tuple[Mask, bool]]:
        """Where to look, and whether the nodes of a gang share its cost: for many both ways."""
        regions = self._regions(j, wants, now, could, level)
        many = sum(want.least for want in wants) > 1
        return product(regions, (False, True) if many else (False,))

    def _tight(self, changes: list[Change], wants: list[Want]) -> bool:
        """Whether no more GPUs go than are asked for: hardly anything is less harm."""
        podsets = self.state.instance.podsets
        gone = -sum(podsets[s].gpu_milli * k for s, _, k in changes if podsets[s].running)
        asked = sum(podsets[want.s].gpu_milli * want.least for want in wants)
        return 0 < gone <= asked

    def _trim(self, least: LeastHarm, wants: list[Want], region: Mask, place: Place) -> None:
        """Spare victims without whom the job still fits, those of the most pods first.

        Of gangs that go as a whole the nodes of one may do where those of two were emptied.
        """
        state, seen, mark = self.state, len(self.state.touched), self.state.mark()
        gone: dict[int, Counter[tuple[int, Spot]]] = {}
        coming = {want.s for want in wants}  # of a job that runs, and is to run elsewhere
        for s, spot, pods in least.changes:
            podset = state.instance.podsets[s]
            if podset.running and s not in coming:
                gone.setdefault(podset.job, Counter())[s, spot] += pods
        # Whoever was put back beside victims that may be spared now need not fit any more.
        gone = {
            j: lost
            for j, places in gone.items()
            if (lost := Counter({at: pods for at, pods in places.items() if pods < 0}))
        }

        def room() -> Ints:
            rooms = [room_for(state, want.s, max(1, want.least), region) for want in wants]
            return np.asarray(np.sum(rooms, axis=0), dtype=np.int64)

        before = room()
        self._evict_but(gone, None)
        gain = room() - before
        state.undo(mark)
        slack = int((before + gain).sum()) - sum(want.least for want in wants)
        dearest = sorted(gone, key=lambda v: (sum(gone[v].values()), v))[:_MOST_TRIMMED]
        for spared in dearest if len(gone) > 1 else ():
            nodes = sorted({spot.node for (_, spot), pods in gone[spared].items() if pods})
            if not nodes or int(gain[nodes].sum()) > slack or self.over():
                continue
            self._evict_but(gone, spared)
            fits = place(region) and self.put_back.settles(seen)
            if fits and least.note(self.victims.gone.harm(), mark):
                gone[spared] = Counter()
                slack -= int(gain[nodes].sum())
            state.undo(mark)

    def _evict_but(self, gone: dict[int, Counter[tuple[int, Spot]]], spared: int | None) -> None:
        """Take away what is gone of all jobs but one."""
        for j, places in gone.items():
            if j != spared:
                for (s, spot), pods in places.items():
                    self.state.add(s, spot, pods)

    def _regions(
        self, j: int, wants: list[Want], now: list[Ints], could: list[Ints], level: Level
    ) -> list[Mask]:
        """Where to look: domains of the required level, nodes for a single pod, or everywhere."""
        state, domains = self.state, self.placer.domains
        coarse = self.placer.required_level(j)
        here = [spot.node for s in state.instance.jobs[j].podsets for spot in state.spots[s]]
        fixed = bool(here)
        if coarse is not None and not fixed:
            fits = np.all(
                [domains.totals(coarse, c) >= w.least for c, w in zip(could, wants, strict=True)],
                axis=0,
            )
            free, most = np.sum(now, axis=0), np.sum(could, axis=0)
            room = domains.totals(coarse, free)
            need = max(1, sum(w.least for w in wants))
            used = np.where(most > free, domains.of[coarse], -1)
            costs, _ = self.victims.shared_costs(level, need, used)
            harm = domains.cheapest(coarse, most - free, costs, need - room)
            order = np.lexsort((np.arange(len(room)), -room, harm))
            chosen = [d for d in order.tolist() if fits[d]][:_MOST_REGIONS]
            return [domains.mask(coarse, d) for d in chosen]
        if sum(w.least for w in wants) == 1:
            want = next(i for i, w in enumerate(wants) if w.least)
            nodes, costs = np.flatnonzero(could[want]), self.victims.costs(level)
            if coarse is not None:
                nodes = nodes[np.isin(domains.of[coarse][nodes], domains.of[coarse][here])]
            order = nodes[np.lexsort((nodes, costs[nodes]))][:_MOST_REGIONS]
            return [np.arange(state.size) == n for n in order.tolist()]
        return [np.ones(state.size, dtype=np.bool_)]

    def _free_nodes(
        self,
        wants: list[Want],
        place: Place,
        region: Mask,
        level: Level,
        rooms: tuple[list[Ints], list[Ints]],
        *,
        shared: bool,
    ) -> bool:
        """Empty nodes of lesser pods, the cheapest per pod first, until the job has its place.

        With ``shared`` the cost of a gang that goes as a whole is shared by its nodes.
        """
        if place(region):
            return True
        gain = np.sum(rooms[1], axis=0) - np.sum(rooms[0], axis=0)
        nodes = np.flatnonzero((gain > 0) & region)
        most = max(1, sum(want.least for want in wants))
        missing = max(1, most - int(np.sum(rooms[0], axis=0)[region].sum()))
        gains = np.minimum(gain[nodes], most)
        costs, tie = self.victims.costs(level), nodes
        if shared and len(nodes):
            needed = -(-missing * len(nodes) // int(gains.sum()))
            used = np.where(region & (gain > 0), 0, -1)
            costs, gang = self.victims.shared_costs(level, needed, used)
            tie = gang[nodes]
        per_pod = costs[nodes] * 1000 // gains
        queue = nodes[np.lexsort((nodes, tie, per_pod))].tolist()
        while queue:
            batch = []
            while queue and missing > 0:
                n = queue.pop(0)
                missing -= int(gain[n])
                on_node = self.victims.on_node(n)
                batch += [x for x in on_node if self.victims.may_go(level, x[0], x[1])]
            more = [x for x in batch if self.victims.evict(x[1], x[2], level=level)]
            if place(region):
                return True
            if more:  # gangs have given what they could spare: now the rest of them
                for _, s, spot in more:
                    self.victims.evict(s, spot, level=level)
                if place(region):
                    return True
            missing = max(1, len(nodes) // 8)
        return False
