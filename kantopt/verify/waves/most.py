"""The most that a sum can come to in any state that the waves of a plan can reach."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from kantopt.verify.waves.order import Order, bits_of


class Share(NamedTuple):
    """What one wave adds to a sum: when it starts, when its restarts are back, when it is done.

    ``start`` is never negative, so that the sum is largest with all that may have started.
    """

    start: int = 0
    back: int = 0
    done: int = 0

    def plus(self, start: int = 0, back: int = 0, done: int = 0) -> Share:
        """Return the share with more of each."""
        return Share(self.start + start, self.back + back, self.done + done)

    @property
    def total(self) -> int:
        """What is left of it once the wave is done."""
        return self.start + self.back + self.done

    @property
    def peak(self) -> int:
        """The most that it comes to at any stage, not begun included."""
        return max(0, self.start, self.start + self.back, self.total)


Shares = Mapping[int, Share]
"""Shares by position of the wave."""
_Of = TypeVar("_Of", bound=Hashable)


class Ledger(dict[_Of, dict[int, Share]]):
    """Shares of several sums, by what they are of, while they are collected."""

    def note(self, of: _Of, p: int, start: int = 0, back: int = 0, done: int = 0) -> None:
        """Add to the share that wave ``p`` has of a sum."""
        at = self.setdefault(of, {})
        at[p] = at.get(p, Share()).plus(start, back, done)

    def change(self, of: _Of, p: int, amount: int, *, restart: bool = False) -> None:
        """Add what comes, as soon as the wave starts, or goes (below 0), once it is done.

        What restarts has gone before it comes.
        """
        if restart:
            self.note(of, p, back=amount)
        elif amount > 0:
            self.note(of, p, start=amount)
        else:
            self.note(of, p, done=amount)


class Sum:
    """A number that waves change, such as the load of a node.

    Parameters
    ----------
    order
        The order of the waves.
    shares
        What each wave adds to it.
    base
        What it is before any wave.
    """

    def __init__(self, order: Order, shares: Shares, base: int = 0) -> None:
        self.order = order
        self.shares = shares
        self.base = base
        self.listed = sorted(shares)
        self._all = sum(1 << p for p in self.listed)
        self._done: dict[int, int] = {0: 0}
        self._peaks: dict[int, int] = {}
        self._most: dict[int, int] = {}
        self._parts: dict[int, int] = {}

    def can_exceed(self, limit: int) -> bool:
        """Whether adding up all that could ever come exceeds a limit: if not, no order does."""
        return self.base + sum(share.peak for share in self.shares.values()) > limit

    def most_while(self, p: int, limit: int, own: int) -> int:
        """Return the most it can be while wave ``p`` runs, or any more that is within ``limit``.

        Nothing that waits for ``p`` has begun, all that ``p`` waits for is done, and every other
        wave is at any stage that its own order allows. ``own`` is what ``p`` adds by then.
        """
        fixed = self.base + own + self._done_of(self.order.before[p] & self._all)
        # No wave beside ``p`` waits for it or is waited for by it, so that what ``p`` could come
        # to is a term of its own; and waves with the same others before and after share the rest.
        if p in self.shares:
            fixed -= self.shares[p].peak
        beside = self._all & ~self.order.related(p)
        if beside not in self._peaks:
            self._peaks[beside] = sum(self.shares[q].peak for q in bits_of(beside))
        easy = fixed + self._peaks[beside]
        return easy if easy <= limit else fixed + self._most_of(beside)

    def beyond(self, limit: int) -> Iterator[tuple[int, int]]:
        """Yield the waves, by id, with whose start it may exceed a limit, and how much it is."""
        if not self.can_exceed(limit):
            return
        for p in self.listed:
            start = self.shares[p].start
            if start and (most := self.most_while(p, limit, start)) > limit:
                yield self.order.waves[p].id, most

    def most(self) -> int:
        """Return the most it can be in any state."""
        return self.base + self._most_of(self._all)

    def _done_of(self, mask: int) -> int:
        """Return what some waves have added once they are done."""
        total, rest = 0, mask
        while rest not in self._done:
            last = rest.bit_length() - 1
            total += self.shares[last].total
            rest ^= 1 << last
        self._done[mask] = total + self._done[rest]
        return self._done[mask]

    def _most_of(self, mask: int) -> int:
        """Return the most that some waves add, each begun only after those it waits for."""
        if mask not in self._most:
            self._most[mask] = sum(map(self._most_of_part, self.order.apart(mask)))
        return self._most[mask]

    def _most_of_part(self, mask: int) -> int:
        if mask not in self._parts:
            among = list(bits_of(mask))
            self._parts[mask] = (
                self._most_of_chain(among)
                if self.order.is_chain(among)
                else _largest_closure(self.order, self.shares, among)
            )
        return self._parts[mask]

    def _most_of_chain(self, among: Sequence[int]) -> int:
        best = reached = 0
        for q in among:
            share = self.shares[q]
            best = max(best, reached + share.peak)
            reached += share.total
        return best


def _largest_closure(order: Order, shares: Shares, among: Sequence[int]) -> int:
    """Return the weight of the heaviest set of stages that holds what each of them waits for.

    A maximum-weight closure, by the minimum cut of Picard (1976): stages with a gain hang on the
    source, stages with a loss on the sink, and a stage pulls those it waits for.
    """
    weights = [weight for q in among for weight in shares[q]]
    gain = sum(weight for weight in weights if weight > 0)
    if not gain or min(weights) >= 0:
        return gain
    import networkx as nx  # here, since it takes longer to load than most plans to order

    everyone = sum(1 << q for q in among)
    graph: nx.DiGraph[object] = nx.DiGraph()
    for q in among:
        share = shares[q]
        for stage, weight in enumerate(share):
            if weight > 0:
                graph.add_edge("source", (q, stage), capacity=weight)
            elif weight < 0:
                graph.add_edge((q, stage), "sink", capacity=-weight)
        graph.add_edge((q, 1), (q, 0))
        graph.add_edge((q, 2), (q, 1))
        for other in _latest_before(order, q, everyone):
            graph.add_edge((q, 0), (other, 2))
    return gain - int(nx.minimum_cut_value(graph, "source", "sink"))


def _latest_before(order: Order, q: int, among: int) -> Iterator[int]:
    """Waves that ``q`` waits for, less those that another of them waits for."""
    rest = order.before[q] & among
    while rest:
        last = rest.bit_length() - 1
        yield last
        rest &= ~(order.before[last] | 1 << last)
