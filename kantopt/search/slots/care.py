"""What choices of contents should keep clear of, so that the moves to them have an order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kantopt.search.order.approach import Approach
from kantopt.verify.slots.pricing import Content
from kantopt.verify.slots.program import Kind, Program
from kantopt.verify.slots.rooms import Counts, Rooms

WAITING = 0.02
"""Price of each pod that waits for others: of choices nearly as good, that with fewer."""
STUCK = 0.5
"""What is added to the price for a kind of which pods have found no room."""


@dataclass(frozen=True, slots=True)
class Care:
    """What a choice is made with.

    Attributes
    ----------
    moves
        Kept for stop-overs.
    waiting
        Price of each pod that finds room only once others have left.
    kinds
        What is added to it for pods of some kinds.
    within
        How much a content may add to the linear program's optimum: the fewer there are to choose
        from, the sooner a choice is made, by orders of magnitude.
    """

    moves: int = 0
    waiting: float = WAITING
    kinds: Mapping[int, float] = field(default_factory=dict)
    within: float = 0.125

    def price(self, waits: Mapping[int, int]) -> float:
        """Return what a content costs besides in which so many pods of each kind wait."""
        return sum(pods * (self.waiting + self.kinds.get(k, 0.0)) for k, pods in waits.items())


NONE = Care()


class Caution:
    """Care that grows with each choice whose moves have no order, and shrinks with each other one.

    Each choice has more to choose from than the one before.

    Parameters
    ----------
    kinds
        Of the program.
    exact
        Begin without prices, and with all contents that a choice can have which is less than one
        above the linear program's optimum: where moves are counted, prices would outweigh one.

    Attributes
    ----------
    care
        What the next choice should keep clear of.
    exact
        As told.
    """

    def __init__(self, kinds: Sequence[Kind], *, exact: bool) -> None:
        self._kind_of = {s: k for k, kind in enumerate(kinds) for s in kind.podsets}
        self.exact = exact
        self.care = Care(0, 0.0, {}, 1.0) if exact else NONE

    def widen(self) -> None:
        """Let the next choice have more to choose from: the last one found nothing to learn of."""
        self.care = replace(self.care, within=2 * self.care.within)

    def learn(self, reached: Approach) -> None:
        """Take note of what had to be left out of the last choice."""
        within = 2 * self.care.within
        if reached.complete:
            prices = {k: price / 2 for k, price in self.care.kinds.items()}
            self.care = replace(self.care, kinds=prices, within=within)
            return
        prices = dict(self.care.kinds)
        for s in {change.podset for unit in reached.stuck for change in unit.changes}:
            if s in self._kind_of:
                k = self._kind_of[s]
                prices[k] = prices.get(k, 0.0) + STUCK
        self.care = Care(self.care.moves + reached.lacking, WAITING, prices, within)


class Waiting:
    """Tells which pods of a content find room only once others have left its node.

    Where only such pods move, nobody can be the first: there is no order without a stop-over.
    """

    def __init__(self, program: Program, rooms: Rooms) -> None:
        self._requests = [kind.ask.request for kind in program.kinds]
        self._rooms = rooms

    def kinds(self, content: Content) -> dict[int, int]:
        """Return the pods that arrive, by kind, if there is no room for all of them as it is."""
        node = self._rooms.nodes[content.node_class]
        joint, arriving = self._taken(node.home), self._taken(content.new)
        full = False
        for p, (_, new) in zip(node.pieces, content.pieces, strict=True):
            piece = self._rooms.pieces[p]
            here, more = self._taken(piece.home), self._taken(new)
            for i in (0, 1):
                coming = arriving[i] + more[i]
                full = full or 0 < coming > piece.room[i] - joint[i] - here[i]
        found: dict[int, int] = {}
        if full:
            for counts in (content.new, *(new for _, new in content.pieces)):
                for k, pods in counts:
                    found[k] = found.get(k, 0) + pods
        return found

    def _taken(self, counts: Counts) -> tuple[int, int]:
        """What pods take of each piece."""
        first = sum(pods * self._requests[k][0] for k, pods in counts)
        return first, sum(pods * self._requests[k][1] for k, pods in counts)
