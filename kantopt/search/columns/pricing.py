"""The most profitable change of each node at given prices: exact, all nodes in one batch.

A pattern takes some of a node's pods away and lets others arrive. Branch and bound in two parts,
as arrays over all nodes at once: first which pods leave, then, pod by pod, which arrive in the
room. The first is bounded by multipliers of the resources, the second by a coarse knapsack of all
that may still arrive. All is integer arithmetic; where there are too many cases to look at them
all, the bound of those left out is what counts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kantopt.search.columns.multipliers import Multipliers
from kantopt.search.columns.patterns import Pattern
from kantopt.search.columns.program import Program
from kantopt.search.columns.table import Table
from kantopt.search.shapes import Ints, Mask

MOST_CASES = 20_000
"""Cases that are kept from one step to the next."""


@dataclass(frozen=True, slots=True)
class Cases:
    """Pods that leave a node, case by case (M).

    Attributes
    ----------
    node
        Node of each case; (M,).
    room
        Room there once they have left, at least 0; (R, M).
    spent
        What it costs that they leave; (M,).
    outs
        Pods that leave per spot of the node; (M, width).
    left_out
        Per node, what no case gains more than that was dropped without a look; (N,).
    """

    node: Ints
    room: Ints
    spent: Ints
    outs: Ints
    left_out: Ints

    def only(self, rows: Mask) -> Cases:
        """Return some of the cases."""
        return Cases(
            self.node[rows], self.room[:, rows], self.spent[rows], self.outs[rows], self.left_out
        )


class Leaving:
    """Groups at home on each node, and what they leave free.

    Attributes
    ----------
    spots
        Groups that may leave each node; the number of groups where there is none; (N, width).
    pods
        Pods of theirs; (N, width).
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        loose = np.where(program.still[:, None], 0, program.home)
        groups, nodes = loose.shape
        self.free: Ints = program.room - program.ask @ program.home
        width = max(1, int((loose > 0).sum(axis=0).max(initial=0)))
        self.spots: Ints = np.full((nodes, width), groups, dtype=np.int64)
        for n in range(nodes):
            here = np.flatnonzero(loose[:, n])
            self.spots[n, : len(here)] = here
        nobody = np.zeros((1, nodes), dtype=np.int64)
        self.pods: Ints = np.vstack([loose, nobody])[self.spots, np.arange(nodes)[:, None]]
        self._ask: Ints = np.hstack([program.ask, np.zeros((len(program.ask), 1), np.int64)])
        largest = np.maximum(program.room.max(axis=1, keepdims=True), 1)
        self._room: Ints = np.minimum(self._ask, largest)

    def cases(self, multipliers: Multipliers, leave: Ints, free: Mask, most: Ints) -> Cases:
        """Enumerate what may leave each node, as long as what can arrive then may be worth it.

        Parameters
        ----------
        multipliers
            Of what may arrive.
        leave
            Cost of a pod that leaves; (G,).
        free
            Groups whose pods cost no more where they leave than they are worth where they
            arrive: they all leave, those that had better stay arrive again; (G,).
        most
            Gains per node that are of no interest, nor are lower ones; (N,).
        """
        nodes, width = self.spots.shape
        cost, free = np.append(leave, 0), np.append(free, False)
        gain = multipliers.worth(self._room) - cost
        hope = np.maximum(gain, 0)[:, self.spots] * self.pods
        ahead = np.zeros((len(gain), nodes, width + 1), dtype=np.int64)
        ahead[:, :, :-1] = hope[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
        node = np.arange(nodes)
        room = self.free
        spent = np.zeros(nodes, dtype=np.int64)
        outs = np.zeros((nodes, width), dtype=np.int64)
        left_out = np.zeros(nodes, dtype=np.int64)
        for p in range(width + 1):
            bound = (multipliers.worth(np.maximum(room, 0)) + ahead[:, node, p]).min(axis=0) - spent
            keep = highest(bound, bound > most[node], MOST_CASES, node, left_out)
            node, room, spent, outs = node[keep], room[:, keep], spent[keep], outs[keep]
            if p == width:
                break
            g, pods = self.spots[node, p], self.pods[node, p]
            times = np.where(free[g], 1, pods + 1)
            parent = np.repeat(np.arange(len(node)), times)
            k = np.arange(len(parent)) - np.repeat(times.cumsum() - times, times)
            k = np.where(free[g][parent], pods[parent], k)
            node, outs = node[parent], outs[parent]
            outs[:, p] = k
            room = room[:, parent] + self._ask[:, g[parent]] * k
            spent = spent[parent] + cost[g[parent]] * k
        cases = Cases(node, np.maximum(room, 0), spent, outs, left_out)
        return cases.only(_undominated(cases))


def highest(bound: Ints, keep: Mask, most: int, node: Ints, left_out: Ints) -> Mask:
    """Keep no more than ``most`` of some cases, the highest; note the bounds of the others."""
    indices = np.flatnonzero(keep)
    if len(indices) <= most:
        return keep
    indices = indices[bound[indices].argsort(kind="stable")]
    dropped = indices[:-most]
    np.maximum.at(left_out, node[dropped], bound[dropped])
    chosen = np.zeros_like(keep)
    chosen[indices[-most:]] = True
    return chosen


def _undominated(cases: Cases) -> Mask:
    """Whether no other case of the node leaves at least as much room for at most the cost."""
    node, room, spent = cases.node, cases.room, cases.spent
    keep = np.ones(len(node), dtype=np.bool_)
    order = np.lexsort((-room.sum(axis=0), spent, node))
    if not len(node):
        return keep
    for here in np.split(order, np.flatnonzero(np.diff(node[order])) + 1):
        index = np.arange(len(here))
        worse = (index < index[:, None]) & (spent[here] <= spent[here][:, None])
        for row in room[:, here]:
            worse &= row >= row[:, None]
        keep[here] = ~worse.any(axis=1)
    return keep


FEW = 400
"""Cases up to which a coarse table will do."""
CELLS = (1 << 13, 1 << 16)
LIMITS = (3_000, 20_000)
"""Cases of what arrives that are kept from one step to the next: usually, and for a last look."""

Bits = NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Priced:
    """What a round of pricing says.

    Attributes
    ----------
    most
        Per node a number that the gain of no pattern exceeds, at least 0; (N,).
    patterns
        Profitable patterns.
    exact
        Whether no case was left out that could gain more than these.
    """

    most: Ints
    patterns: list[Pattern]
    exact: bool


class Pricing:
    """Finds profitable patterns of a program's nodes."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.leaving = Leaving(program)
        self.limit = LIMITS[0]
        fits = np.ones(program.home.shape, dtype=np.bool_)
        for ask, room in zip(program.ask, program.room, strict=True):
            fits &= ask[:, None] <= np.maximum(room, 0)
        self._fits = fits
        self._cap: Ints = np.where(program.welcome, program.count[:, None] - program.home, 0)

    def best(self, prices: Ints, leave: Ints, floor: Ints, each: int = 0) -> Priced:
        """Find the pattern of each node that gains most.

        Parameters
        ----------
        prices
            What a pod of each group is worth where it arrives, at least 0; (G,).
        leave
            What it costs to take one away, at least its price; (G,).
        floor
            Gains per node that need not be found again; (N,).
        each
            If positive, so many of the patterns of each node and size that gain more than
            ``floor``, which may be negative then.
        """
        free = (leave == prices) & ~self.program.still
        cap = np.where(self._fits, self._cap + np.where(free[:, None], self.program.home, 0), 0)
        worth = np.flatnonzero((prices > 0) & (cap > 0).any(axis=1))
        most = floor.copy() if each else np.maximum(floor, 0)
        if not len(worth):
            return Priced(np.maximum(most, 0), [], True)
        multipliers = Multipliers(self.program.ask[:, worth], prices[worth], self.program.room)
        order = worth[multipliers.order]
        cases = self.leaving.cases(multipliers, leave, free, most)
        arriving = _Arriving(self.leaving, order, self.program.ask[:, order], prices[order], each)
        if len(cases.node):
            arriving.search(cases, cap[order].T, most, self.limit)
        exact = bool((cases.left_out <= most).all())
        return Priced(np.maximum(most, cases.left_out), arriving.found, exact)


class _Arriving:
    """Adds arriving pods one by one, in the order of what they are worth for their room."""

    def __init__(self, leaving: Leaving, order: Ints, ask: Ints, worth: Ints, each: int) -> None:
        self.leaving = leaving
        self.order = order
        self.ask = ask
        self.worth = worth
        self.each = each
        self.found: list[Pattern] = []

    def search(self, cases: Cases, cap: Ints, most: Ints, limit: int) -> None:
        """Find the best patterns and raise ``most`` to their gains.

        Parameters
        ----------
        cap
            Pods of each place of the order that may arrive on each node; (N, K).
        """
        ask, worth = self.ask, self.worth
        for cells in CELLS:
            table = Table(ask, worth, cap.max(axis=0), cases.room.max(axis=1), cells)
            bound = table.most(cases.room, 0) - cases.spent
            keep = bound > most[cases.node]
            cases, bound = cases.only(keep), bound[keep]
            if len(cases.node) <= FEW:
                break
        cases = cases.only(
            highest(bound, bound > most[cases.node], limit, cases.node, cases.left_out)
        )
        node, room, gain = cases.node, cases.room, -cases.spent
        places = np.arange(len(worth))
        better, used_up = _better(ask, worth), _bits(cap <= 0)[node]
        last, run = np.zeros(len(node), dtype=np.int64), np.zeros(len(node), dtype=np.int64)
        levels: list[tuple[Ints, Ints]] = []
        while len(node):
            fits = (places >= last[:, None]) & (cap[node] > 0)
            for r in range(len(ask)):
                fits &= ask[r] <= room[r][:, None]
            tight = run >= cap[node, last]
            fits[tight, last[tight]] = False
            parent, place = fits.nonzero()
            room = room[:, parent] - ask[:, place]
            gain = gain[parent] + worth[place]
            bound = gain + table.most(room, place)
            keep = bound > most[node[parent]]
            if not self.each:
                keep &= ~(better[place] & ~used_up[parent]).any(axis=1)
            parent, place, room = parent[keep], place[keep], room[:, keep]
            gain, bound = gain[keep], bound[keep]
            run = np.where(place == last[parent], run[parent], 0) + 1
            node = node[parent]
            self._note(cases, [*levels, (parent, place)], node, gain, most)
            keep = highest(bound, bound > most[node], limit, node, cases.left_out)
            levels.append((parent[keep], place[keep]))
            node, room, gain = node[keep], room[:, keep], gain[keep]
            last, run = place[keep], run[keep]
            used_up = used_up[parent[keep]]
            full = np.flatnonzero(run >= cap[node, last])
            used_up[full, last[full] >> 6] |= np.uint64(1) << (last[full] & 63).astype(np.uint64)

    def _note(
        self,
        cases: Cases,
        levels: list[tuple[Ints, Ints]],
        node: Ints,
        gain: Ints,
        most: Ints,
    ) -> None:
        """Note the best of each node among the last level, where it is better than before."""
        better = np.flatnonzero(gain > most[node])
        if not len(better):
            return
        better = better[np.lexsort((gain[better], node[better]))]
        end = np.append(np.flatnonzero(np.diff(node[better])), len(better) - 1)
        rank = np.repeat(end, np.diff(end, prepend=-1)) - np.arange(len(better))
        for index in better[rank < max(1, self.each)].tolist():
            self.found.append(self._pattern(cases, levels, index))
            if not self.each:
                most[node[index]] = gain[index]

    def _pattern(self, cases: Cases, levels: list[tuple[Ints, Ints]], row: int) -> Pattern:
        """Trace a case of the last level back; what leaves and arrives again has stayed."""
        net: dict[int, int] = {}
        for parent, place in reversed(levels):
            g = int(self.order[place[row]])
            net[g] = net.get(g, 0) + 1
            row = int(parent[row])
        n = int(cases.node[row])
        for p in np.flatnonzero(cases.outs[row]).tolist():
            g = int(self.leaving.spots[n, p])
            net[g] = net.get(g, 0) - int(cases.outs[row, p])
        return Pattern(
            n,
            tuple((g, -k) for g, k in sorted(net.items()) if k < 0),
            tuple((g, k) for g, k in sorted(net.items()) if k > 0),
        )


def _bits(flags: Mask) -> Bits:
    """Pack flags (M, K) into words (M, K / 64), least bit first."""
    padded = np.zeros((len(flags), -(-flags.shape[1] // 64) * 64), dtype=np.bool_)
    padded[:, : flags.shape[1]] = flags
    packed: Bits = np.packbits(padded, axis=1, bitorder="little").view(np.uint64)
    return packed


def _better(ask: Ints, worth: Ints) -> Bits:
    """Per place, the earlier ones that ask for no more and are worth no less, as bits.

    Some best pattern has no pod in whose stead such a one could arrive.
    """
    places = np.arange(len(worth))
    flags = (places < places[:, None]) & (worth >= worth[:, None])
    for row in ask:
        flags &= row <= row[:, None]
    return _bits(flags)
