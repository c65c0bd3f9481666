"""Meet in the middle (Horowitz and Sahni 1974): all ways to share out the pods of two nodes."""

from __future__ import annotations

import random
from dataclasses import dataclass

import numpy as np

from kantopt.search.chains.packing import Packing
from kantopt.search.shapes import Ints, Mask

HALF_WAYS = 1 << 7
"""Ways to share out either half of the pods; where there are more, some pods stay put."""
MOST_FITTING = 1 << 12
"""Ways for both halves together that are looked at; of more only some are."""

_NOTHING = 1e-9

Changes = list[tuple[int, int]]
"""Group, and by how many of its pods the first node gains."""


@dataclass(slots=True)
class _Half:
    """Some groups and all ways to share out their pods.

    ``ways`` holds a column per way: of each resource what the pods on the first node ask for, and
    at last how many pods are at home. Digit ``i`` of a column's number, to the base
    ``pods[i] + 1``, says how many pods of ``groups[i]`` are on the first node.
    """

    groups: list[int]
    pods: list[int]
    ways: Ints

    def changes(self, packing: Packing, first: int, way: int) -> Changes:
        """Return what a way changes."""
        found = []
        for g, k in zip(self.groups, self.pods, strict=True):
            way, pods = divmod(way, k + 1)
            found.append((g, pods - packing.on[g].get(first, 0)))
        return [(g, more) for g, more in found if more]


def share_out(
    packing: Packing,
    first: int,
    second: int,
    wanted: Ints,
    shut: Mask,
    moves: float,
    rng: random.Random,
) -> Changes:
    """Share out the pods of two nodes so that the second lacks least for what is wanted there.

    The ways for one half of the pods are sorted, so that those which fit a way for the other half
    are next to each other: subset sums by meeting in the middle (Horowitz and Sahni 1974).

    Parameters
    ----------
    wanted
        Amount of each resource that should become free on the second node.
    shut
        Groups whose pods stay where they are.
    moves
        What a pod away from home counts against room for a pod of mean size.

    Returns
    -------
    Changes
        None if nothing is better than what is.
    """
    packing.looked += 1
    found = sorted({*packing.slot[first], *packing.slot[second]})
    rows = packing.rows_of(found)
    halves, now = _halves(packing, found, rows, first, second, shut, rng)
    mine = now[:-1]
    # Of each resource the pods on the first node ask for at most this, and for at least that.
    most = packing.free[rows, first] + mine
    least = mine - packing.free[rows, second]
    left, right, loads = _meeting(halves[0].ways, halves[1].ways, least, most)
    if not len(left):
        return []
    enough = least + wanted[rows]
    weights = packing.weight[rows]
    price = (halves[0].ways[-1].take(left) + halves[1].ways[-1].take(right)) * -moves
    before = -moves * float(now[-1])
    for r, load in enumerate(loads):
        weight = float(weights[r])
        price += np.maximum(0, enough[r] - load) * weight
        before += max(0, int(enough[r] - mine[r])) * weight
    best = int(price.argmin())
    if price[best] >= before - _NOTHING:
        return []
    return [
        change
        for half, way in zip(halves, (left[best], right[best]), strict=True)
        for change in half.changes(packing, first, int(way))
    ]


def carry_over(packing: Packing, first: int, second: int, changes: Changes) -> None:
    """Make the changes of :func:`share_out`, unless neighbours object to them together."""
    mark, before = len(packing.journal), packing.offended()
    for g, more in changes:
        source, goal = (second, first) if more > 0 else (first, second)
        for _ in range(abs(more)):
            packing.remove(g, source)
            packing.add(g, goal)
    if packing.offended() > before:
        packing.undo(mark)


def _halves(
    packing: Packing,
    found: list[int],
    rows: Ints | slice,
    first: int,
    second: int,
    shut: Mask,
    rng: random.Random,
) -> tuple[list[_Half], Ints]:
    """Divide the groups of which both nodes may take pods; return also how they are now."""
    rng.shuffle(found)
    kept = rows if isinstance(rows, slice) else np.append(rows, packing.resources)
    now = np.zeros(packing.resources + 1, dtype=np.int64)[kept]
    halves = [_Half([], [], np.zeros((len(now), 1), dtype=np.int64)) for _ in "ab"]
    counts = [1, 1]
    for g in found:
        allowed = packing.allowed[g]
        if shut[g] or (allowed is not None and not (allowed[first] and allowed[second])):
            continue
        on = packing.on[g]
        pods = on.get(first, 0)
        k = pods + on.get(second, 0)
        h = counts[0] > counts[1]
        if counts[h] * (k + 1) > HALF_WAYS:
            continue
        counts[h] *= k + 1
        half = halves[h]
        step = packing.shares(g, k, first, second)[kept]
        now += step[:, pods]
        half.ways = (step[:, :, None] + half.ways[:, None, :]).reshape(len(step), -1)
        half.groups.append(g)
        half.pods.append(k)
    return halves, now


def _meeting(one: Ints, other: Ints, least: Ints, most: Ints) -> tuple[Ints, Ints, list[Ints]]:
    """Return which ways of two halves go together so that both nodes hold their pods.

    Also what the pods on the first node then ask for, per resource.
    """
    order = other[0].argsort()
    sums = other[0, order]
    low = sums.searchsorted(least[0] - one[0], "left")
    # Of nodes that hold more than they have, the most that one may hold is below the least.
    pairs = np.maximum(sums.searchsorted(most[0] - one[0], "right") - low, 0)
    rows = pairs.nonzero()[0]
    total = int(pairs.sum())
    if total > MOST_FITTING:
        rows = rows[:: 1 + total // MOST_FITTING]
    low, pairs = low[rows], pairs[rows]
    ends = pairs.cumsum()
    left = rows.repeat(pairs)
    right = order.take(np.arange(len(left)) + (low - ends + pairs).repeat(pairs))
    loads = [one[0].take(left) + other[0].take(right)]
    for r in range(1, len(least)):
        load = one[r].take(left) + other[r].take(right)
        keep = ((load >= least[r]) & (load <= most[r])).nonzero()[0]
        left, right = left.take(keep), right.take(keep)
        loads = [*(known.take(keep) for known in loads), load.take(keep)]
    return left, right, loads
