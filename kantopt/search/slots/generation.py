"""Column generation: contents priced, chosen by a linear program, priced again.

The linear program's multipliers, rounded to integers, bound the optimum by Lagrangian relaxation
of what links the nodes: the pods that there are of each kind, and the rows that are limited
(Dantzig and Wolfe 1960). The bound is worked out in integers alone: it holds whatever the floats
were.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from kantopt.cp.masters.contents import Column, ContentProgram, Frame, Point
from kantopt.cp.solver import Effort
from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement
from kantopt.search.slots.care import NONE, Care, Waiting
from kantopt.verify.slots.bound import LARGEST, Links, Weights
from kantopt.verify.slots.pricing import Content, Priced, Pricing
from kantopt.verify.slots.program import Program
from kantopt.verify.slots.rooms import Rooms
from kantopt.verify.slots.rows import MOVES

FINEST = 2**20
"""Integer units in a price of one, unless prices are so high that sums would overflow."""
NARROW, WIDE, WIDEST = 0.1, 1.0, 1e6
"""First half width of the box that prices are kept in, and its last.

Around good prices a narrow one takes a third of the rounds that one ten times as wide takes; where
a number of slots is to be reached by few moves the first prices are no good, and a narrow box keeps
the better ones out.
"""
HIGHEST = 4.0
"""Highest price of a unit of a limit at first; it grows with the box."""
MOVES_PER_SLOT = 2
"""What a slot takes at the margin, where single moves make none any more: for first prices."""
MOST_NEW = 60
"""Most contents to add in a round: prices that are far off yet make many that are of no use."""
FEWER = 0.1
"""Cost of all pods arriving: of plans that are equal otherwise, those with few moves are sought."""
SHAKE = 0.1
"""Most by which prices are changed to find other contents that are nearly as cheap.

