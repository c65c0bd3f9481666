"""The content of each node that costs least at given prices, exactly.

Tables over the room of a piece say what the best arrivals are worth, for each room that the pods
which stay leave over: an unbounded knapsack in two amounts. Tables over what pods on all pieces
take join the pieces of a node. All is integer arithmetic; what is the same for many classes is
worked out for all of them at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kantopt.verify.slots.pieces import Two
from kantopt.verify.slots.program import Program
from kantopt.verify.slots.rooms import Counts, Kept, Lack, Rooms

Ints = NDArray[np.int64]
Key = TypeVar("Key", bound=Hashable)

NEVER = 2**56
"""More than any content costs; sums of some dozens of it do not overflow."""


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of a pod that is placed, of one that arrives besides, by kind; of what pieces lack."""

    placed: Ints
    arrival: Ints
    lacking: int


@dataclass(frozen=True, slots=True)
class Content:
    """What a node of a class holds: pods that stay and that arrive, on all pieces and on each.

    ``lacking`` is what its pieces lack in all.
    """

    node_class: int
    kept: Counts
    new: Counts
    pieces: tuple[tuple[Counts, Counts], ...]
    lacking: int


class Pricing:
    """Finds the cheapest contents of a program's nodes."""

    def __init__(self, program: Program, rooms: Rooms) -> None:
        self.program = program
        self.rooms = rooms
        self.requests = [kind.ask.request for kind in program.kinds]
        self.shape = (
            1 + max((piece.room[0] for piece in rooms.pieces), default=0),
            1 + max((piece.room[1] for piece in rooms.pieces), default=0),
        )
        wide = any(node.welcome or node.home for node in rooms.nodes)
        self.joint = self.shape if wide else (1, 1)
        """Amounts that pods on all pieces may take of each."""
        self.left = {piece.lack: self._left(*piece.lack) for piece in rooms.pieces}
        """What a piece lacks, by units of room left of both amounts."""
        self.pieces = _Choices([piece.choices for piece in rooms.pieces], len(program.kinds))
        self.nodes = _Choices([node.choices for node in rooms.nodes], len(program.kinds))
        self.on_pieces = self.pieces.alike(
            [(piece.room, piece.lack, piece.welcome) for piece in rooms.pieces]
        )
        self.on_nodes = self.nodes.alike([node.welcome for node in rooms.nodes])
        self.home: Ints = np.zeros((len(rooms.nodes), len(program.kinds)), dtype=np.int64)
        for i, node in enumerate(rooms.nodes):
            homes = [node.home, *(rooms.pieces[p].home for p in node.pieces)]
            for k, pods in (item for home in homes for item in home):
                self.home[i, k] += pods
        self.several = _by(len(node.pieces) for node in rooms.nodes)
        order = [i for members in self.several.values() for i in members]
        self.row: Ints = np.argsort(np.array(order, dtype=np.int64))
        """Of each class of nodes, where it is in tables by node."""
        self.part_of = {
            several: np.array([rooms.nodes[i].pieces for i in members], dtype=np.int64).T
            for several, members in self.several.items()
        }
        # Tables that are filled anew at each pricing: new memory takes longer than the sums.
        self.on_piece: Ints = np.empty((len(rooms.pieces), *self.joint), dtype=np.int64)
        self.apart: Ints = np.empty((len(rooms.nodes), *self.joint), dtype=np.int64)
        self.spare: Ints = np.empty_like(self.apart)

    def _left(self, beyond: int, counts: bool, full: Two | None) -> Ints:
        if not counts:
            return np.zeros(self.shape, dtype=np.int64)
        if full is not None:
            in_use = np.ones(self.shape, dtype=np.int64)
            in_use[full] = 0
            return in_use
        free = [self.program.pieces.free(beyond, left) for left in range(self.shape[0])]
        lacking = np.array([self.program.lacking(amount) for amount in free], dtype=np.int64)
        return np.repeat(lacking[:, None], self.shape[1], axis=1)

    def best(self, prices: Prices) -> Priced:
        """Price the contents of all classes of nodes."""
        return Priced(self, prices)


