"""Choose anew which pods of one importance are placed: many small ones, for as many as possible."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np

from kantopt.search.chains.chain import put
from kantopt.search.chains.gather import gather_for
from kantopt.search.chains.packing import Packing
from kantopt.search.shapes import Ints

WASTES = (2, 3, 5, 8)
"""Thousandths of the nodes' room that packing leaves unused, to draw from."""
MIXES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
"""Weights of a resource in the size of a pod, to draw from."""
LOYALTIES = (0.2, 0.2, 0.1, 0.1, 0.05, 0.05, 0.02, 0.02)
"""By how much smaller pods count that are placed now, and once more if they run now."""
_MOST_COMING = 30


def select(packing: Packing, rng: random.Random, over: Callable[[], bool]) -> bool:
    """Leave out pods and place others, more than these, of an importance at which some wait.

    Returns whether that went well; where not, nothing is changed. Gives up when ``over``.
    """
    kinds = sorted({_kind(packing, g) for g in packing.wanting()})
    if not kinds:
        return False
    kind = rng.choice(kinds)
    groups = [
        g for g in range(packing.count) if _kind(packing, g) == kind and not packing.fixed_place[g]
    ]
    chosen = _choose(packing, groups, rng)
    coming = [
        g for g, pods in zip(groups, chosen, strict=True) for _ in range(pods - packing.placed[g])
    ]
    if not 0 < len(coming) <= _MOST_COMING:
        return False
    mark = len(packing.journal)
    for g, pods in zip(groups, chosen, strict=True):
        for _ in range(packing.placed[g] - pods):
            packing.remove(g, _farthest(packing, g))
    for g in sorted(coming, key=lambda g: -packing.size[g]):
        if not (put(packing, g, 0.0) or gather_for(packing, g, rng, over)):
            packing.undo(mark)
            return False
    if packing.limited and packing.broken():
        packing.undo(mark)
        return False
    return True


def _kind(packing: Packing, g: int) -> tuple[int, int, int]:
    """Pods of a kind count alike and share nodes."""
    return packing.coming[g].placing, packing.coming[g].value, packing.part[g]


def _stay(packing: Packing, g: int) -> int:
    """Pods of a group that are to remain placed."""
    effects = packing.leaving[g]
    spared = packing.scope.instance.strict or effects.evicting < effects.placing
    return max(packing.least_alike(g), min(packing.placed[g], packing.running[g]) if spared else 0)


def _farthest(packing: Packing, g: int) -> int:
    """Return the node that may lose a pod of a group rather than others: one that is no home."""
    home = packing.home[g]
    return min(packing.on[g], key=lambda n: (packing.on[g][n] <= home.get(n, 0), n))


def _choose(packing: Packing, groups: list[int], rng: random.Random) -> list[int]:
    """Return how many pods of each group to place: more than now in all, or as many as now.

    All nodes of their part are taken for one. With pods in the order of their size, which weighs
    the resources in turn, as many of the smallest are taken as that node holds.
    """
    placed: Ints = np.array([packing.placed[g] for g in groups], dtype=np.int64)
    asks, part = packing.ask[groups], packing.part[groups[0]]
    room = packing.room_of(part) + placed @ asks
    near = np.array(packing.part) == part
    used = np.where(near, packing.placed, 0) @ packing.ask
    room = room - (room - placed @ asks + used) * rng.choice(WASTES) // 1000
    most = np.array([packing.most_alike(g) for g in groups])
    owner = np.arange(len(groups)).repeat(most)
    number = np.arange(len(owner)) - (most.cumsum() - most).repeat(most)
    running = np.array([packing.running[g] for g in groups])
    known = 1.0 * (number < placed[owner]) + (number < running[owner])
    needed = number < np.array([_stay(packing, g) for g in groups])[owner]
    best, chosen = int(placed.sum()), placed
    for loyalty in LOYALTIES:
        weights = packing.weight * rng.choices(MIXES, k=packing.resources)
        size = (asks @ weights)[owner] * (1 - loyalty * known)
        size[needed] = 0
        order = size.argsort(kind="stable")
        load = asks[owner[order]].cumsum(axis=0)
        pods = int((load <= room).all(axis=1).sum())
        if pods > best:
            best, chosen = pods, np.bincount(owner[order[:pods]], minlength=len(groups))
    return [int(pods) for pods in chosen]