Not a share of them: where a slot costs dozens of moves, that would be dozens of moves as well.
"""


class Generation:
    """The contents known of one program, and the best bound so far.

    Attributes
    ----------
    bound
        Lower bound on the tier for plans no worse than the program's values above it.
    weights
        The multipliers that prove it, if it is above 0.
    final
        More rounds could not raise the bound.
    ended
        More rounds could not lower the linear program's optimum either.
    """

    def __init__(self, program: Program, rooms: Rooms, contents: Sequence[Content] = ()) -> None:
        self._program = program
        self._inverse = not program.weights[0] or program.minimised.target is not None
        self._rooms = rooms
        self._pricing = Pricing(program, rooms)
        self._links = links = Links(self._pricing)
        frame = Frame(links.nodes, links.least, links.most, links.limits, FEWER / links.pods)
        self._lp = ContentProgram(frame)
        self.contents: list[Content] = []
        self._waiting = Waiting(program, rooms)
        self._waits: list[Mapping[int, int]] = []
        self._known: set[Content] = set()
        self.bound = 0
        self.weights: Weights | None = None
        self._best = -math.inf
        self._point: Point | None = None
        self._centre = self._worth()
        self._narrowest = self._spread = WIDE if self._inverse else NARROW
        self._box()
        self.final = self.ended = False
        for i in range(len(rooms.nodes)):
            self._add(self._as_it_is(i))
        for content in contents:
            self._add(content)

    def round(self) -> None:
        """Solve the linear program, price the contents, add those that would lower its optimum."""
        self._point = point = self._lp.solve()
        priced, unit = self._priced(point.prices, point.rows)
        gains = unit * (np.array(point.classes) - 1e-7) - priced.costs
        most = [i for i in np.argsort(-gains, kind="stable")[:MOST_NEW].tolist() if gains[i] > 0]
        added = [self._add(priced.content(i)) for i in most]
        if any(added):
            value = self._program.value(math.ceil(point.value + self._links.constant - FEWER))
            self.final = not point.forced and self.bound >= value
        elif point.forced and self._spread < WIDEST:
            self._spread *= 8
            self._box()
        else:
            self.final = self.ended = True

    def widen(self, rng: random.Random) -> None:
        """Add contents that cost little more than the cheapest: whole numbers may need them.

        They are the cheapest at prices near those of the linear program.
        """
        point = self._point or self._lp.solve()
        prices = [price + rng.uniform(-SHAKE, SHAKE) for price in point.prices]
        rows = [max(0.0, price + rng.uniform(-SHAKE, SHAKE)) for price in point.rows]
        priced, _ = self._priced(prices, rows)
        for i, least in enumerate(point.classes):
            content = priced.content(i)
            column = self._column(content)
            cost = column.cost + sum(point.prices[k] * pods for k, pods in column.change)
            cost += sum(x * amount for x, amount in zip(point.rows, column.rows, strict=True))
            if cost < least + 1:
                self._add(content)

    def _priced(self, prices: Sequence[float], rows: Sequence[float]) -> tuple[Priced, int]:
        """Price the contents and take the bound; return also the integer unit of costs."""
        weights = self._rounded(prices, rows)
        priced = self._pricing.best(self._links.prices(weights))
        unit, total = weights.unit, self._links.total(priced.costs.tolist(), weights)
        if total / unit > self._best:
            self._best, self._centre = total / unit, list(prices)
        bound = self._program.value(-(-total // unit))
        if bound > self.bound:
            self.bound, self.weights = bound, weights
        return priced, unit

    def choose(self, effort: Effort, base: Placement, care: Care = NONE) -> Placement | None:
        """Return the best placement that whole numbers of the known contents make, if any does.

        Nothing is proved of it: rules beside the room of the pieces are for others to judge. Pods
        that take nothing of the pieces are where ``base`` has them.

        Parameters
        ----------
        care
            What is to be kept clear of, so that the moves have an order.
        """
        self._waits += map(self._waiting.kinds, self.contents[len(self._waits) :])
        limits = [
            limit - care.moves if name == MOVES else limit
            for name, limit in zip(self._program.names[1:], self._links.limits, strict=True)
        ]
        dearer = [care.price(waits) for waits in self._waits]
        chosen = self._lp.choose(effort, limits, dearer, care.within)
        if chosen is None:
            return None
        taken = [(c, count) for c, count in zip(self.contents, chosen, strict=True) if count]
        return placement_of(self._program, self._rooms, taken, base)

    def _rounded(self, prices: Sequence[float], rows: Sequence[float]) -> Weights:
        """Multipliers in integers, as fine as the tables can bear."""
        pods, lacking = self._links.dearest()
        most = pods + lacking * sum(self._program.weights)
        highest = max(1.0, *map(abs, prices), *rows)
        unit = max(1, min(FINEST, int(LARGEST / 2 / (highest * max(1, most)))))
        return Weights(
            [round(unit * price) for price in prices],
            [unit, *(round(unit * price) for price in rows)],
            round(unit * FEWER / self._links.pods),
        )

    def _box(self) -> None:
        self._lp.box(self._centre, self._spread, HIGHEST * self._spread / self._narrowest)

    def _worth(self) -> list[float]:
        """Prices to begin with: the whole slots in what a pod takes, and its own move.

        Just its share of slots where a number of them is to be reached: what a slot then costs in
        moves is not known.
        """
        program = self._program
        if program.ideal is None:
            return [0.0] * len(program.kinds)
        unit, size = program.pieces.unit, program.slot
        taken = [(kind.ask.width, kind.ask.request[0] * unit) for kind in program.kinds]
        if self._inverse:
            return [-width * amount / size for width, amount in taken]
        return [-width * (amount // size) - 1 / MOVES_PER_SLOT for width, amount in taken]

    def _as_it_is(self, i: int) -> Content:
        node = self._rooms.nodes[i]
        pieces = [self._rooms.pieces[p] for p in node.pieces]
        requests = self._pricing.requests
        lacking = 0
        for piece in pieces:
            here = (*node.home, *piece.home)
            first, second = (
                room - sum(pods * requests[k][i] for k, pods in here)
                for i, room in enumerate(piece.room)
            )
            lacking += int(self._pricing.left[piece.lack][first, second])
        return Content(i, node.home, (), tuple((piece.home, ()) for piece in pieces), lacking)

    def learn(self, placement: Placement) -> None:
        """Add what whole nodes hold in a placement: with a plan at hand prices are soon good."""
        kind_of = {s: k for k, kind in enumerate(self._program.kinds) for s in kind.podsets}
        held = defaultdict[int, Counter[int]](Counter)
        for s, k in kind_of.items():
            for spot, pods in placement.podsets[s].items():
                held[spot.node][k] += pods
        for i, node in enumerate(self._rooms.nodes):
            if len(node.pieces) == 1:
                home = dict(self._rooms.pieces[node.pieces[0]].home)
                for n, _ in node.nodes:
                    self._add(self._holding(i, home, held[n]))

    def _holding(self, i: int, home: Mapping[int, int], held: Mapping[int, int]) -> Content:
        """Return the content of a node of one piece that holds some pods, by kind."""
        piece = self._rooms.pieces[self._rooms.nodes[i].pieces[0]]
        kept = {k: min(pods, home.get(k, 0)) for k, pods in sorted(held.items())}
        new = tuple((k, pods - kept[k]) for k, pods in sorted(held.items()) if pods > kept[k])
        first, second = (
            room - sum(pods * self._pricing.requests[k][r] for k, pods in held.items())
            for r, room in enumerate(piece.room)
        )
        lacking = int(self._pricing.left[piece.lack][first, second])
        counts = tuple((k, pods) for k, pods in kept.items() if pods), new
        return Content(i, (), (), (counts,), lacking)

    def _add(self, content: Content) -> bool:
        """Add a content as a column unless it is known."""
        if content in self._known:
            return False
        self._known.add(content)
        self.contents.append(content)
        self._lp.add(self._column(content))
        return True

    def _column(self, content: Content) -> Column:
        change = -self._pricing.home[content.node_class]
        arrived = np.zeros_like(change)
        for kept, new in ((content.kept, content.new), *content.pieces):
            for k, pods in kept:
                change[k] += pods
            for k, pods in new:
                change[k] += pods
                arrived[k] += pods
        lacking = content.lacking * np.array(self._program.weights, dtype=np.int64)
        rows = self._links.arrival @ arrived - self._links.missing @ change + lacking
        placed = [(k, int(change[k])) for k in np.flatnonzero(change).tolist()]
        return Column(
            content.node_class, int(rows[0]), int(arrived.sum()), placed, rows[1:].tolist()
        )


def placement_of(
    program: Program, rooms: Rooms, chosen: Sequence[tuple[Content, int]], base: Placement
) -> Placement | None:
    """Return the placement of contents, each taken by a number of nodes of its class.

    Pods that a content keeps stay; those that must leave, and then pending ones, take the spots
    where pods arrive, in order. Pods that take nothing of the pieces are where ``base`` has them.
    ``None`` if pods need devices beside the pieces: those are not chosen here.
    """
    instance = program.instance
    also = 0 if program.tier.device_class is None else 1
    if any(len(instance.podsets[s].devices) != also for s in program.pieces.asks):
        return None
    stay: list[dict[Spot, int]] = [{} for _ in program.kinds]
    free: list[list[Spot]] = [[] for _ in program.kinds]
    used = [0] * len(rooms.nodes)
    for content, count in chosen:
        i = content.node_class
        nodes = rooms.nodes[i].nodes[used[i] : used[i] + count]
        used[i] += count
        for n, order in nodes:
            everywhere = _spot(program, n, range(len(order)))
            parts = [(everywhere, content.kept, content.new)]
            parts += [
                (_spot(program, n, (position,)), *pods)
                for position, pods in zip(order, content.pieces, strict=True)
            ]
            for spot, kept, new in parts:
                for k, pods in kept:
                    stay[k][spot] = pods
                for k, pods in new:
                    free[k] += [spot] * pods
    changes: dict[int, dict[Spot, int]] = {}
    for kind, room, spots in zip(program.kinds, stay, free, strict=True):
        away = []
        for s in kind.podsets:
            podset = instance.podsets[s]
            here: dict[Spot, int] = {}
            for spot, pods in podset.current.items():
                here[spot] = min(pods, room.get(spot, 0))
                room[spot] = room.get(spot, 0) - here[spot]
            changes[s] = here
            away += [s] * (podset.count - sum(here.values()))
        for s, spot in zip(away, spots, strict=False):
            changes[s][spot] = changes[s].get(spot, 0) + 1
    return base.replace({s: dict(sorted(spots.items())) for s, spots in changes.items()})


def _spot(program: Program, n: int, positions: Sequence[int]) -> Spot:
    """The spot on some of a node's pieces."""
    devices = (program.pieces.of_node[n][position].device for position in positions)
    return Spot(n, tuple(sorted(d for d in devices if d is not None)))
