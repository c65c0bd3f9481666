"""What it costs at prices to place, evict or leave out the pods of each job: the least of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.verify.bounds.left_out import all_or_nothing
from kantopt.verify.witness.capacity import CapacityRow
from kantopt.verify.witness.groups import PriceGroup, by_job
from kantopt.verify.witness.rows import PriceRows
from kantopt.verify.witness.sums import Sum

Weights = Sequence[tuple[int, Sum]]


def placing(
    rows: PriceRows,
    scale: int,
    prices: Sequence[int],
    weights: Weights,
    counted: Sequence[tuple[int, CapacityRow]],
    *,
    leaves: bool,
    worth: Mapping[int, int] | None = None,
) -> int:
    """Return the least that placing, evicting and leaving out pods costs over all jobs.

    Parameters
    ----------
    scale
        Times that the tier counts.
    prices
        Of one pod of each group, which those that run have paid.
    weights, counted
        Times that locks and capacity rows count.
    leaves
        Whether an evicted pod counts as one that left its node: so it does where nothing else
        looks at the nodes.
    worth
        What it is worth to place a job, besides, by its index.
    """
    sums = [(k, row) for k, row in [(scale, rows.objective), *weights] if k]
    room = [0] * len(rows.groups)
    for u, capacity in counted:
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
                prices[i],
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
