"""Counts of pods per group and node, in arrays that answer at once who could make room for whom."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kantopt.problem.tiers import Tier
from kantopt.search.chains.key import effects_of
from kantopt.search.chains.reach import Reach
from kantopt.search.chains.scope import Scope
from kantopt.search.shapes import Ints, Mask

Floats = NDArray[np.float64]

_EMPTY = -(2**61)
"""What a slot without pods offers: less than nothing, whatever is added."""
_POOL = 1 << 15


class Packing:
    """A placement of the groups that changes pod by pod, with its key and a journal.

    Each node has some *slots*, one per group that has pods on it. ``offer`` says what would be
    free on the node if one pod of the slot's group left.
    """

    def __init__(self, scope: Scope, tiers: Sequence[Tier], base: Sequence[int], seed: int) -> None:
        self.scope = scope
        groups = scope.groups
        self.size = [group.size for group in groups]
        self.effects = [effects_of(scope.instance, tiers, group) for group in groups]
        self.nodes = len(scope.instance.nodes)
        self.count = len(groups)
        self.resources = len(scope.room)
        self.ask: Ints = np.array([g.request for g in groups], dtype=np.int64).reshape(
            self.count, self.resources
        )
        self.asks = np.ascontiguousarray(self.ask.T)
        self._column = [row.copy() for row in self.ask]
        self._block = [row.reshape(-1, 1).copy() for row in self.ask]
        self.least_ask: Ints = self.ask.min(axis=0)
        self.free: Ints = np.array(scope.room, dtype=np.int64).reshape(self.resources, self.nodes)
        self.scale: Floats = 1.0 / np.maximum(1, np.where(self.free < 2**59, self.free, 0).sum(1))
        self._build_masks()
        self.homes_at: list[list[tuple[int, int]]] = [[] for _ in range(self.nodes)]
        for g, group in enumerate(groups):
            for n, pods in group.home.items():
                self.homes_at[n].append((g, pods))
        self.home = [group.home for group in groups]
        self.running = [group.running for group in groups]
        self.most = [group.most for group in groups]
        self.least = [group.least for group in groups]
        self.on: list[dict[int, int]] = [{} for _ in groups]
        self.placed = [0] * self.count
        self.changed = [sum(pods for _, pods in homes) for homes in self.homes_at]
        """Per node, by how many pods it differs from the snapshot."""
        self.journal: list[tuple[int, int, int]] = []
        self.version = 0
        """Differs whenever something has changed."""
        self._build_ranks()
        self._lay_out(4)
        self._random = np.random.default_rng(seed)
        self._pool: Floats = self._random.random(_POOL)
        self._next = 0
        self._start_key(base)

    def _build_masks(self) -> None:
        groups = self.scope.groups
        self.allowed: list[Mask | None] = []
        masks: list[Mask] = [np.ones(self.nodes, dtype=np.bool_)]
        known: dict[frozenset[int] | None, int] = {None: 0}
        self._class = np.zeros(self.count, dtype=np.int64)
        for g, group in enumerate(groups):
            nodes = group.allowed
            if group.homebound:
                nodes = frozenset(group.home) & (nodes if nodes is not None else set(group.home))
            if nodes not in known:
                known[nodes] = len(masks)
                masks.append(np.zeros(self.nodes, dtype=np.bool_))
                masks[-1][sorted(nodes or ())] = True
            self._class[g] = known[nodes]
            self.allowed.append(None if nodes is None else masks[known[nodes]])
        self._admits: Mask | None = np.array(masks) if len(masks) > 1 else None
        """Per class of groups, the nodes that admit their pods; ``None`` if all admit all."""
        self.fixed_place: Mask = np.array([group.homebound for group in groups] + [True])
        """Groups whose pods go nowhere else; and the group of no pods."""

    def _build_ranks(self) -> None:
        largest = max(self.size, default=0.0) or 1.0
        self.mean_size = sum(self.size) / max(1, self.count)
        self._relative: Floats = np.array([size / largest for size in self.size] + [0.0])
        self._moving: Ints = np.array([e.moving for e in self.effects] + [0], dtype=np.int64)
        self._shut: dict[int, Mask] = {}
        self._reached = (-1, 0)
        self._lesser: dict[tuple[int, int], tuple[int, ...]] = {}
        limits = self.scope.instance.model.limits
        self.limited = limits.evictions is not None or limits.moves is not None

    def shut_for(self, g: int) -> Mask:
        """Groups whose moves count more than placing a pod of group ``g``."""
        placing = self.effects[g].placing
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

    def lesser(self, g: int) -> Mask | None:
        """Groups of which a pod may be left out for one of group ``g``; ``None`` if none may."""
        mine = self.effects[g]
        key = mine.placing, mine.value
        if key not in self._lesser:
            self._lesser[key] = tuple(
                i
                for i, other in enumerate(self.effects)
                if (-other.placing, other.value) < (-mine.placing, mine.value)
            )
        found = [
            i
            for i in self._lesser[key]
            if self.placed[i] > self.least[i]
            and (self.placed[i] > self.running[i] or self._may_evict(g, i))
        ]
        if not found:
            return None
        mask = np.zeros(self.count + 1, dtype=np.bool_)
        mask[found] = True
        return mask

    def _may_evict(self, g: int, i: int) -> bool:
        if self.effects[i].evicting < self.effects[g].placing:
            return False
        instance, groups = self.scope.instance, self.scope.groups
        if not instance.strict:
            return True
        new = self.placed[g] >= self.running[g]
        return new and instance.may_evict_for(groups[g].job, groups[i].job)

    def _start_key(self, base: Sequence[int]) -> None:
        """Begin with nothing of the groups placed, from the key of the search's start."""
        scope = self.scope
        self.limits = scope.instance.model.limits
        self.evicted = sum(group.running for group in scope.groups)
        self.moved = 0
        self._below = sum(self.least)
        self.key = [0, *base]
        self.lacking = [0] * len(scope.instance.jobs)
        """Pods of each job that are not placed."""
        active = {s for group in scope.groups for s in group.podsets}
        for podset in scope.instance.podsets:
            there = 0 if podset.index in active else scope.start.placed(podset.index)
            self.lacking[podset.job] += podset.count - there
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

    def _lay_out(self, width: int) -> None:
        """Give each node ``width`` slots; those in use are filled in anew."""
        self.width = width
        slots = self.nodes * width
        self.offer: Ints = np.full((self.resources, slots), _EMPTY, dtype=np.int64)
        self._offers = self.offer.reshape(self.resources, self.nodes, width)
        self.group_at: Ints = np.full(slots, self.count, dtype=np.int64)
        self.leaves_home: Floats = np.zeros(slots)
        """1 where a pod that leaves would be one more that is not at home."""
        self.node_at: Ints = np.repeat(np.arange(self.nodes), width)
        self.slot: list[dict[int, int]] = [{} for _ in range(self.nodes)]
        self._spare = [
            list(range((n + 1) * width - 1, n * width - 1, -1)) for n in range(self.nodes)
        ]
        self._slot_admits = None if self._admits is None else self._admits.repeat(width, axis=1)
        for g, spots in enumerate(self.on):
            for n, pods in spots.items():
                self._open(g, n)
                self.leaves_home[self.slot[n][g]] = pods <= self.home[g].get(n, 0)

    def _open(self, g: int, n: int) -> int:
        index = self._spare[n].pop()
        self.slot[n][g] = index
        self.group_at[index] = g
        self.offer[:, index] = self.free[:, n] + self._column[g]
        return index

    def add(self, g: int, n: int) -> None:
        """Place one pod of a group on a node."""
        self._add(g, n)
        self.journal.append((g, n, 1))

    def remove(self, g: int, n: int) -> None:
        """Take one pod of a group from a node."""
        self._remove(g, n)
        self.journal.append((g, n, -1))

    def _add(self, g: int, n: int) -> None:
        pods = self.on[g].get(n, 0)
        here = self.home[g].get(n, 0)
        self.version += 1
        self.free[:, n] -= self._column[g]
        self._offers[:, n] -= self._block[g]
        index = self.slot[n].get(g)
        if index is None:
            if not self._spare[n]:
                self._lay_out(self.width + 2)
            index = self._open(g, n)
        self.on[g][n] = pods + 1
        stays = pods < here
        self.leaves_home[index] = stays
        self.changed[n] += -1 if stays else 1
        self._count(g, 1, stays)

    def _remove(self, g: int, n: int) -> None:
        pods = self.on[g][n] - 1
        here = self.home[g].get(n, 0)
        self.version += 1
        self.free[:, n] += self._column[g]
        self._offers[:, n] += self._block[g]
        index = self.slot[n][g]
        stayed = pods < here
        if pods:
            self.on[g][n] = pods
            self.leaves_home[index] = pods <= here
        else:
            del self.on[g][n], self.slot[n][g]
            self._spare[n].append(index)
            self.offer[:, index] = _EMPTY
            self.group_at[index] = self.count
            self.leaves_home[index] = 0.0
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
        effects, key = self.effects[g], self.key
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
        """By how many pods limits and minima are broken."""
        over = self._below
        if self.limits.evictions is not None:
            over += max(0, self.evicted - self.limits.evictions)
        if self.limits.moves is not None:
            over += max(0, self.moved - self.limits.moves)
        return over

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

    def fits(self, g: int, n: int) -> bool:
        """Whether a node has room for one more pod of a group."""
        return bool((self.free[:, n] >= self._column[g]).all())

    def vacant_homes(self, g: int) -> list[int]:
        """Nodes on which fewer pods of a group run than do now."""
        on = self.on[g]
        return [n for n, pods in self.home[g].items() if on.get(n, 0) < pods]

    def free_nodes(self, g: int) -> Ints:
        """Nodes with room for one more pod of a group, homes left aside for those bound to them."""
        mask = self.free[0] >= self.ask[g, 0]
        for r in range(1, self.resources):
            mask &= self.free[r] >= self.ask[g, r]
        allowed = self.allowed[g]
        if allowed is not None:
            mask &= allowed
        return np.flatnonzero(mask)

    def fits_somewhere(self) -> Mask:
        """Per group, whether some node has room for one more pod."""
        useful = self.free[0] >= self.least_ask[0]
        for r in range(1, self.resources):
            useful &= self.free[r] >= self.least_ask[r]
        nodes = useful.nonzero()[0]
        if not len(nodes):
            return np.zeros(self.count, dtype=np.bool_)
        mask = self.free[0, nodes][:, None] >= self.asks[0]
        for r in range(1, self.resources):
            mask &= self.free[r, nodes][:, None] >= self.asks[r]
        if self._admits is not None:
            mask &= self._admits[self._class[:, None], nodes].T
        return np.asarray(mask.any(axis=0), dtype=np.bool_)

    def taking(self, slots: Ints, groups: Ints) -> Mask:
        """Per group asked, whether a pod fits once one of the pods of some slots has left."""
        rows = self.asks[0, groups][:, None] <= self.offer[0, slots]
        for r in range(1, self.resources):
            rows &= self.asks[r, groups][:, None] <= self.offer[r, slots]
        if self._slot_admits is not None:
            rows &= self._slot_admits[self._class[groups][:, None], slots]
        return np.asarray(rows.any(axis=1), dtype=np.bool_)

    def makes_room(self, g: int) -> Mask:
        """Per slot, whether a pod of a group fits once one of the slot's has left."""
        row = self.offer[0] >= self.ask[g, 0]
        for r in range(1, self.resources):
            row &= self.offer[r] >= self.ask[g, r]
        if self._slot_admits is not None:
            row &= self._slot_admits[self._class[g]]
        return np.asarray(row, dtype=np.bool_)
