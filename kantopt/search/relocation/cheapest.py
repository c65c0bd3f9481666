"""Minimal covers (Balas 1975): of the sets of nodes that make room enough the cheapest is cleared.

None of their nodes is to spare. Beside the first that can be cleared that takes longer, and harms
less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate, chain, combinations, islice, product

import numpy as np

from kantopt.problem.tiers import tiers_of
from kantopt.search.insertion.fill import room_for
from kantopt.search.insertion.placer import Placer, Want
from kantopt.search.least_harm import LeastHarm
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.verify.disturbance import disturbance

_MORE_NODES = 5
"""Nodes of a region that are looked at beside those that would do, the cheapest first."""
_MOST_COVERS, _FEW_COVERS = 70, 4
"""Sets of nodes in a region, and in each of several among which a job is spread."""
_MOST_REGIONS = 60
"""Domains that are looked at for slices."""
_MOST_TRIES, _MOST_IN_ALL = 600, 3000
"""Sets that are tried for one job, and for all."""
_MOST_COMBINATIONS = 50_000
"""Sets that are looked at for covers in one region."""
_WORSE = 1.5
"""How much dearer than the best a set may look before no more are tried: its pods may stay."""


class Cheapest(Relocation):
    """Clears the nodes that cost least, by the first tier that says what a move costs."""

    def __init__(self, placer: Placer) -> None:
        super().__init__(placer)
        self.thorough = True
        self._cost = _costs(placer)
        self._tries = _MOST_IN_ALL
        self._vain: set[int] = set()

    def _cleared(self, j: int, wants: list[Want], now: Ints, could: list[Ints]) -> bool:
        least = LeastHarm(self.state)
        self._vain, stuck = set(), {-1}
        left = min(_MOST_TRIES, self._tries)
        while least.harm is None and not (stuck <= self._vain or self.over()):
            self._vain |= stuck
            stuck = set()
            for weight, _, nodes, region in self._sets(j, wants, now, could):
                dear = least.harm is not None and weight > _WORSE * least.harm[0]
                if not left or dear or self.over():
                    break
                self._tries, left = self._tries - 1, left - 1
                mark = self.state.mark()
                if self._clear(j, region, list(nodes)):
                    least.note(self._harm(mark), mark)
                elif self._stuck is not None:
                    stuck.add(self._stuck)
                self.state.undo(mark)
        return least.carry_out() or super()._cleared(j, wants, now, could)

    def _sets(
        self, j: int, wants: list[Want], now: Ints, could: list[Ints]
    ) -> list[tuple[int, int, tuple[int, ...], Mask]]:
        """Sets of nodes that could be cleared, with what that may cost, and their region.

        Of several roles they make room for the largest pods: the others find some beside these. For
        slices they are those that are chosen anyway, of more domains.
        """
        sliced = [self.placer.slices(j, want.role) is not None for want in wants]
        if not self._tries or (len(wants) > 1 and any(sliced)):
            return []
        largest = max(
            range(len(wants)), key=lambda i: (wants[i].least > 0, *self._size(wants[i].s))
        )
        want, room = wants[largest], could[largest]
        sets: list[set[tuple[int, ...]]] = []
        need = want.least
        if len(wants) == 1:
            need = max(need, self.placer.missing(j))
        elif not need:
            return []
        else:
            now = room_for(self.state, want.s, want.most)
        if sliced[largest]:
            regions = list(self._regions(j, wants, now, could, _MOST_REGIONS))
            sets = [set(map(tuple, self._choices(wants, j, r, now, room))) for r in regions]
        else:
            regions = list(self._regions_within(j, room, need))
            known: dict[tuple[int, int], bool] = {}
            gain = room - now
            price = self._prices(gain > 0) // np.clip(gain, 1, need)
            able = np.flatnonzero(gain > 0)
            able = able[np.lexsort((able, self.toll[able], price[able]))]
            for region in regions:
                if self.over():
                    return []
                parts = self._parts(want.s, region, now, need)
                few = _MOST_COVERS if len(parts) == 1 else _FEW_COVERS
                covers = [
                    list(islice(self._covers(part, able.tolist(), now, gain, least, known), few))
                    for part, least in parts
                ]
                every = islice(product(*covers), _MOST_COVERS)
                sets.append({tuple(n for cover in chosen for n in cover) for chosen in every})
        found = [
            (self._weight(nodes), i, nodes)
            for i, some in enumerate(sets)
            for nodes in some
            if nodes
        ]
        return [(weight, i, nodes, regions[i]) for weight, i, nodes in sorted(found)]

    def _size(self, s: int) -> tuple[int, int]:
        shape = self.state.shape[s]
        return self.state.instance.podsets[s].gpu_milli, int(shape.demand.sum())

    def _parts(self, s: int, region: Mask, now: Ints, need: int) -> list[tuple[Mask, int]]:
        """Where pods go, and how many: of a set that is spread as many to each domain."""
        instance, by = self.state.instance, dict[str, list[int]]()
        for spread in instance.spreads:
            if spread.owner == s and s in spread.counted and not by:
                for n in sorted(spread.over):
                    domain = instance.label_domain(n, spread.key)
                    if domain is not None and region[n]:
                        by.setdefault(domain, []).append(n)
                if len(by) > need:
                    by.clear()
        if len(by) < 2:
            return [(region, need)]
        share, more = divmod(need, len(by))
        roomy = sorted(by, key=lambda d: (-int(now[by[d]].sum()), d))
        return [
            (mask_of(self.state.size, by[domain]), share + (k < more))
            for k, domain in enumerate(roomy)
        ]

    def _covers(
        self,
        region: Mask,
        able: Sequence[int],
        now: Ints,
        gain: Ints,
        need: int,
        known: dict[tuple[int, int], bool],
    ) -> Iterator[tuple[int, ...]]:
        """Minimal covers of what is missing in a region, by the cheapest of its nodes."""
        missing = need - int(now[region].sum())
        if missing <= 0:
            yield ()
        few, held, more = list[int](), 0, _MORE_NODES
        for n in able if missing > 0 else ():
            if region[n] and n not in self._vain and self._frees(n, known):
                few.append(n)
                more -= held >= missing
                held += int(gain[n])
                if not more:
                    break
        for cover in minimal_covers([int(gain[n]) for n in few], missing) if few else ():
            yield tuple(few[k] for k in cover)

    def _prices(self, nodes: Mask) -> Ints:
        found: Ints = np.zeros(self.state.size, dtype=np.int64)
        for n in np.flatnonzero(nodes).tolist():
            found[n] = self._weight((n,))
        return found

    def _regions_within(self, j: int, could: Ints, need: int) -> Iterator[Mask]:
        """Domains of the finest level that a job asks for, or wishes; and all nodes, if it may."""
        domains, needs = self.placer.domains, self.placer.needs.get(j, ())
        levels = [level for need in needs for level in (need.required, need.preferred)]
        finest = max((level for level in levels if level is not None), default=None)
        if finest is not None:
            held = domains.totals(finest, could)
            yield from (domains.mask(finest, d) for d in np.flatnonzero(held >= need).tolist())
        if self.placer.required_level(j) is None:
            yield np.ones(self.state.size, dtype=np.bool_)

    def _weight(self, nodes: Sequence[int]) -> int:
        """What it would cost to move all pods off some nodes, with those that restart with them."""
        podsets, jobs = self.state.instance.podsets, self.restarts.jobs
        weight, whole = 0, set[int]()
        for n in nodes:
            for s, _, pods in self.here(n):
                if podsets[s].running and podsets[s].job in jobs:
                    whole.add(podsets[s].job)
                else:
                    weight += pods * self._cost[s]
        for j in whole:
            weight += sum(
                podsets[s].count * self._cost[s] for s in self.state.instance.running_of(j)
            )
        return weight

    def _harm(self, mark: int) -> list[int]:
        """What moves since a mark cost, and how many there are."""
        net: dict[tuple[int, object], int] = {}
        for s, spot, pods in self.state.journal[mark:]:
            net[s, spot] = net.get((s, spot), 0) + pods
        gone = [
            (s, -pods)
            for (s, _), pods in net.items()
            if pods < 0 and self.state.instance.podsets[s].running
        ]
        return [sum(self._cost[s] * pods for s, pods in gone), sum(pods for _, pods in gone)]


def minimal_covers(gains: Sequence[int], missing: int) -> Iterator[tuple[int, ...]]:
    """Yield sets, by index, that gain what is missing and do not without any of them.

    Small ones first, and of a size those of the first; not all where there are too many sets.
    """
    most = list(accumulate(sorted(gains, reverse=True)))
    least = next((k for k, total in enumerate(most, start=1) if total >= missing), len(gains) + 1)
    sizes = range(least, len(gains) + 1)
    sets = chain.from_iterable(combinations(range(len(gains)), size) for size in sizes)
    for chosen in islice(sets, _MOST_COMBINATIONS):
        total = sum(gains[k] for k in chosen)
        if missing <= total < missing + min(gains[k] for k in chosen):
            yield chosen


def _costs(placer: Placer) -> list[int]:
    """What a move of a pod adds to the first tier that counts any, by pod set."""
    instance = placer.state.instance
    for tier in tiers_of(instance):
        costs = [disturbance(tier, instance.job_of(p.index), p)[1] for p in instance.podsets]
        if any(costs):
            return costs
    return [1] * len(instance.podsets)