class Priced:
    """The cheapest contents at some prices, until others are priced.

    Attributes
    ----------
    costs
        Of the cheapest content of a node of each class, less that of the pods there now.
    """

    def __init__(self, pricing: Pricing, prices: Prices) -> None:
        self._pricing = pricing
        self._prices = prices
        self._each = prices.placed + prices.arrival
        pieces = pricing.rooms.pieces
        self._arrivals = {
            key: self._table(*key) for key in {(piece.lack, piece.welcome) for piece in pieces}
        }
        self._piece_costs = pricing.pieces.costs(prices.placed)
        self._node_costs = pricing.nodes.costs(prices.placed)
        self._on_piece = self._kept_on_pieces()
        self._apart = self._joined()
        welcomes = {node.welcome for node in pricing.rooms.nodes}
        self._wide = {welcome: self._on_all_pieces(welcome) for welcome in welcomes}
        choices = pricing.nodes
        totals = self._node_costs + self._with_arrivals()
        self._starts = choices.cheapest(totals)
        self.costs: Ints = totals[self._starts] - pricing.home @ prices.placed

    def _table(self, lack: Lack, welcome: tuple[int, ...]) -> Ints:
        """Least cost of arrivals and of what they leave, by units of room."""
        return self._with_pods(self._prices.lacking * self._pricing.left[lack], welcome)

    def _with_pods(self, table: Ints, welcome: Sequence[int]) -> Ints:
        """Let any number of pods of each kind take room, where it lowers the cost; in place."""
        rows, columns = table.shape
        for k in welcome:
            first, second = self._pricing.requests[k]
            cost = self._each[k]
            if first >= rows or second >= columns:
                continue
            if first:
                for i in range(first, rows, first):
                    here = table[i : i + first, second:]
                    below = table[i - first : i - first + len(here), : columns - second]
                    np.minimum(here, below + cost, out=here)
            else:
                for j in range(second, columns):
                    np.minimum(table[:, j], table[:, j - second] + cost, out=table[:, j])
        return table

    def _kept_on_pieces(self) -> Ints:
        """Least cost of a piece, by what pods on all pieces take of it; (P, ...)."""
        pricing, choices = self._pricing, self._pricing.pieces
        joint = pricing.joint
        costs = pricing.on_piece
        costs.fill(NEVER)
        for (room, lack, welcome), first, second, members in pricing.on_pieces:
            i, j = room[0] - first, room[1] - second
            block = self._arrivals[lack, welcome][i::-1, j::-1][: joint[0], : joint[1]]
            owners, rows, columns = choices.owner[members], *block.shape
            found = self._piece_costs[members, None, None] + block
            costs[owners, :rows, :columns] = np.minimum(costs[owners, :rows, :columns], found)
        return costs

    def _joined(self) -> Ints:
        """Least cost of all pieces of a node, by what pods on all pieces take; (N, ...)."""
        pricing, begin = self._pricing, 0
        pricing.apart.fill(0)
        for parts in pricing.part_of.values():
            rows = slice(begin, begin + parts.shape[1])
            for pieces in parts:
                part = pricing.spare[: len(pieces)]
                np.take(self._on_piece, pieces, axis=0, out=part, mode="clip")
                pricing.apart[rows] += part
            begin = rows.stop
        return pricing.apart

    def _on_all_pieces(self, welcome: Sequence[int]) -> Ints:
        """Least cost of pods that arrive on all pieces at once, by what they take of each."""
        table = np.full(self._pricing.joint, NEVER, dtype=np.int64)
        table[0, 0] = 0
        return self._with_pods(table, welcome)

    def _with_arrivals(self) -> Ints:
        """Least cost of what a node has beside the pods on all pieces that stay, by choice."""
        pricing, owner = self._pricing, self._pricing.nodes.owner
        found = np.empty(len(owner), dtype=np.int64)
        for welcome, first, second, members in pricing.on_nodes:
            beside = self._beside(owner[members], welcome, first, second)
            found[members] = beside.min(axis=(1, 2))
        return found

    def _beside(self, nodes: Ints, welcome: tuple[int, ...], first: int, second: int) -> Ints:
        """Cost of all but what stays on all pieces, by what arrives on all pieces; (N, ...)."""
        table = self._pricing.spare[: len(nodes)]
        np.take(self._apart, self._pricing.row[nodes], axis=0, out=table, mode="clip")
        beside = table[:, first:, second:]
        beside += self._wide[welcome][: beside.shape[1], : beside.shape[2]]
        return beside

    def content(self, i: int) -> Content:
        """Return the cheapest content of a node of class ``i``."""
        pricing = self._pricing
        node = pricing.rooms.nodes[i]
        kept = node.choices[self._starts[i] - pricing.nodes.begin[i]]
        beside = self._beside(np.array([i]), node.welcome, *kept.load)[0]
        row, column = divmod(int(beside.argmin()), beside.shape[1])
        none = np.full(self._pricing.joint, NEVER, dtype=np.int64)
        none[0, 0] = 0
        new, _ = self._walk(self._wide[node.welcome], none, (row, column), node.welcome)
        at = (kept.load[0] + row, kept.load[1] + column)
        pieces, lacking = [], 0
        for p in node.pieces:
            piece = pricing.rooms.pieces[p]
            table = self._arrivals[piece.lack, piece.welcome]
            target = self._on_piece[p][at]
            begin = pricing.pieces.begin[p]
            for c, choice in enumerate(piece.choices):
                room = (
                    piece.room[0] - choice.load[0] - at[0],
                    piece.room[1] - choice.load[1] - at[1],
                )
                fits = room[0] >= 0 and room[1] >= 0
                if fits and self._piece_costs[begin + c] + table[room] == target:
                    break
            left = self._prices.lacking * pricing.left[piece.lack]
            arrived, rest = self._walk(table, left, room, piece.welcome)
            pieces.append((choice.pods, arrived))
            lacking += int(pricing.left[piece.lack][rest])
        return Content(i, kept.pods, new, tuple(pieces), lacking)

    def _walk(
        self, table: Ints, end: Ints, at: tuple[int, int], welcome: Sequence[int]
    ) -> tuple[Counts, tuple[int, int]]:
        """Follow a table from an entry to where nothing more arrives."""
        found: dict[int, int] = {}
        while table[at] != end[at]:
            for k in welcome:
                first, second = self._pricing.requests[k]
                then = (at[0] - first, at[1] - second)
                inside = then[0] >= 0 and then[1] >= 0
                if inside and table[then] + self._each[k] == table[at]:
                    found[k] = found.get(k, 0) + 1
                    at = then
                    break
        return tuple(sorted(found.items())), at


