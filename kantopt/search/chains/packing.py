"""A placement of the groups that changes pod by pod, with its key and a journal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kantopt.problem.tiers import Tier
from kantopt.search.chains.guards import Guards
from kantopt.search.chains.key import NEVER, Effects, effects_of
from kantopt.search.chains.reach import Reach
from kantopt.search.chains.rooms import Floats, Rooms
from kantopt.search.chains.scope import Scope
from kantopt.search.shapes import Ints, Mask, mask_of

_POOL = 1 << 15


class Packing(Rooms):
    """Pods on nodes, what that means to the tiers, and a way back."""

    def __init__(self, scope: Scope, tiers: Sequence[Tier], base: Sequence[int], seed: int) -> None:
        super().__init__(scope)
        groups = scope.groups
        self.size = [group.size for group in groups]
        first, more = (
            [effects_of(scope.instance, tiers, g, surplus=g.surplus or later) for g in groups]
            for later in (False, True)
        )
        self._after = [m if group.begins else None for m, group in zip(more, groups, strict=True)]
        """What pods after the first count, where that is less than the first."""
        self._first = first
        self.coming = list(first)
        """What the next pod of each group counts that is placed."""
        self.leaving = list(first)
        """What the next pod of each group counts that is left out."""
        self.homes_at: list[list[tuple[int, int]]] = [[] for _ in range(self.nodes)]
        for g, group in enumerate(groups):
            for n, pods in group.home.items():
                self.homes_at[n].append((g, pods))
        self.running = [group.running for group in groups]
        self.most = [group.most for group in groups]
        self.least = [group.least for group in groups]
        self.placed = [0] * self.count
        self.guards = Guards(scope)
        away = [sum(pods for _, pods in homes) for homes in self.homes_at]
        self.changed: Ints = np.array(away, dtype=np.int64)
        """Per node, by how many pods it differs from the snapshot."""
        self.journal: list[tuple[int, int, int]] = []
        self.taste = 1.0
        """How much chains prefer small pods (below 0: large ones) for ejection."""
        self.patient = False
        """Whether chains may have one ejection more than the fewest."""
        self.looked = 0
        """How often pods of two nodes were shared out, as a measure of work."""
        self.version = 0
        """Differs whenever something has changed."""
        self._build_ranks()
        self._random = np.random.default_rng(seed)
        self._pool: Floats = self._random.random(_POOL)
        self._next = 0
        self._start_key(base)

    def _build_ranks(self) -> None:
        largest = max(self.size, default=0.0) or 1.0
        self.mean_size = sum(self.size) / max(1, self.count)
        self._relative: Floats = np.array([size / largest for size in self.size] + [0.0])
        self._moving: Ints = np.array([e.moving for e in self._first] + [0], dtype=np.int64)
        self._shut: dict[int, Mask] = {}
        self._reached = (-1, 0)
        self._lesser: dict[tuple[int, int], tuple[int, ...]] = {}
        self._shares: dict[tuple[int, int, int, int], Ints] = {}
        limits = self.scope.instance.model.limits
        counted = limits.evictions is not None or limits.moves is not None
        self.limited = counted or not self.guards.none

    def waits(self, g: int) -> bool:
        """Whether a pod of a group waits that may be placed as far as amounts tell."""
        if self.placed[g] >= self.most[g]:
            return False
        return self.guards.none or self.guards.admits(g)

    def wanting(self) -> list[int]:
        """Groups of which a pod waits that counts, and that may come to other nodes."""
        return [
            g
            for g in range(self.count)
            if self.waits(g) and self.coming[g].placing < NEVER and not self.fixed_place[g]
        ]

    def most_alike(self, g: int) -> int:
        """Most pods of a group that count like the next one."""
        return 1 if self._after[g] is not None and not self.placed[g] else self.most[g]

    def least_alike(self, g: int) -> int:
        """Pods of a group that are placed and count more than the next one, or have to stay."""
        return max(self.least[g], int(self._after[g] is not None and self.placed[g] > 0))

    def rank(self, g: int, pods: int) -> int:
        """First entry of the key that one more pod of a group lowers, beside so many."""
        after = self._after[g]
        return (self._first[g] if after is None or not pods else after).placing

    def shut_for(self, g: int) -> Mask:
        """Groups whose moves count more than placing a pod of group ``g``."""
        placing = self.coming[g].placing
        if placing not in self._shut:
            self._shut[placing] = self.fixed_place | (self._moving < placing)
        return self._shut[placing]

    def reach(self, g: int) -> Reach:
        """Return how many ejections place pods, as things stand and as group ``g`` may eject."""
        shut = self.shut_for(g)
        if self._reached != (self.version, id(shut)):
            self._reached = self.version, id(shut)
            self._reach = Reach(self, shut)
        return self._reach

    def size_at(self) -> Floats:
        """Per slot, the size of its pods relative to the largest."""
        return self._relative[self.group_at]

    def lesser(self, g: int, by: int | None = None) -> Mask | None:
        """Groups of which a pod may be left out for one of group ``g``; ``None`` if none may.

        ``by``: a new pod of that group takes the place, and makes way for the one of ``g``.
        """
        mine = self.coming[g]
        key = mine.placing, mine.value
        if key not in self._lesser:
            self._lesser[key] = tuple(
                i
                for i, (one, after) in enumerate(zip(self._first, self._after, strict=True))
                if _less(one, mine) or (after is not None and _less(after, mine))
            )
        less = [
            i for i in self._lesser[key] if self._after[i] is None or _less(self.leaving[i], mine)
        ]
        found = list(self._giving_way(g, less, by))
        if not found:
            return None
        return mask_of(self.count + 1, found)

    def shares(self, g: int, most: int, first: int, second: int) -> Ints:
        """What 0, 1, ... pods of a group on one node mean if the others are on a second one.

        A row per resource says what those on the first node ask for, the last how many of both are
        at home.
        """
        home = self.home[g]
        here, there = home.get(first, 0), home.get(second, 0)
        key = g, most, here, there
        if key not in self._shares:
            found = np.zeros((self.resources + 1, most + 1), dtype=np.int64)
            found[:-1] = self.ask[g][:, None] * np.arange(most + 1)
            found[-1] = [min(i, here) + min(most - i, there) for i in range(most + 1)]
            self._shares[key] = found
        return self._shares[key]

    def alike(self, g: int) -> Mask:
        """Groups of which a pod may give way to one of group ``g`` that counts as much."""
        mine = self.coming[g]
        equal = (
            i
            for i, other in enumerate(self.leaving)
            if (other.placing, other.value) == (mine.placing, mine.value) and i != g
        )
        return mask_of(self.count + 1, list(self._giving_way(g, equal)))

    def _giving_way(self, g: int, groups: Iterable[int], by: int | None = None) -> Iterator[int]:
        """Those of some groups of which a pod may be left out for one of group ``g``."""
        placed, least, running = self.placed, self.least, self.running
        new, mine = by is not None or placed[g] >= running[g], self.coming[g].placing
        instance, of = self.scope.instance, self.scope.groups
        job, strict = of[g if by is None else by].job, instance.strict
        for i in groups:
            if placed[i] <= least[i]:
                continue
            if placed[i] <= running[i]:  # one that runs is evicted
                if self.leaving[i].evicting < mine:
                    continue
                if strict and not (new and instance.may_evict_for(job, of[i].job)):
                    continue
                if not (self.guards.none or self.guards.lets_go(i)):
                    continue
            yield i

    def _start_key(self, base: Sequence[int]) -> None:
        """Begin with nothing of the groups placed, from the key of the search's start."""
        scope = self.scope
        self.limits = scope.instance.model.limits
        self.evicted = sum(group.running for group in scope.groups)
        self.moved = 0
        self._below = sum(self.least)
        self.key = [0, *base]
        self.floor: Sequence[int] = [0] * len(self.key)
        """Of each entry, what it cannot go below while those before it are no worse."""
        self.lacking = [0] * len(scope.instance.jobs)
        """Pods of each job that are not placed, of a gang below its minimum."""
        active = {s for group in scope.groups for s in group.podsets}
        for podset in scope.instance.podsets:
            there = 0 if podset.index in active else scope.start.placed(podset.index)
            self.lacking[podset.job] += podset.count - there
        for group in scope.groups:
            if group.begins:
                self.lacking[group.job] = 1
        self._outside(active)
        counts = [group.start for group in scope.groups]
        self.load(counts)
        # Only differences count so far; the start's values are known.
        self.key[1:] = base
        self.forget()

    def _outside(self, active: set[int]) -> None:
        """Evictions and moves of pods that are no part of the search, for the limits."""
        scope = self.scope
        for podset in scope.instance.podsets:
            if podset.index in active or not podset.running:
                continue
            spots = scope.start.podsets[podset.index]
            placed = sum(spots.values())
            stays = sum(min(k, podset.current.get(x, 0)) for x, k in spots.items())
            self.evicted += max(0, podset.count - placed)
            self.moved += min(placed, podset.count) - stays

    def add(self, g: int, n: int) -> None:
        """Place one pod of a group on a node."""
        self._add(g, n)
        self.journal.append((g, n, 1))

    def remove(self, g: int, n: int) -> None:
        """Take one pod of a group from a node."""
        self._remove(g, n)
        self.journal.append((g, n, -1))

    def _add(self, g: int, n: int) -> None:
        self.version += 1
        stays = self._come(g, n, self.on[g].get(n, 0))
        self.changed[n] += -1 if stays else 1
        self._count(g, 1, stays)

    def _remove(self, g: int, n: int) -> None:
        self.version += 1
        stayed = self._go(g, n, self.on[g][n] - 1)
        self.changed[n] += 1 if stayed else -1
        self._count(g, -1, stayed)

    def _count(self, g: int, sign: int, stays: bool) -> None:
        """Bring the key up to date; ``stays``: the pod is one that need not move."""
        before = self.placed[g]
        self.placed[g] = before + sign
        least = self.least[g]
        if (before if sign > 0 else before - 1) < least:
            self._below -= sign
        ran = (before if sign > 0 else before - 1) < self.running[g]
        evicted = -sign if ran else 0
        moved = sign * (int(ran) - int(stays))
        self.evicted += evicted
        self.moved += moved
        if not self.guards.none:
            self.guards.count(g, sign, evicted, moved)
        effects, after, key = self._first[g], self._after[g], self.key
        if after is not None:
            now = before + sign
            self.coming[g] = effects if now < 1 else after
            self.leaving[g] = effects if now < 2 else after
            effects = effects if now + before < 2 else after
        for i, value in effects.unplaced:
            key[i] -= sign * value
        if effects.jobs:
            job = self.scope.groups[g].job
            lacking = self.lacking[job]
            self.lacking[job] = lacking - sign
            change = int(lacking - sign > 0) - int(lacking > 0)
            for i in effects.jobs:
                key[i] += change
        if evicted or moved:
            for i, per_eviction, per_move in effects.disruption:
                key[i] += per_eviction * evicted + per_move * moved

    def broken(self) -> int:
        """By how many pods limits and minima are broken, and how many rules about neighbours."""
        over = self._below + (0 if self.guards.none else self.guards.over()) + self.offended()
        if self.limits.evictions is not None:
            over += max(0, self.evicted - self.limits.evictions)
        if self.limits.moves is not None:
            over += max(0, self.moved - self.limits.moves)
        return over

    def offended(self) -> int:
        """How many rules about neighbours are broken."""
        return 0 if self.admission is None else self.admission.broken()

    def value(self) -> tuple[int, ...]:
        """Return the key: what is broken, then the tiers."""
        self.key[0] = self.broken()
        return tuple(self.key)

    def undo(self, mark: int = 0) -> None:
        """Take back what was done since the journal had this length."""
        journal = self.journal
        while len(journal) > mark:
            g, n, sign = journal.pop()
            if sign > 0:
                self._remove(g, n)
            else:
                self._add(g, n)

    def forget(self) -> None:
        """What was done so far stands."""
        self.journal.clear()

    def snapshot(self) -> list[dict[int, int]]:
        """Return the counts as they are."""
        return [dict(spots) for spots in self.on]

    def load(self, counts: Sequence[dict[int, int]]) -> None:
        """Bring about other counts; the journal begins anew."""
        for g, (old, new) in enumerate(zip(self.snapshot(), counts, strict=True)):
            if old != new:
                for n in sorted(old):
                    for _ in range(old[n] - new.get(n, 0)):
                        self._remove(g, n)
                for n in sorted(new):
                    for _ in range(new[n] - old.get(n, 0)):
                        self._add(g, n)
        self.forget()

    def noise(self, size: int) -> Floats:
        """Return numbers between 0 and 1, from a pool that is drawn once."""
        if self._next + size > _POOL:
            if size > _POOL:
                return self._random.random(size)
            self._next = (self._next * 7919 + 13) % (_POOL - size + 1)
        found = self._pool[self._next : self._next + size]
        self._next += size
        return found

    def vacant_homes(self, g: int) -> list[int]:
        """Nodes on which fewer pods of a group run than do now."""
        on = self.on[g]
        return [n for n, pods in self.home[g].items() if on.get(n, 0) < pods]


def _less(one: Effects, other: Effects) -> bool:
    """Whether a pod counts less than another."""
    return (-one.placing, one.value) < (-other.placing, other.value)
