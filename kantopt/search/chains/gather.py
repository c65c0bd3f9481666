"""Crumbs of room on many nodes become room for one more pod on one of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np

from kantopt.search.chains.packing import Packing
from kantopt.search.chains.pairs import carry_over, share_out
from kantopt.search.shapes import Ints

PARTNERS = 64
"""Most nodes to go round."""
EXCHANGES = 4
"""Most placed pods that give way to smaller ones so that there is room at all."""
MOVES = (0.1, 0.05, 0.02, 0.01, 0.005)
"""What a pod away from home counts against room for a pod of mean size, round after round.

First only bargains are taken; what is still lacking then may cost more.
"""
HOMEWARDS = (0.3, 0.1, 0.05, 0.02)
"""The same for a pod that comes home."""


def gather(packing: Packing, rng: random.Random, over: Callable[[], bool]) -> bool:
    """Make room on one node for a pod that waits: share out pods between it and others in turn.

    Returns whether that went well; where not, nothing is changed. Gives up when ``over``.
    """
    waiting = packing.wanting()
    parts = sorted({packing.part[g] for g in waiting})
    if len(parts) > 1:
        part = rng.choice(parts)
        waiting = [g for g in waiting if packing.part[g] == part]
    mark = len(packing.journal)
    g = _exchange(packing, waiting, rng) if waiting else None
    if g is not None and gather_for(packing, g, rng, over):
        return True
    packing.undo(mark)
    return False


def gather_for(packing: Packing, g: int, rng: random.Random, over: Callable[[], bool]) -> bool:
    """Make room for a pod of a group and place it; where that fails, pods may have moved."""
    n = _node(packing, g, rng)
    if n is None or not _go_round(packing, g, n, rng, over):
        return False
    return not (packing.limited and packing.broken())


def reunite(packing: Packing, rng: random.Random) -> None:
    """Share out pods between the nodes where they are and their homes, so that more are at home."""
    pairs = {(here, home) for g, here in packing.away() for home in packing.vacant_homes(g)}
    shuffled = sorted(pairs)
    rng.shuffle(shuffled)
    nothing: Ints = np.zeros(packing.resources, dtype=np.int64)
    for here, home in shuffled:
        changes = share_out(packing, here, home, nothing, packing.fixed_place, 1.0, rng)
        carry_over(packing, here, home, changes)


def come_home(packing: Packing, rng: random.Random, over: Callable[[], bool]) -> bool:
    """Bring one pod home: share out pods between its home and other nodes until it has room there.

    Returns whether that went well; whether others have moved for it the key tells.
    """
    ways = [(g, here, home) for g, here in packing.away() for home in packing.vacant_homes(g)]
    if not ways:
        return False
    g, here, home = rng.choice(ways)
    packing.remove(g, here)
    return _go_round(packing, g, home, rng, over, HOMEWARDS, here)


def _exchange(packing: Packing, waiting: list[int], rng: random.Random) -> int | None:
    """Return a group that waits and that all free room of its part would hold a pod of.

    Where there is none, pods that count as much give way to smaller ones that wait.
    """
    for _ in range(EXCHANGES + 1):
        room = packing.room_of(packing.part[waiting[0]])
        able = [g for g in waiting if (packing.ask[g] <= room).all()]
        if able:
            return min(rng.sample(able, min(len(able), 3)), key=lambda g: packing.size[g])
        lack = np.maximum(0, packing.ask[waiting] - room) @ packing.weight
        lack *= 1.0 + 0.2 * packing.noise(len(waiting))
        g = waiting[int(lack.argmin())]
        waiting = _give_way(packing, g, waiting, room)
        if not waiting:
            return None
    return None


def _give_way(packing: Packing, g: int, waiting: list[int], room: Ints) -> list[int]:
    """Exchange a placed pod for one that waits, for more room for group ``g``; return who waits.

    No group if there is no such exchange.
    """
    lack = np.maximum(0, packing.ask[g] - room) * packing.weight
    best: tuple[float, int, int] | None = None
    for coming in waiting:
        if coming == g and packing.most[g] - packing.placed[g] < 2:
            continue
        same = packing.alike(coming)
        slots = (packing.makes_room(coming) & same[packing.group_at]).nonzero()[0]
        if not len(slots):
            continue
        going = packing.group_at[slots]
        more = (packing.ask[going] - packing.ask[coming]) * packing.weight
        gain = np.minimum(more, lack).sum(axis=1) * (1.0 + 0.5 * packing.noise(len(slots)))
        at = int(gain.argmax())
        if gain[at] > 0 and (best is None or gain[at] > best[0]):
            best = float(gain[at]), coming, int(slots[at])
    if best is None:
        return []
    _, coming, slot = best
    gone, n = int(packing.group_at[slot]), int(packing.node_at[slot])
    packing.remove(gone, n)
    packing.add(coming, n)
    left = [x for x in waiting if packing.placed[x] < packing.most[x]]
    return left if gone in left else [*left, gone]


def _node(packing: Packing, g: int, rng: random.Random) -> int | None:
    """Return a node that admits a pod, one that lacks little for it rather."""
    lack = np.maximum(0, packing.ask[g][:, None] - packing.free)
    price = packing.weight @ lack
    price = price * (0.5 + packing.noise(packing.nodes))
    allowed, able = packing.allowed[g], packing.nodes
    if allowed is not None:
        able = int(allowed.sum())
        if not able:
            return None
        price = np.where(allowed, price, np.inf)
    few = np.argsort(price, kind="stable")[: 1 + able // 8].tolist()
    return int(rng.choice(few))


def _go_round(
    packing: Packing,
    g: int,
    n: int,
    rng: random.Random,
    over: Callable[[], bool],
    prices: Sequence[float] = MOVES,
    first: int | None = None,
) -> bool:
    """Collect room on a node from the others, one of them first, until a pod fits; place it."""
    wanted, shut, partners = packing.ask[g], packing.shut_for(g), packing.partners(n)
    if first is not None:
        partners[first] = True
    most = min(PARTNERS, int(partners.sum()))
    for moves in prices:
        price = packing.scale @ packing.free.clip(max=2**59)
        price = price * (0.3 + packing.noise(packing.nodes))
        price[~partners] = -np.inf
        if first is not None:
            price[first] = np.inf
        for other in np.argsort(-price, kind="stable")[:most].tolist():
            if packing.has_room(g, n) or over():
                break
            changes = share_out(packing, other, n, wanted, shut, moves, rng)
            carry_over(packing, other, n, changes)
        if packing.has_room(g, n):
            packing.add(g, n)
            return True
    return False
