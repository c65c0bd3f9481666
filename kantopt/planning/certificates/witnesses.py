"""Which bounds arithmetic alone proves, and by what numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING, Literal

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.answers import plan as docs
from kantopt.schema.answers.certificate import (
    CertifiedTier,
    Formula,
    Multiplier,
    RegionView,
    Witness,
)
from kantopt.schema.model import Rule
from kantopt.search.engine.known import Bound, Known, Source
from kantopt.shares import CONTENT_PRICES, NODE_PRICES
from kantopt.verify.rules import check
from kantopt.verify.witness.check import proved_bound, words_of_witness
from kantopt.verify.witness.prices import OutOfTimeError
from kantopt.verify.witness.regions import View
from kantopt.verify.witness.rows import PriceRows, price_rows

if TYPE_CHECKING:
    from kantopt.verify.changes.pricing import Prices

COMBINATORIAL = Witness(formula="combinatorial")
ON_MERGED_PODS = Witness(formula="combinatorial on merged pods")
FEW_TURNS = 40
"""How often to change prices of moves: the search does it more often and tells of its own."""
LONGEST = 2**63 - 1
"""The largest number that every reader of YAML and JSON takes for a whole one."""
_SOURCES: dict[Formula, Source] = {
    "combinatorial": "arithmetic",
    "combinatorial on merged pods": "relaxation-search",
    "multipliers": "column-generation",
    "shares": "column-generation",
    "contents": "column-generation",
    "changes": "column-generation",
    "domains": "column-generation",
}


def as_judged(instance: Instance, placement: Placement) -> Instance:
    """Return the question whose plans bounds speak of: those that leave out what is required only
    if the placement judged does so as well.
    """
    if not instance.required or not check(instance, placement, (Rule.REQUIRED,)):
        return instance
    return replace(instance, required=frozenset())


def in_64_bits(denominator: int, values: Mapping[str, int]) -> tuple[int, Mapping[str, int]]:
    """Return multipliers in lowest terms, rounded down as far as they are longer than 64 bits.

    YAML reads longer numbers as floats, so that a certificate would not read again. The bound is
    worked out from what is returned.
    """
    shared = gcd(denominator, *values.values())
    longest = max((denominator, *values.values())) // shared
    parts = denominator // shared
    kept = max(1, parts // (1 + longest // LONGEST))
    return kept, {row: min(k // shared * kept // parts, LONGEST) for row, k in values.items()}


class Witnesses:
    """Bounds by arithmetic for plans that are no worse than one placement, tier by tier.

    Parameters
    ----------
    instance, tiers
        The question.
    placement, values
        A placement and its values in the tiers.
    deadline
        Until when bounds may be worked out.
    """

    def __init__(
        self,
        instance: Instance,
        tiers: Sequence[Tier],
        placement: Placement,
        values: Sequence[int],
        deadline: Deadline,
    ) -> None:
        self.deadline = deadline
        self.instance = as_judged(instance, placement)
        self.tiers = tuple(tiers)
        self.placement = placement
        self.values = tuple(values)
        self._best: dict[int, tuple[int, Witness]] = {}
        self._prices: Prices | None = None
        for i in range(len(self.tiers)):
            for witness in (COMBINATORIAL, ON_MERGED_PODS):
                self._take(i, witness)

    def bound(self, i: int) -> int:
        """Return the best bound so far on tier ``i``, given the values above it."""
        return self._best[i][0]

    def _locks(self, i: int) -> dict[Tier, int]:
        """Values of the tiers above one, which the bounds on it may take for granted."""
        return dict(zip(self.tiers[:i], self.values[:i], strict=True))

    def closed(self, i: int) -> bool:
        """Whether the value of tier ``i`` is its bound."""
        return self.bound(i) >= self.values[i]

    def look(self, deadline: Deadline, kept: float = 0.0) -> None:
        """Look for multipliers that close the tiers still open, or bring them nearer.

        ``kept`` are the seconds to leave of the time.
        """
        deadline = deadline.less(kept)
        for i in range(len(self.tiers)):
            if deadline.over():
                return
            if not self.closed(i):
                self._look_at(i, deadline)

    def hear(self, known: Known) -> None:
        """Take the numbers that a search has found, if they say anything of this question."""
        for bound in known.numbered():
            numbers = bound.numbers
            if numbers is not None and not self.closed(bound.tier):
                # A search that has joined tiers, or looked at a part, has other rows.
                with contextlib.suppress(ValueError):
                    self._try(bound.tier, numbers.formula, numbers.denominator, dict(numbers.rows))

    def tell(self, known: Known) -> None:
        """Add what is proved to what is known.

        A plan has no witnesses, so that for one these bounds are what others of their kind are.
        """
        for i, (bound, witness) in self._best.items():
            known.add(Bound(i, bound, self.values[:i], _SOURCES[witness.formula]))

    def _take(self, i: int, witness: Witness) -> None:
        asked = (self.instance, self.tiers, i, self._locks(i))
        try:
            bound = proved_bound(witness, *asked, self.deadline.over)
        except OutOfTimeError:
            return
        if i not in self._best or bound > self.bound(i):
            self._best[i] = bound, witness

    def _look_at(self, i: int, deadline: Deadline) -> None:
        """Try multipliers of contents, of all nodes taken as one, of shares, by node and domain."""
        looks = (
            *(self._by_contents, self._by_rows, self._by_shares, self._by_changes),
            *(self._by_nodes, self._by_domains),
        )
        for look in looks:
            if self.closed(i) or deadline.over():
                return
            look(i, deadline)

    def _by_shares(self, i: int, deadline: Deadline) -> None:
        from kantopt.search.cutting import cutting_prices

        found = cutting_prices(self.instance, self.tiers, self.values, i, deadline)
        if found is not None:
            self._try(i, "shares", found.denominator, found.multipliers)

    def _by_contents(self, i: int, deadline: Deadline) -> None:
        from kantopt.search.slots.prices import slot_prices

        part = deadline.share(CONTENT_PRICES)
        asked = (self.instance, self.tiers, self.values, i, part.over)
        found = slot_prices(*asked, self.placement)
        if found is not None:
            self._try(i, "contents", *found)

    def _by_changes(self, i: int, deadline: Deadline) -> None:
        from kantopt.search.repair.bound import change_prices

        asked = (self.instance, self.tiers, self.values, i, deadline.over, FEW_TURNS)
        found = change_prices(*asked, self._prices)
        if found is not None:
            self._prices = found.prices
            self._try(i, "changes", found.denominator, found.multipliers)

    def _by_nodes(self, i: int, deadline: Deadline) -> None:
        from kantopt.cp.masters.node_prices import node_prices_of

        rows = price_rows(self.instance, self.tiers, i, self._locks(i))
        if rows is None or rows.is_bare:
            return
        # To work the bound out again takes no longer than one round did.
        part = deadline.share(NODE_PRICES)
        found = node_prices_of(rows, self.values[i], part.over)
        if found is not None:
            self._try(i, "multipliers", *found)

    def _by_domains(self, i: int, deadline: Deadline) -> None:
        from kantopt.cp.masters.domain_prices import domain_prices_of, views_of
        from kantopt.verify.witness.domains import domain_rows

        for view in views_of(self.instance, self.tiers, i):
            if self.closed(i) or deadline.over():
                return
            try:
                rows = domain_rows(self.instance, self.tiers, i, self._locks(i), view)
            except ValueError:  # nothing that such domains could say of this tier
                continue
            part = deadline.share(NODE_PRICES)
            found = domain_prices_of(rows, self.values[i], part.over)
            if found is not None:
                self._try(i, "domains", *found, view=view)

    def _by_rows(self, i: int, deadline: Deadline) -> None:
        from kantopt.cp.masters.multipliers import DENOMINATOR, multipliers_of

        rows = price_rows(self.instance, self.tiers, i, self._locks(i))
        if rows is None:
            return
        self._try(i, "multipliers", DENOMINATOR, multipliers_of(rows, deadline.remaining()))
        if not self.closed(i) and not deadline.over() and any(rows.objective.out):
            self._by_prices(i, rows, deadline)

    def _by_prices(self, i: int, rows: PriceRows, deadline: Deadline) -> None:
        from kantopt.search.columns.generation import prices_of
        from kantopt.verify.disturbance import DISRUPTION

        if self.tiers[i].metric not in DISRUPTION:
            return
        merged = rows.merged
        prices = prices_of(
            merged.instance,
            merged.tiers(self.tiers),
            self.values,
            merged.shrink(self.placement),
            i,
            deadline.cuts,
        )
        if prices is None:
            return
        counted = {
            group.name: max(prices.pods.get(s, 0) for s in group.podsets) for group in rows.groups
        }
        tiers = {f"tier {self.tiers[j].name}": k for j, k in prices.tiers.items()}
        counted |= {name: k for name, k in tiers.items() if name in rows.locks}
        self._try(i, "multipliers", prices.scale, counted)

    def _try(
        self,
        i: int,
        formula: Formula,
        denominator: int,
        values: Mapping[str, int],
        view: View | None = None,
    ) -> None:
        denominator, values = in_64_bits(denominator, values)
        multipliers = tuple(Multiplier(row=row, value=k) for row, k in values.items() if k)
        if multipliers:
            made = Witness(
                formula=formula,
                denominator=denominator,
                multipliers=multipliers,
                view=None
                if view is None
                else RegionView(level=view.level, resource=view.resource, step=view.step),
            )
            self._take(i, made)

    def certified(self, rows: Sequence[docs.Tier]) -> tuple[CertifiedTier, ...]:
        """Give each tier the best of its bounds; of equal ones that by arithmetic.

        Parameters
        ----------
        rows
            What else is known of each tier.
        """
        return tuple(self._certified(i, row) for i, row in enumerate(rows))

    def _certified(self, i: int, row: docs.Tier) -> CertifiedTier:
        bound, proved_by, given = row.bound, row.proved_by, row.given
        witness: Witness | None = None
        if bound is None or self.bound(i) >= bound:
            bound, witness = self._best[i]
            proved_by, given = "arithmetic", self._given(i)
        # A placement that no plan of ours may make can have less than any that may.
        bound = min(bound, row.value)
        if witness is not None:
            says = words_of_witness(witness, self.tiers[i], bound)
            witness = witness.model_copy(update={"says": says})
        status: Literal["OPTIMAL", "FEASIBLE"] = "OPTIMAL" if bound == row.value else "FEASIBLE"
        told = {name: getattr(row, name) for name in (*docs.Tiered.model_fields, "value")}
        return CertifiedTier(
            **told,
            bound=bound,
            gap=row.value - bound,
            status=status,
            proved_by=proved_by,
            given=given,
            witness=witness,
        )

    def _given(self, i: int) -> tuple[str, ...]:
        """Tiers that the bound takes for granted: none if it holds without them as well."""
        bound, witness = self._best[i]
        names = tuple(tier.name for tier in self.tiers[:i])
        if any(multiplier.row.startswith("tier ") for multiplier in witness.multipliers):
            return names
        try:
            alone = proved_bound(witness, self.instance, self.tiers, i, {}, self.deadline.over)
        except (ValueError, OutOfTimeError):  # without the tiers above rows can be others
            return names
        return () if alone >= bound else names
