"""Crumbs of room on many nodes become room for one more pod on one of them: by swaps."""

from __future__ import annotations

import random

import numpy as np

from kantopt.search.chains.key import NEVER
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.restore import restore_nodes

SWAPS = 24
"""Most swaps for one pod."""


def gather(packing: Packing, rng: random.Random) -> list[int]:
    """Make room on one node for a pod that waits: larger pods there for smaller ones elsewhere.

    Where that fails, nothing is changed.
    """
    waiting = [
        g
        for g in range(packing.count)
        if packing.placed[g] < packing.most[g]
        and packing.effects[g].placing < NEVER
        and not packing.fixed_place[g]
    ]
    if not waiting:
        return restore_nodes(packing, rng)
    g = min(rng.sample(waiting, min(len(waiting), 3)), key=lambda g: packing.size[g])
    n = _node(packing, g, rng)
    if n is None:
        return []
    mark = len(packing.journal)
    for _ in range(SWAPS):
        if packing.fits(g, n):
            packing.add(g, n)
            return []
        if not _swap(packing, g, n, rng.choice((0.0, 0.02, 0.1))):
            break
    packing.undo(mark)
    return []


def _node(packing: Packing, g: int, rng: random.Random) -> int | None:
    """Return a node that admits a pod, one that lacks little for it rather."""
    lack = np.maximum(0, packing.ask[g][:, None] - packing.free)
    price = packing.weight @ lack
    price = price * (0.5 + packing.noise(packing.nodes))
    allowed = packing.allowed[g]
    if allowed is not None:
        if not allowed.any():
            return None
        price = np.where(allowed, price, np.inf)
    few = np.argsort(price, kind="stable")[: 1 + packing.nodes // 8].tolist()
    return int(rng.choice(few))


def _swap(packing: Packing, g: int, n: int, moves: float) -> bool:
    """Exchange a pod of a node for one elsewhere so that less is lacking for a pod of ``g``."""
    closed = packing.shut_for(g)
    own = [(i, x) for i, x in packing.slot[n].items() if not closed[i]]
    if not own:
        return False
    groups = np.array([i for i, _ in own])
    slots = np.array([x for _, x in own])
    there, node_at = packing.group_at, packing.node_at
    rows = ~closed[there] & (node_at != n)
    others = rows.nonzero()[0]
    if not len(others):
        return False
    theirs, nodes = there[others], node_at[others]
    fits = packing.admitted(theirs, n)[None, :] & packing.admitted_at(groups, nodes)
    lacking = np.zeros(fits.shape)
    now = 0.0
    for r in range(packing.resources):
        gain = packing.asks[r, groups][:, None] - packing.asks[r, theirs]
        fits &= gain <= packing.free[r, nodes]
        fits &= gain >= -packing.free[r, n]
        lack = int(packing.ask[g, r] - packing.free[r, n])
        lacking += packing.weight[r] * np.maximum(0, lack - gain)
        now += float(packing.weight[r]) * max(0, lack)
    price = lacking + moves * (packing.leaves_home[slots][:, None] + packing.leaves_home[others])
    price[~fits | (lacking >= now)] = np.inf
    best = int(price.argmin())
    if not np.isfinite(price.flat[best]):
        return False
    row, column = divmod(best, len(others))
    i, j, m = int(groups[row]), int(theirs[column]), int(nodes[column])
    packing.remove(i, n)
    packing.remove(j, m)
    packing.add(j, n)
    packing.add(i, m)
    return True
