"""What ties pod sets to each other, under other numbers: for questions made of parts of others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from kantopt.problem.cluster import Budget
from kantopt.problem.job import Affinity, AntiAffinity, Even, Role, Spread, TopologyNeed, Wish


class Reindexed:
    """New numbers of pod sets and jobs, and all that names some of them by these.

    Of several pod sets named, those without a new number are left out; several may share one.

    Parameters
    ----------
    podset_of, job_of
        New numbers by old ones; owners must have one.
    nodes
        Turns a set of nodes into the same under their new numbers.
    """

    def __init__(
        self,
        podset_of: Mapping[int, int],
        job_of: Mapping[int, int],
        nodes: Callable[[frozenset[int]], frozenset[int]] = lambda nodes: nodes,
    ) -> None:
        self.podset_of, self.job_of, self._nodes = podset_of, job_of, nodes
        self._known: dict[int, tuple[tuple[int, ...], tuple[int, ...]]] = {}

    def podsets(self, old: tuple[int, ...]) -> tuple[int, ...]:
        """Return new numbers of some pod sets; one tuple for all who share theirs."""
        if id(old) not in self._known:
            new = sorted({self.podset_of[s] for s in old if s in self.podset_of})
            self._known[id(old)] = old, tuple(new)  # what is kept keeps its identity
        return self._known[id(old)][1]

    def role(self, role: Role) -> Role:
        """Return a role with its pod sets."""
        running = None if role.running is None else self.podset_of.get(role.running)
        pending = None if role.pending is None else self.podset_of.get(role.pending)
        return Role(role.name, role.count, role.min_count, running, pending)

    def needs(self, needs: Iterable[TopologyNeed]) -> tuple[TopologyNeed, ...]:
        """Return topology needs, numbered as they come."""
        return tuple(
            replace(need, index=i, job=self.job_of[need.job]) for i, need in enumerate(needs)
        )

    def anti_affinities(self, terms: Iterable[AntiAffinity]) -> tuple[AntiAffinity, ...]:
        """Return the terms that keep a pod away from some pod sets still."""
        found = (
            AntiAffinity(self.podset_of[term.owner], term.key, self.podsets(term.others))
            for term in terms
        )
        return tuple(term for term in found if term.others)

    def spreads(self, spreads: Iterable[Spread]) -> tuple[Spread, ...]:
        """Return spread constraints."""
        return tuple(
            replace(
                spread,
                owner=self.podset_of[spread.owner],
                counted=self.podsets(spread.counted),
                over=self._nodes(spread.over),
            )
            for spread in spreads
        )

    def affinities(self, affinities: Iterable[Affinity]) -> tuple[Affinity, ...]:
        """Return affinities, those to nobody as well."""
        return tuple(
            replace(near, owner=self.podset_of[near.owner], anchors=self.podsets(near.anchors))
            for near in affinities
        )

    def budgets(self, budgets: Sequence[Budget]) -> tuple[Budget, ...]:
        """Return budgets, numbered as they come."""
        return tuple(
            replace(budget, index=i, podsets=self.podsets(budget.podsets))
            for i, budget in enumerate(budgets)
        )

    def wishes(self, wishes: Iterable[Wish]) -> tuple[Wish, ...]:
        """Return wishes to be near some pods, or away from them."""
        return tuple(
            replace(wish, owner=self.podset_of[wish.owner], others=self.podsets(wish.others))
            for wish in wishes
        )

    def evens(self, evens: Iterable[Even]) -> tuple[Even, ...]:
        """Return wishes to lie evenly."""
        return tuple(
            replace(even, counted=self.podsets(even.counted), over=self._nodes(even.over))
            for even in evens
        )