class _Choices:
    """The ways to keep pods of all classes, one after the other as arrays."""

    def __init__(self, of_class: Sequence[Sequence[Kept]], kinds: int) -> None:
        flat = [(i, choice) for i, choices in enumerate(of_class) for choice in choices]
        self.owner: Ints = np.array([i for i, _ in flat], dtype=np.int64)
        self.first: Ints = np.array([choice.load[0] for _, choice in flat], dtype=np.int64)
        self.second: Ints = np.array([choice.load[1] for _, choice in flat], dtype=np.int64)
        sizes = np.array([0, *(len(choices) for choices in of_class)], dtype=np.int64)
        self.begin: Ints = np.cumsum(sizes)[:-1]
        self._end: Ints = np.cumsum(sizes)[1:]
        self._pods: Ints = np.zeros((len(flat), kinds), dtype=np.int64)
        for row, (_, choice) in enumerate(flat):
            for k, pods in choice.pods:
                self._pods[row, k] = pods

    def alike(self, of_class: Sequence[Key]) -> list[tuple[Key, int, int, Ints]]:
        """Choices of classes with equal keys that take the same of each piece: key, load, places.

        Of one class there is one choice in each group.
        """
        groups: dict[tuple[Key, int, int, int], list[int]] = {}
        seen: dict[tuple[int, int, int], int] = {}
        loads = zip(self.owner.tolist(), self.first.tolist(), self.second.tolist(), strict=True)
        for place, load in enumerate(loads):
            seen[load] = seen.get(load, 0) + 1
            key = (of_class[load[0]], load[1], load[2], seen[load])
            groups.setdefault(key, []).append(place)
        return [(key, i, j, np.array(places)) for (key, i, j, _), places in groups.items()]

    def costs(self, placed: Ints) -> Ints:
        """Price of the pods that each choice keeps."""
        return self._pods @ placed

    def cheapest(self, totals: Ints) -> Ints:
        """Place of the cheapest choice of each class."""
        return np.array(
            [
                begin + int(np.argmin(totals[begin:end]))
                for begin, end in zip(self.begin.tolist(), self._end.tolist(), strict=True)
            ],
            dtype=np.int64,
        )


def _by(keys: Iterable[Key]) -> dict[Key, list[int]]:
    """Positions of equal keys."""
    found: dict[Key, list[int]] = {}
    for i, key in enumerate(keys):
        found.setdefault(key, []).append(i)
    return found
