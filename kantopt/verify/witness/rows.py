"""What multipliers can be given to: rows that hold for every legal plan within the locks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import gcd

from kantopt.problem.derived.classes import Merged
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.witness.capacity import CapacityRow, capacity_rows
from kantopt.verify.witness.groups import PriceGroup, merged_of, price_groups
from kantopt.verify.witness.sums import Sum, least_placed, limits_of, nothing, sum_of


@dataclass(frozen=True, slots=True)
class PriceRows:
    """What multipliers can be given to, and what holds of it within the locks.

    Attributes
    ----------
    tier
        The tier that is bounded.
    merged
        The question with alike pods counted together.
    groups
        Its groups of pods; each has a row of its name.
    objective
        The tier as a sum over groups and jobs.
    locks
        Sums that are limited, by the names of their rows.
    capacity
        What all pods together have, by the names of the rows.
    least
        Pods of each group that are placed in any case.
    """

    tier: Tier
    merged: Merged
    groups: tuple[PriceGroup, ...]
    objective: Sum
    locks: Mapping[str, Sum]
    capacity: Mapping[str, CapacityRow]
    least: tuple[int, ...]

    @property
    def names(self) -> set[str]:
        """Names of all rows."""
        return {group.name for group in self.groups} | self.locks.keys() | self.capacity.keys()

    @property
    def is_bare(self) -> bool:
        """Whether the tier is no sum over groups and jobs."""
        goal = self.objective
        parts = (goal.out, goal.evicted, goal.missing, goal.placed)
        return not (any(map(any, parts)) or any(goal.unplaced.values()))

    @property
    def step(self) -> int:
        """What every value of the tier is a multiple of."""
        goal = self.objective
        each = (*goal.missing, *goal.evicted, *goal.out, *goal.placed, *goal.unplaced.values())
        return gcd(goal.constant, *each) or 1


def price_rows(
    instance: Instance,
    tiers: Sequence[Tier],
    i: int,
    locks: Mapping[Tier, int],
    *,
    bare: bool = False,
) -> PriceRows | None:
    """Return the rows that bound tier ``i``; ``None`` if the tier is no sum over pods and jobs.

    Parameters
    ----------
    instance, tiers
        The question.
    locks
        Values of tiers above: the bound is for plans that are no worse in them.
    bare
        Return rows for a tier that is no such sum as well, with an objective that is always 0.
    """
    merged = merged_of(instance)
    alike = dict(zip(tiers, merged.tiers(tiers), strict=True))
    groups = price_groups(merged)
    objective = sum_of(alike[tiers[i]], merged.instance, groups, 0)
    if objective is None and bare:
        objective = nothing(groups)
    if objective is None:
        return None
    sums = dict(limits_of(merged.instance, groups))
    for tier, value in locks.items():
        row = sum_of(alike[tier], merged.instance, groups, tier.most(value))
        if row is not None:
            sums[f"tier {tier.name}"] = row
    least = least_placed(merged.instance, groups, list(sums.values()))
    capacity = capacity_rows(merged.instance, groups)
    return PriceRows(tiers[i], merged, groups, objective, sums, capacity, least)


def held(rows: PriceRows, i: int) -> bool:
    """Say whether a lock lets no pod of a group leave its node."""
    group = rows.groups[i]
    return any(
        row.out[i] > row.limit and (row.evicted[i] >= 0 or rows.least[i] >= group.running)
        for row in rows.locks.values()
    )
