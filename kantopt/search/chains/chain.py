"""Ejection chains (Glover 1996): a pod takes a place, whose pod takes another's, until one fits."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable

import numpy as np

from kantopt.search.chains.key import NEVER
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.rooms import Floats
from kantopt.search.shapes import Ints, Mask

LONGEST = 4
"""Most pods that a chain ejects."""
_TRIES = 8
_MOST_VICTIMS = 4
"""Most pods that leave one node for another."""

Path = tuple[tuple[int, int], ...]
"""Node and group of each pod ejected, in order."""


def put(packing: Packing, g: int, noise: float) -> bool:
    """Place one pod of a group without leaving another one out; say whether that went well."""
    n = _place_for(packing, g, noise, ())
    if n is not None:
        packing.add(g, n)
        return True
    return _chain(packing, g, noise)


def _place_for(packing: Packing, g: int, noise: float, barred: Iterable[int]) -> int | None:
    """Return a node with room: a home, else the one that is then fullest."""
    for n in packing.vacant_homes(g):
        if n not in barred and packing.has_room(g, n):
            return n
    if packing.fixed_place[g]:
        return None
    nodes = packing.free_nodes(g)
    if barred and len(nodes):
        nodes = np.array([n for n in nodes.tolist() if n not in barred], dtype=np.int64)
    if len(nodes) < 2:
        return int(nodes[0]) if len(nodes) else None
    left = packing.scale @ (packing.free[:, nodes])
    if noise:
        left = left * (1.0 + 4 * noise * packing.noise(len(nodes)))
    return int(nodes[left.argmin()])


def _chain(packing: Packing, g: int, noise: float) -> bool:
    """Look for a short chain that ends where there is room, cheap steps first."""
    packing.spare_slots()  # a chain that is taken back has to find the slots where they were
    reach = packing.reach(g)
    steps = reach.of(g, LONGEST)
    if steps is None or steps == 0:
        return False
    cost = packing.leaves_home + packing.taste * packing.size_at()
    if noise:
        cost += noise * packing.noise(len(cost))
    if packing.patient:
        steps = reach.grown(steps + 1)
    budget = [_TRIES]
    return _step(packing, g, g, steps, (), reach.steps_at(), cost, noise, budget)


def _step(
    packing: Packing,
    root: int,
    g: int,
    steps: int,
    path: Path,
    steps_at: Ints,
    cost: Floats,
    noise: float,
    budget: list[int],
) -> bool:
    """Continue a chain whose last pod, of group ``g``, has to go somewhere."""
    row = packing.makes_room(g)
    row &= steps_at < steps
    homes = packing.vacant_homes(g)
    if packing.fixed_place[g]:
        row &= np.isin(packing.node_at, homes)
    slots = row.nonzero()[0]
    if not len(slots):
        return False
    price = cost[slots]
    for n in homes:
        price = price - (packing.node_at[slots] == n)
    order = slots[price.argsort(kind="stable")[:_TRIES]] if len(slots) > 1 else slots
    barred = [n for n, _ in path]
    for slot in order.tolist():
        n, i = int(packing.node_at[slot]), int(packing.group_at[slot])
        if n in barred:
            continue
        longer = (*path, (n, i))
        left = int(steps_at[slot])
        if left == 0:
            if _carry_out(packing, root, longer, noise):
                return True
            budget[0] -= 1
        elif _step(packing, root, i, left, longer, steps_at, cost, noise, budget):
            return True
        if budget[0] <= 0:
            return False
    budget[0] -= 1
    return False


def _carry_out(packing: Packing, g: int, path: Path, noise: float) -> bool:
    """Do a chain; the last pod that it ejects needs room on a node that it does not touch."""
    last = _place_for(packing, path[-1][1], noise, [n for n, _ in path])
    if last is None:
        return False
    mark, before = len(packing.journal), packing.offended()
    coming = g
    for n, going in path:
        packing.remove(going, n)
        packing.add(coming, n)
        coming = going
    packing.add(coming, last)
    if packing.offended() > before or (packing.limited and packing.broken()):
        packing.undo(mark)
        return False
    return True


def replace(packing: Packing, g: int, noise: float) -> list[int] | None:
    """Place one pod of a group and leave out others that count less; return their groups."""
    lesser = packing.lesser(g)
    rows = packing.makes_room(g)
    if packing.fixed_place[g]:
        rows &= np.isin(packing.node_at, packing.vacant_homes(g))
    less = rows if lesser is None else rows & lesser[packing.group_at]
    slot = None if lesser is None else _least_loss(packing, less, noise)
    path: Path = ()
    if slot is not None:
        victims = [(int(packing.node_at[slot]), int(packing.group_at[slot]))]
    else:
        victims = [] if lesser is None else _several(packing, g, lesser)
        if not victims:
            path, victims = _by_another(packing, g, rows, noise)
        if not victims:
            return None
    mark, before = len(packing.journal), packing.offended()
    for node, i in (*path, *victims):
        packing.remove(i, node)
    packing.add(g, path[0][0] if path else victims[0][0])
    for _, i in path:
        packing.add(i, victims[0][0])
    if packing.offended() > before or (packing.limited and packing.broken()):
        packing.undo(mark)
        return None
    return [i for _, i in victims]


def _by_another(
    packing: Packing, g: int, rows: Mask, noise: float
) -> tuple[Path, list[tuple[int, int]]]:
    """Return who makes way for a pod, and whom that one evicts, which the pod itself may not.

    ``rows``: slots whose pods make room for it.
    """
    best: tuple[tuple[int, bool, float], Path, list[tuple[int, int]]] | None = None
    tried = set[int]()
    for slot in rows.nonzero()[0].tolist():
        i = int(packing.group_at[slot])
        if i in tried or packing.placed[i] <= packing.running[i] or len(tried) >= _TRIES:
            continue
        tried.add(i)
        lesser = packing.lesser(g, by=i)
        if lesser is None:
            continue
        there = packing.makes_room(i)
        there &= lesser[packing.group_at]
        n = int(packing.node_at[slot])
        there &= packing.node_at != n
        victim = _least_loss(packing, there, noise)
        if victim is None:
            continue
        loss = _loss(packing, victim, 0.0)
        if best is None or loss < best[0]:
            victims = [(int(packing.node_at[victim]), int(packing.group_at[victim]))]
            best = loss, ((n, i),), victims
    return best[1:] if best else ((), [])


def _least_loss(packing: Packing, rows: Mask, noise: float) -> int | None:
    """Return the slot of some whose pod is left out with the least harm."""
    slots = np.flatnonzero(rows).tolist()
    if not slots:
        return None
    shift = packing.noise(len(slots))
    return min(
        zip(slots, shift.tolist(), strict=True),
        key=lambda item: _loss(packing, item[0], noise * item[1]),
    )[0]


def _loss(packing: Packing, slot: int, shift: float) -> tuple[int, bool, float]:
    """How bad it is to leave out the pod of a slot: important ones, evictions, large ones are."""
    i = int(packing.group_at[slot])
    evicted = packing.placed[i] <= packing.running[i]
    return -packing.leaving[i].placing, evicted, packing.size[i] + shift * packing.mean_size


def _several(packing: Packing, g: int, lesser: Mask) -> list[tuple[int, int]]:
    """Return two to four pods on one node that count less and together make room, or none."""
    best: tuple[tuple[int, int], list[tuple[int, int]]] | None = None
    if packing.fixed_place[g]:
        return []
    ask = packing.request[g]
    for n in packing.cleared(g, lesser, _MOST_VICTIMS).tolist():
        able = sorted(
            (i for i in packing.slot[n] if lesser[i]),
            key=lambda i: (-packing.leaving[i].placing, packing.size[i], i),
        )
        lack = [want - have for want, have in zip(ask, packing.free[:, n].tolist(), strict=True)]
        taken: list[tuple[int, int]] = []
        for i in able:
            spare = packing.placed[i] - packing.least[i]
            for _ in range(min(spare, packing.on[i][n])):
                if len(taken) < _MOST_VICTIMS and max(lack) > 0:
                    taken.append((n, i))
                    lack = [most - one for most, one in zip(lack, packing.request[i], strict=True)]
        if taken and max(lack) <= 0:
            # The fewest of the most important of them decide.
            worst = min(packing.leaving[i].placing for _, i in taken)
            rank = (-worst, sum(packing.leaving[i].placing == worst for _, i in taken))
            if best is None or rank < best[0]:
                best = rank, taken
    return best[1] if best else []


def settle(
    packing: Packing,
    loose: list[int],
    noise: float,
    best: tuple[int, ...] | None,
    over: Callable[[], bool],
) -> bool:
    """Place what is loose and what waits, the most important first; return False if it is in vain.

    Pods that fail stay unplaced. A pod that asks for at least as much as one that has just failed,
    of those whom the same nodes admit, is not tried, nor are others than the loose ones where as
    many are placed as can be. In vain is what cannot come out as good as ``best``. Ends early when
    ``over``.
    """
    queue: list[tuple[int, bool, float, int]] = []
    tosses = packing.noise(packing.count).tolist()
    back = bool(tosses) and tosses[0] < 0.5
    displaced: dict[int, int] = {}
    for g in loose:
        displaced[g] = displaced.get(g, 0) + 1
    for g in range(packing.count):
        waiting = packing.most[g] - packing.placed[g]
        size = packing.size[g] * (1 + noise * tosses[g])
        for k in range(waiting):
            rank = packing.rank(g, packing.placed[g] + k)
            known = k < displaced.get(g, 0)
            evicted = back and k < packing.running[g] - packing.placed[g]
            queue.append((rank, not known, -size if known else size - evicted, g))
    heapq.heapify(queue)
    failed: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    floor = [0] * len(packing.key)
    while queue and not over():
        rank, new, _, g = heapq.heappop(queue)
        request = packing.request[g]
        if new and (rank == NEVER or packing.key[rank] <= packing.floor[rank]):
            continue
        vain = failed[int(packing.place_class[g])]
        hopeless = any(all(x >= y for x, y in zip(request, other, strict=True)) for other in vain)
        admitted = packing.guards.none or packing.guards.admits(g)
        if admitted and not hopeless and put(packing, g, noise):
            continue
        victims = None if hopeless else replace(packing, g, noise)
        if victims is not None:
            for i in victims:
                size = packing.size[i] * (1 + noise * tosses[i])
                heapq.heappush(queue, (packing.rank(i, packing.placed[i]), False, -size, i))
            continue
        if admitted and not hopeless:
            vain.append(request)
        if best is not None:
            for i, value in packing.coming[g].unplaced:
                floor[i] += value
            if tuple(floor[: rank + 1]) > best[: rank + 1]:
                return False
    return True
