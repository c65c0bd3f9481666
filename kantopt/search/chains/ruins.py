"""Ruins: ways to take a packing apart at a few places, so that chains put it together better."""

from __future__ import annotations

import random

from kantopt.search.chains.packing import Packing

SIZES = (1, 1, 2, 2, 3, 4)
"""Numbers of nodes to restore, to draw from."""
RELATED = 0.5
"""How often they are nodes that exchanged pods, rather than any that have changed."""


def restore_nodes(packing: Packing, rng: random.Random) -> list[int]:
    """Give one to four nodes their pods of the snapshot back; return whose pods lost a place."""
    changed: list[int] = packing.changed.nonzero()[0].tolist()
    if not changed:
        return loosen_slack(packing, rng)
    most = min(len(changed), rng.choice(SIZES))
    if rng.random() < RELATED:
        chosen = _related(packing, rng, rng.choice(changed), most)
    else:
        chosen = rng.sample(changed, most)
    if rng.random() < 0.1:
        chosen[-1] = rng.randrange(packing.nodes)
    loose: list[int] = []
    for n in chosen:
        for g in sorted(packing.slot[n]):
            for _ in range(packing.on[g][n] - packing.home[g].get(n, 0)):
                packing.remove(g, n)
                loose.append(g)
    for n in chosen:
        for g, pods in packing.homes_at[n]:
            while (
                packing.on[g].get(n, 0) < pods and packing.has_room(g, n) and _fetch(packing, g, n)
            ):
                packing.add(g, n)
    return [g for g in loose if packing.placed[g] < packing.most[g]]


def _related(packing: Packing, rng: random.Random, first: int, most: int) -> list[int]:
    """Return nodes that exchanged pods with each other, the first one among them."""
    chosen, near = [first], [first]
    while near and len(chosen) < most:
        n = near.pop(rng.randrange(len(near)))
        others: set[int] = set()
        for g in packing.slot[n]:
            if _foreign(packing, g, n):
                others.update(packing.vacant_homes(g))
        for g, pods in packing.homes_at[n]:
            if packing.on[g].get(n, 0) < pods:
                others |= {m for m in packing.on[g] if _foreign(packing, g, m)}
        fresh = sorted(others.difference(chosen))
        rng.shuffle(fresh)
        fresh = fresh[: most - len(chosen)]
        chosen += fresh
        near += fresh
    return chosen


def _foreign(packing: Packing, g: int, n: int) -> bool:
    return packing.on[g].get(n, 0) > packing.home[g].get(n, 0)


def _fetch(packing: Packing, g: int, home: int) -> bool:
    """Free one pod of a group: a waiting one, or one that is away from home."""
    if packing.placed[g] < packing.most[g]:
        return True
    for n, pods in packing.on[g].items():
        if n != home and pods > packing.home[g].get(n, 0):
            packing.remove(g, n)
            return True
    return False


def loosen_moved(packing: Packing, rng: random.Random) -> list[int]:
    """Take away one to four pods that are not at home."""
    away = list(packing.away())
    return _take(packing, rng.sample(away, min(len(away), rng.randint(1, 4))))


def loosen_slack(packing: Packing, rng: random.Random) -> list[int]:
    """Take away one to three pods of nodes that have much room left."""
    left = packing.scale @ packing.free.clip(max=2**59)
    weights = (left + 1e-9).cumsum()
    taken: list[tuple[int, int]] = []
    for _ in range(rng.randint(1, 3)):
        n = int(weights.searchsorted(rng.random() * weights[-1]))
        able = sorted(g for g in packing.slot[min(n, packing.nodes - 1)])
        if able:
            taken.append((rng.choice(able), min(n, packing.nodes - 1)))
    return _take(packing, list(dict.fromkeys(taken)))


def leave_out(packing: Packing, rng: random.Random) -> list[int]:
    """Leave out one or two pods of an importance at which others wait, large ones rather.

    None of them is named loose: smaller ones that wait are tried before them.
    """
    waiting = {
        packing.coming[g].placing
        for g in range(packing.count)
        if packing.placed[g] < packing.most[g]
    }
    if not waiting:
        return loosen_slack(packing, rng)
    rank = rng.choice(sorted(waiting))
    new = rng.random() < 0.5
    able = [
        g
        for g in range(packing.count)
        if packing.leaving[g].placing == rank
        and packing.placed[g] > max(packing.least[g], packing.running[g] if new else 0)
    ]
    for _ in range(rng.choice((1, 1, 2))):
        if able:
            g = max(rng.sample(able, min(len(able), 3)), key=lambda g: packing.size[g])
            able.remove(g)
            packing.remove(g, rng.choice(sorted(packing.on[g])))
    return []


def _take(packing: Packing, taken: list[tuple[int, int]]) -> list[int]:
    for g, n in taken:
        packing.remove(g, n)
    return [g for g, _ in taken]
