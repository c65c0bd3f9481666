"""Prices of pods and of domains in use from a linear program over what each domain could hold.

Column generation (Gilmore and Gomory 1961): the program chooses among the contents of each region
that are known, its multipliers price pods and regions in use, and the checker's own knapsacks say
what those prices make worth most. All that a price proves is worked out there, in integers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import gcd

from ortools.linear_solver import pywraplp

from kantopt.cp.masters.multipliers import add
from kantopt.cp.masters.price_program import DENOMINATOR, PriceProgram
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Rule
from kantopt.verify.witness.domains import DomainRows, Held, ReckoningError, Valued, valued
from kantopt.verify.witness.regions import NODES, View, region_level

MOST_ROUNDS = 400
"""Rounds after which prices that still change are taken as they are."""
PATIENCE = 40
"""Rounds without a better sum after which there is little to hope for."""
NEAR = 0.6
"""How far prices keep to the best ones so far: those of the program jump to and fro."""
Prices = tuple[int, dict[str, int]]
"""A denominator and multipliers by row."""


def views_of(instance: Instance, tiers: Sequence[Tier], i: int) -> Iterator[View]:
    """Yield the views by which a bound on tier ``i`` is worth looking for, the likeliest first.

    A tier that counts regions is looked at by those; others by the levels that the tiers above
    count or that gangs must be within, since without these nothing ties a region together.
    """
    own = region_level(instance, tiers[i])
    levels = [own] if own is not None else []
    if own is None:
        above = (region_level(instance, tier) for tier in tiers[:i])
        levels = [level for level in dict.fromkeys(above) if level not in (None, NODES)]
        for need in instance.topology_needs:
            asked = (
                need.required if instance.on(Rule.TOPOLOGY) else None,
                need.slice_level if instance.on(Rule.SLICES) else None,
            )
            levels += [instance.topology.levels[d] for d in asked if d is not None]
    for level in dict.fromkeys(levels):
        for resource, sizes in _sizes(instance):
            for step in dict.fromkeys((gcd(*sizes), max(sizes))):
                yield View(level, resource, step)


def _sizes(instance: Instance) -> list[tuple[str, set[int]]]:
    """Resources that all nodes limit and what pods ask of them, GPUs first."""
    found = []
    for r, resource in enumerate(instance.resources):
        sizes = {podset.requests[r] for podset in instance.podsets} - {0}
        if sizes and all(node.capacity[r] is not None for node in instance.nodes):
            found.append((resource, sizes))
    return sorted(found, key=lambda item: ("gpu" not in item[0], item[0] == "pods"))


def domain_prices_of(domains: DomainRows, target: int, over: Callable[[], bool]) -> Prices | None:
    """Return a denominator and the multipliers, by row, of the best bound found.

    Parameters
    ----------
    domains
        The rows and regions of a tier.
    target
        Value of the tier: no bound is higher.
    over
        Whether to stop.

    Returns
    -------
    tuple or None
        ``None`` if nothing was found in time.
    """
    program = _Contents(domains)
    best: dict[str, int] | None = None
    most, since = 0, 0
    for _ in range(MOST_ROUNDS):
        values = None if over() else program.solve()
        if values is None:
            break
        tried = values if best is None else _between(best, values)
        found = _valued(domains, tried, over)
        new = found is not None and program.add(found)
        if found is not None and not new and tried != values:
            # What the prices between them bring is known: those of the program themselves.
            tried, found = values, _valued(domains, values, over)
            new = found is not None and program.add(found)
        if found is None:
            break
        since += 1
        if best is None or found.total > most:
            best, most, since = tried, found.total, 0
        if found.bound >= target or not new or since >= PATIENCE:
            break
    return None if best is None else (DENOMINATOR, best)


def _between(best: dict[str, int], values: dict[str, int]) -> dict[str, int]:
    """Return prices between two."""
    return {
        name: int(NEAR * best.get(name, 0) + (1 - NEAR) * value) for name, value in values.items()
    }


def _valued(domains: DomainRows, values: dict[str, int], over: Callable[[], bool]) -> Valued | None:
    try:
        return valued(domains, DENOMINATOR, _admitted(domains, values), over)
    except ReckoningError:  # nobody could check what these prices prove
        return None


def _admitted(domains: DomainRows, values: dict[str, int]) -> dict[str, int]:
    """Cut prices of regions in use down to what the tier counts, which rounding may exceed."""
    found = dict(values)
    for lot, spreads in domains.lots.items():
        lock = f"tier {lot}"
        most = values.get(lock, 0) if lock in domains.limits else DENOMINATOR
        for spread in spreads:
            left = most
            for i in spread.groups:
                name = domains.row_of(lot, i)
                found[name] = min(left, found.get(name, 0))
                left -= found[name]
    return found


class _Contents(PriceProgram):
    """The linear program over the contents of regions that are known so far."""

    def __init__(self, domains: DomainRows) -> None:
        super().__init__(domains.rows)
        self._domains = domains
        self._uses: dict[int, list[pywraplp.Constraint]] = {}
        self._add_lots()
        # Dear enough that nothing is placed without room, not so dear that prices lose their sense.
        worth = sum(map(abs, domains.rows.objective.out)) + len(self._priced)
        self._add_groups([0.0] * len(domains.rows.groups), float(10 * (1 + worth)))
        self._take = [self._lp.Constraint(1.0, 1.0) for _ in domains.regions]
        for d, region in enumerate(domains.regions):
            here = {choice.group: choice.home for choice in region.choices if choice.home}
            self._column(d, Held(0, here))

    def _add_lots(self) -> None:
        """Regions that a gang uses beyond the fewest, for each tier that counts them."""
        lp, infinity = self._lp, self._infinity
        for lot, spreads in self._domains.lots.items():
            name = f"tier {lot}"
            limit = self._domains.limits.get(name)
            held = self._cost
            if limit is not None:
                held = self._limited[name] = lp.Constraint(-infinity, float(limit))
            for spread in spreads:
                beyond = lp.NumVar(0.0, infinity, "")
                add(held, beyond, 1.0)
                job = self._program.job(spread.job)
                for i in spread.groups:
                    # beyond + fewest * placed >= regions in use
                    row = lp.Constraint(0.0 if job else -float(spread.fewest), infinity)
                    row.SetCoefficient(beyond, 1.0)
                    if job:
                        row.SetCoefficient(job, float(spread.fewest))
                    self._priced[self._domains.row_of(lot, i)] = row
                    self._uses.setdefault(i, []).append(row)

    def add(self, found: Valued) -> bool:
        """Add contents that are not known; say whether any is new."""
        return sum(self._column(d, held) for d, held in enumerate(found.held)) > 0

    def _column(self, d: int, held: Held) -> bool:
        key = (d, *sorted(held.pods.items()))
        if not self._is_new(key):
            return False
        taken = self._lp.NumVar(0.0, self._infinity, "")
        self._take[d].SetCoefficient(taken, 1.0)
        for i, pods in held.pods.items():
            self._arrive[i].SetCoefficient(taken, float(pods))
            for row in self._uses.get(i, ()):
                row.SetCoefficient(taken, -1.0)
        for total, row in self._sums:
            gone = (
                total.out[choice.group] * max(0, choice.home - held.pods.get(choice.group, 0))
                for choice in self._domains.regions[d].choices
                if choice.home
            )
            weight = sum(gone)
            if weight:
                add(row, taken, float(weight))
        return True
