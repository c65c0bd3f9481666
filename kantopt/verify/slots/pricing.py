"""The content of each node that costs least at given prices, exactly.

Tables over the room of a piece say what the best arrivals are worth, for each room that the pods
which stay leave over: an unbounded knapsack in two amounts. Tables over what pods on all pieces
take join the pieces of a node. All is integer arithmetic.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from kantopt.verify.slots.program import Program
from kantopt.verify.slots.rooms import Counts, Kept, Rooms

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
        self.left = {piece.beyond: self._left(piece.beyond) for piece in rooms.pieces}
        """What a piece lacks, by units of room left."""
        self.pieces = _Choices([piece.choices for piece in rooms.pieces], len(program.kinds))
        self.nodes = _Choices([node.choices for node in rooms.nodes], len(program.kinds))
        self.home: Ints = np.zeros((len(rooms.nodes), len(program.kinds)), dtype=np.int64)
        for i, node in enumerate(rooms.nodes):
            homes = [node.home, *(rooms.pieces[p].home for p in node.pieces)]
            for k, pods in (item for home in homes for item in home):
                self.home[i, k] += pods
        self.several = _by(len(node.pieces) for node in rooms.nodes)
        self.welcomes = _by(node.welcome for node in rooms.nodes)

    def _left(self, beyond: int) -> Ints:
        free = [self.program.pieces.free(beyond, left) for left in range(self.shape[0])]
        return np.array([self.program.lacking(amount) for amount in free], dtype=np.int64)

    def best(self, prices: Prices) -> Priced:
        """Price the contents of all classes of nodes."""
        return Priced(self, prices)


class Priced:
    """The cheapest contents at some prices.

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
            key: self._table(*key) for key in {(piece.beyond, piece.welcome) for piece in pieces}
        }
        self._piece_costs = pricing.pieces.costs(prices.placed)
        self._node_costs = pricing.nodes.costs(prices.placed)
        self._on_piece = self._kept_on_pieces()
        self._apart = self._joined()
        self._together = self._with_arrivals(self._apart)
        choices = pricing.nodes
        totals = self._node_costs + self._together[choices.owner, choices.first, choices.second]
        self._starts = choices.cheapest(totals)
        self.costs: Ints = totals[self._starts] - pricing.home @ prices.placed

    def _table(self, beyond: int, welcome: tuple[int, ...]) -> Ints:
        """Least cost of arrivals and of what they leave, by units of room."""
        rows, columns = self._pricing.shape
        lacking = self._prices.lacking * self._pricing.left[beyond]
        table = np.repeat(lacking[:, None], columns, axis=1)
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
        pieces, choices = self._pricing.rooms.pieces, self._pricing.pieces
        joint = self._pricing.joint
        costs = np.full((len(pieces), *joint), NEVER, dtype=np.int64)
        for p, first, second, cost in zip(
            choices.owner.tolist(),
            choices.first.tolist(),
            choices.second.tolist(),
            self._piece_costs.tolist(),
            strict=True,
        ):
            piece = pieces[p]
            table = self._arrivals[piece.beyond, piece.welcome]
            i, j = piece.room[0] - first, piece.room[1] - second
            block = table[i::-1, j::-1][: joint[0], : joint[1]]
            here = costs[p, : block.shape[0], : block.shape[1]]
            np.minimum(here, block + cost, out=here)
        return costs

    def _joined(self) -> Ints:
        """Least cost of all pieces of a node, by what pods on all pieces take; (N, ...)."""
        pricing = self._pricing
        joined = np.zeros((len(pricing.rooms.nodes), *pricing.joint), dtype=np.int64)
        for several, members in pricing.several.items():
            of_members = np.array([pricing.rooms.nodes[i].pieces for i in members])
            for position in range(several):
                joined[members] += self._on_piece[of_members[:, position]]
        return joined

    def _with_arrivals(self, apart: Ints) -> Ints:
        """Let pods arrive on all pieces at once: least cost by what those take that stay."""
        together = apart.copy()
        rows, columns = self._pricing.joint
        for welcome, members in self._pricing.welcomes.items():
            table = together[members]
            for k in welcome:
                first, second = self._pricing.requests[k]
                cost = self._each[k]
                if first >= rows or second >= columns:
                    continue
                if first:
                    for end in range(rows - first, 0, -first):
                        start = max(0, end - first)
                        here = table[:, start:end, : columns - second]
                        above = table[:, start + first : end + first, second:]
                        np.minimum(here, above + cost, out=here)
                else:
                    for j in range(columns - second - 1, -1, -1):
                        here = table[:, :, j]
                        np.minimum(here, table[:, :, j + second] + cost, out=here)
            if welcome:
                together[members] = table
        return together

    def content(self, i: int) -> Content:
        """Return the cheapest content of a node of class ``i``."""
        pricing = self._pricing
        node = pricing.rooms.nodes[i]
        kept = node.choices[self._starts[i] - pricing.nodes.begin[i]]
        new, at = self._walk(self._together[i], self._apart[i], kept.load, node.welcome, 1)
        pieces, lacking = [], 0
        for p in node.pieces:
            piece = pricing.rooms.pieces[p]
            table = self._arrivals[piece.beyond, piece.welcome]
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
            left = np.broadcast_to(
                (self._prices.lacking * pricing.left[piece.beyond])[:, None], table.shape
            )
            arrived, rest = self._walk(table, left, room, piece.welcome, -1)
            pieces.append((choice.pods, arrived))
            lacking += int(pricing.left[piece.beyond][rest[0]])
        return Content(i, kept.pods, new, tuple(pieces), lacking)

    def _walk(
        self, table: Ints, end: Ints, at: tuple[int, int], welcome: Sequence[int], sign: int
    ) -> tuple[Counts, tuple[int, int]]:
        """Follow a table from an entry to where nothing more arrives; ``sign`` says which way."""
        found: dict[int, int] = {}
        while table[at] != end[at]:
            for k in welcome:
                first, second = self._pricing.requests[k]
                then = (at[0] + sign * first, at[1] + sign * second)
                inside = 0 <= then[0] < table.shape[0] and 0 <= then[1] < table.shape[1]
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
