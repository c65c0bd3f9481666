"""All ways in which it may be who of those that are alike makes room: each is a packing of its own.

Where some of several gangs go that nothing tells apart but their places, the regions that are left
differ from way to way. The closest packing of all ways is the least there is; ways that no plan as
good as the best can be are left out from there on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from ortools.sat.python.cp_model import CpModel, CpSolver

from kantopt.cp.relaxed.domains import DomainRelaxation
from kantopt.cp.relaxed.leaving import leaving
from kantopt.cp.relaxed.packing import Packing, Parts
from kantopt.cp.relaxed.settled import Settled
from kantopt.cp.relaxed.together import Together, standing_for_certain, together
from kantopt.cp.variables import Terms, weighted
from kantopt.problem.tiers import Tier

Solver = Callable[[], CpSolver]
"""Makes a solver with as much time as it may take."""


@dataclass(slots=True)
class Way:
    """What is settled in one way, and the packings of a tier that follow."""

    settled: Settled
    standing: int
    """Domains beyond the fewest of gangs that certainly stay as they are."""
    close: tuple[Together, ...]
    packed: int = field(init=False)
    """A bound on what is packed, as far as is known: first by counting."""

    def __post_init__(self) -> None:
        self.packed = sum(each.packing.at_least() for each in self.close)

    @property
    def at_least(self) -> int:
        """A bound on the tier in this way."""
        return self.standing + self.packed

    def model(self, m: DomainRelaxation) -> CpModel:
        """Return a copy of the model of a relaxation, in this way."""
        self.spread(m)  # whose variables are in the copy as well then
        cp = m.cp.clone()
        self.settled.apply(m, cp)
        return cp

    def spread(self, m: DomainRelaxation) -> Terms:
        """Return what the gangs use beyond the fewest domains, as terms."""
        return [term for each in self.close for term in each.spread(m)]


@dataclass(frozen=True, slots=True)
class Closest:
    """The way and the parts that use the fewest domains, if any were found.

    ``least`` is a bound over all ways, ``packed`` one on the gangs that are packed alone.
    """

    least: int
    packed: int
    way: Way | None = None
    parts: tuple[Parts, ...] = ()


class Ways:
    """The ways that are left, and the packings that were solved, each once for all tiers.

    Parameters
    ----------
    m
        The relaxation that says what the gangs and their domains are.
    settled
        What all plans have in common that are as good as the best one.
    """

    def __init__(self, m: DomainRelaxation, settled: Settled) -> None:
        self._m = m
        self._left = settled.ways()
        self._solved: list[tuple[Packing, bool, tuple[int, Parts | None]]] = []
        self._ways: dict[Tier, list[Way]] = {}

    def closest(
        self, tier: Tier, solver: Solver, calm: Solver, over: Callable[[], bool]
    ) -> Closest:
        """Return the closest packings of a tier, as far as they were found in time.

        First without regions that gangs share, which is found in no time. Where that does not
        meet the bound of another way, regions are shared in that one.

        Parameters
        ----------
        solver, calm
            For a packing, and for one that moves as little as can be.
        over
            Says whether the time for all is up.
        """
        ways = self._of(tier)
        best: tuple[int, Way, list[Parts]] | None = None
        for share in (False, True):
            for way in sorted(ways, key=lambda way: way.at_least):
                if over() or (best is not None and best[0] <= way.at_least):
                    break
                solved = [self._solve(each.packing, solver, share=share) for each in way.close]
                way.packed = max(way.packed, sum(bound for bound, _ in solved))
                parts = [found for _, found in solved if found is not None]
                if len(parts) == len(way.close):
                    pairs = zip(way.close, parts, strict=True)
                    packed = sum(each.packing.beyond(p) for each, p in pairs)
                    value = way.standing + packed
                    # Below the bound of the way parts are of a packing alone, not of any plan.
                    if packed >= way.packed and (best is None or value < best[0]):
                        best = value, way, parts
        least, packed = min(way.at_least for way in ways), min(way.packed for way in ways)
        if best is None:
            return Closest(least, packed)
        parts = self._calmer(best[1], best[2], calm)
        return Closest(least, packed, best[1], tuple(parts))

    def lowest(self, tier: Tier) -> Way:
        """Return a way of which the bound on a tier is the least."""
        return min(self._of(tier), key=lambda way: way.at_least)

    def rule_out(self, tier: Tier, value: int) -> None:
        """Leave out the ways in which a tier is above a value."""
        ways = self._of(tier)
        kept = [way for way in ways if tier.above_target(way.at_least) <= value]
        if kept and len(kept) < len(ways):
            self._left = [way.settled for way in kept]
            self._ways = {tier: kept}

    def fewest_moves(self, tier: Tier, above: Tier, value: int, solver: Solver) -> int:
        """Return a bound on moves where a tier of closeness above has a value, or less."""
        found = []
        for way in self._of(above):
            least = 0
            for close in way.close:
                others = way.packed - close.packing.at_least()
                beyond = value + (above.target or 0) - way.standing - others
                room = leaving(self._m, close, way.settled)
                regions = sum(close.packing.fewest) + beyond
                moves = room.least(
                    self._m, way.settled, tier.priority, close.packing, regions, solver()
                )
                least = max(least, moves[0])
            found.append(least)
        return min(found)

    def bound_spread(self, m: DomainRelaxation, tier: Tier, packed: int) -> None:
        """Add to a model what packed gangs use beyond the fewest, if all ways pack the same."""
        ways = self._of(tier)
        if len({tuple((each.level, each.names) for each in way.close) for way in ways}) == 1:
            m.cp.add(weighted(ways[0].spread(m)) >= packed)

    def _of(self, tier: Tier) -> list[Way]:
        if tier not in self._ways:
            m = self._m
            self._ways[tier] = [
                Way(each, standing_for_certain(m, tier, each), tuple(together(m, tier, each)))
                for each in self._left
            ]
        return self._ways[tier]

    def _calmer(self, way: Way, parts: list[Parts], solver: Solver) -> list[Parts]:
        """Return parts that are as close where only those move that must, if there are such."""
        found = []
        for close, known in zip(way.close, parts, strict=True):
            beyond = close.packing.beyond(known)
            regions = sum(close.packing.fewest) + beyond
            room = leaving(self._m, close, way.settled)
            _, gone = room.least(self._m, way.settled, None, close.packing, regions, solver())
            packing = replace(close.packing, slots=room.without(gone))
            calm = None
            if packing.at_least() <= beyond:
                calm = self._solve(packing, solver, share=False)[1]
            as_close = calm is not None and packing.beyond(calm) <= beyond
            found.append(calm if calm is not None and as_close else known)
        return found

    def _solve(self, packing: Packing, solver: Solver, *, share: bool) -> tuple[int, Parts | None]:
        """Return a bound and parts of a packing: those that are closer than apart, if shared."""
        for known, shared, result in self._solved:
            if shared == share and known == packing:
                return result
        if share:
            _, apart = self._solve(packing, solver, share=False)
            value = None if apart is None else packing.beyond(apart)
            result = packing.shared(solver(), value)
            result = result[0], result[1] or apart
        else:
            result = packing.apart(solver())
        self._solved.append((packing, share, result))
        return result
