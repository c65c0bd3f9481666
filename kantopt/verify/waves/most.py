"""The most that a sum can come to in any state that the waves of a plan can reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from kantopt.verify.waves.order import Order


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
        self._chain = order.is_chain(self.listed)

    def can_exceed(self, limit: int) -> bool:
        """Whether adding up all that could ever come exceeds a limit: if not, no order does."""
        return self.base + sum(share.peak for share in self.shares.values()) > limit

    def most_while(self, p: int, limit: int, own: int) -> int:
        """Return the most it can be while wave ``p`` runs, or any more that is within ``limit``.

        Nothing that waits for ``p`` has begun, all that ``p`` waits for is done, and every other
        wave is at any stage that its own order allows. ``own`` is what ``p`` adds by then.
        """
        if self._chain and p in self.shares:
            return self.base + own + sum(self.shares[q].total for q in self.listed if q < p)
        fixed = self.base + own
        beside = []
        for q in self.listed:
            if self.order.precedes(q, p):
                fixed += self.shares[q].total
            elif q != p and not self.order.precedes(p, q):
                beside.append(q)
        easy = fixed + sum(self.shares[q].peak for q in beside)
        return easy if easy <= limit else fixed + self._most_of(beside)

    def most(self) -> int:
        """Return the most it can be in any state."""
        return self.base + self._most_of(self.listed)

    def _most_of(self, among: Sequence[int]) -> int:
        """Return the most that some waves add, each begun only after those it waits for."""
        return sum(
            self._most_of_chain(part)
            if self.order.is_chain(part)
            else _largest_closure(self.order, self.shares, part)
            for part in ([among] if self._chain else self.order.apart(among))
        )

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
        for other in _latest_before(order, q, among):
            graph.add_edge((q, 0), (other, 2))
    return gain - int(nx.minimum_cut_value(graph, "source", "sink"))


def _latest_before(order: Order, q: int, among: Iterable[int]) -> list[int]:
    """Waves that ``q`` waits for, less those that another of them waits for."""
    latest: list[int] = []
    covered = 0
    for other in sorted((p for p in among if order.precedes(p, q)), reverse=True):
        if not covered >> other & 1:
            latest.append(other)
            covered |= order.before[other]
    return latest
