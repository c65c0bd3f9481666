"""What is known of the optimum: lower bounds, each with what it takes for granted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics import bound_of, values_above

if TYPE_CHECKING:
    from kantopt.schema.answers.certificate import Formula

Source = Literal["arithmetic", "relaxation-search", "column-generation", "cp-sat"]
"""What proves a bound: formulas; a search in a relaxed question; a linear program over patterns of
change per node, its multipliers checked in integers; CP-SAT on the whole question."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """What a bound can be worked out from again: a formula, and what each of its rows counts."""

    formula: Formula
    denominator: int
    rows: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Bound:
    """A lower bound on one tier for all plans that are no worse than ``locks`` above it."""

    tier: int
    bound: int
    locks: tuple[int, ...]
    """Values of the tiers above, one each."""
    source: Source
    numbers: Numbers | None = None
    """Kept where finding them takes long; they are for rows that merged pods have as well."""


class Known:
    """Bounds of one question, and the best that applies to given tier values."""

    def __init__(self, instance: Instance, tiers: Sequence[Tier]) -> None:
        self._instance = instance
        self._tiers = tuple(tiers)
        self._proved: list[list[Bound]] = [[] for _ in tiers]
        self._arithmetic: dict[tuple[int, ...], tuple[int, bool]] = {}
        self._in_haste = False

    def add(self, bound: Bound) -> None:
        """Take a proved bound."""
        self._proved[bound.tier].append(bound)

    def make_haste(self) -> None:
        """Work out no more bounds by arithmetic: what is not known by now stays open."""
        self._in_haste = True

    def bound(self, i: int, values: Sequence[int]) -> Bound:
        """Return the highest bound on tier ``i`` for plans no worse than ``values`` above it.

        Its ``locks`` are empty if it holds for all plans whatsoever.
        """
        best = self._by_arithmetic(i, values)
        for bound in self._proved[i]:
            applies = all(v <= lock for v, lock in zip(values[:i], bound.locks, strict=True))
            if applies and bound.bound > best.bound:
                best = bound
        return best

    def proved(self) -> tuple[Bound, ...]:
        """Return all bounds that were taken, by tier."""
        return tuple(bound for proved in self._proved for bound in proved)

    def numbered(self) -> tuple[Bound, ...]:
        """Return the bounds that come with the numbers to work them out again."""
        return tuple(bound for bound in self.proved() if bound.numbers)

    def bounds(self, values: Sequence[int]) -> tuple[int, ...]:
        """Return the bound of each tier for plans no worse than ``values`` in the tiers above."""
        return tuple(self.bound(i, values).bound for i in range(len(self._tiers)))

    def optimal(self, values: Sequence[int]) -> bool:
        """Whether no plan is better than one with these values."""
        return all(self.bound(i, values).bound >= values[i] for i in range(len(self._tiers)))

    def _by_arithmetic(self, i: int, values: Sequence[int]) -> Bound:
        above = values_above(self._tiers, values, i)
        key = (i, *above.values())
        if key not in self._arithmetic:
            if self._in_haste:
                return Bound(i, 0, (), "arithmetic")
            tier = self._tiers[i]
            alone = bound_of(tier, self._instance, {})
            given = bound_of(tier, self._instance, above)
            self._arithmetic[key] = (max(given, alone), given > alone)
        bound, by_locks = self._arithmetic[key]
        return Bound(i, bound, tuple(values[:i]) if by_locks else (), "arithmetic")
