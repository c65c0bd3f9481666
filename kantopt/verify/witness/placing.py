"""What it costs at prices to place, evict or leave out the pods of each job: the least of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from kantopt.verify.bounds.left_out import all_or_nothing
from kantopt.verify.witness.capacity import CapacityRow
from kantopt.verify.witness.groups import PriceGroup, by_job
from kantopt.verify.witness.rows import PriceRows
from kantopt.verify.witness.sums import Sum

Weights = Sequence[tuple[int, Sum]]


@dataclass(frozen=True, slots=True)
class Multiplied:
    """Multipliers by what their rows are: the tier counts ``scale`` times.

    ``prices`` are those of one pod of each group, which those that run have paid; ``weights`` and
    ``counted`` say how often locks and capacity rows count.
    """

    scale: int
    prices: Sequence[int]
    weights: Weights
    counted: Sequence[tuple[int, CapacityRow]]

    @classmethod
    def of(cls, rows: PriceRows, scale: int, values: Mapping[str, int]) -> Self:
        """Sort multipliers that are given by the names of their rows."""
        return cls(
            scale,
            [values.get(group.name, 0) for group in rows.groups],
            [(values.get(name, 0), row) for name, row in rows.locks.items()],
            [(values.get(name, 0), row) for name, row in rows.capacity.items()],
        )

    @property
    def allowed(self) -> int:
        """What the limits of all rows come to."""
        locks = sum(k * row.limit for k, row in self.weights)
        return locks + sum(u * row.limit for u, row in self.counted)

    def leaving(self, rows: PriceRows, i: int) -> int:
        """What it costs that a pod of a group leaves its node, but for its price."""
        return self.scale * rows.objective.out[i] + sum(k * row.out[i] for k, row in self.weights)

    def bound(self, rows: PriceRows, total: int) -> int:
        """Round a sum up to a bound on the tier."""
        unit = self.scale * rows.step
        return rows.tier.above_target(max(0, -(-total // unit) * rows.step))


def placing(
    rows: PriceRows,
    by: Multiplied,
    *,
    leaves: bool,
    worth: Mapping[int, int] | None = None,
) -> int:
    """Return the least that placing, evicting and leaving out pods costs over all jobs.

    Parameters
    ----------
    by
        The multipliers.
    leaves
        Whether an evicted pod counts as one that left its node: so it does where nothing else
        looks at the nodes.
    worth
        What it is worth to place a job, besides, by its index.
    """
    sums = [(k, row) for k, row in [(by.scale, rows.objective), *by.weights] if k]
    room = [0] * len(rows.groups)
    for u, capacity in by.counted:
        if u:
            for i, weight in capacity.weights.items():
                room[i] += u * weight
    total = sum(k * row.constant for k, row in sums)
    instance = rows.merged.instance
    for j, members in by_job(instance, rows.groups).items():
        costs = [
            _Cost(
                rows.groups[i],
                rows.least[i],
                by.prices[i],
                room[i],
                [(k, row, i) for k, row in sums],
                leaves=leaves,
            )
            for i in members
        ]
        left_out = sum(k * row.unplaced.get(j, 0) for k, row in sums)
        placed = sum(
            cost.least(rows.groups[i].need) for i, cost in zip(members, costs, strict=True)
        )
        extra = 0 if worth is None else worth.get(j, 0)
        placed -= extra
        if not all_or_nothing(instance, instance.jobs[j]):
            total += min(placed, left_out - extra + sum(cost.least(0) for cost in costs))
        elif any(rows.least[i] for i in members):
            total += placed
        else:
            total += min(placed, left_out + sum(cost.at(0) for cost in costs))
    return total


class _Cost:
    """What it costs to have so many pods of a group placed."""

    def __init__(
        self,
        group: PriceGroup,
        least: int,
        price: int,
        room: int,
        sums: Sequence[tuple[int, Sum, int]],
        *,
        leaves: bool,
    ) -> None:
        self._group = group
        self._least = least
        self._evicted = self._each = 0
        self._constant = -price * group.running
        self._each = price + room
        self._missing: list[tuple[int, int]] = []
        for k, row, i in sums:
            self._evicted += k * (row.evicted[i] + (row.out[i] if leaves else 0))
            self._each -= k * row.placed[i]
            if row.missing[i]:
                self._missing.append((k * row.missing[i], row.wanted[i]))

    def at(self, placed: int) -> int:
        """Return the cost of a number of pods placed."""
        cost = self._constant + self._each * placed
        cost += self._evicted * max(0, self._group.running - placed)
        return cost + sum(each * max(0, wanted - placed) for each, wanted in self._missing)

    def least(self, at_least: int) -> int:
        """Return the least cost with so many pods placed at least.

        The cost is linear between the numbers at which something begins to count.
        """
        low, high = max(self._least, at_least), self._group.count
        turns = {low, high, self._group.running, *(wanted for _, wanted in self._missing)}
        return min(self.at(placed) for placed in turns if low <= placed <= high)
