"""A bound from what each node could gain by a change, at prices of moves and of pods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import gcd
from typing import TYPE_CHECKING

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.verify.metrics import measure

if TYPE_CHECKING:
    from kantopt.verify.changes.ground import Ground
    from kantopt.verify.changes.pricing import Pricing

LIMIT = "limit moves"
"""The row that no more pods move than the model allows."""
_HIGHEST = 2**40
"""Most that a row may count."""


@dataclass(frozen=True, slots=True)
class ChangeRows:
    """What prices can be given to, where nobody is evicted.

    A plan takes pods from nodes, each of which is a move, puts these on nodes again, and binds pods
    that wait. So of each kind as many pods are taken in as are sent away, and no more are bound
    than wait: rows for each kind, which the prices are for. At these prices

        D * tier >= D * what it is now + sum over locks of k * (what it is now - limit)
                    - move * limit of moves - sum over nodes of the most that a change gains
                    - sum over kinds of price of waiting pods * waiting pods,

    where a pod that is bound gains ``D`` and ``k`` times what it counts in each tier, and a move
    costs ``D`` more where the tier counts moves (Lagrangian duality; Held and Karp 1971).

    Attributes
    ----------
    tier
        The tier that is bounded.
    counted
        Tiers of unplaced pods: those above that are locked, and ``tier`` if it is one.
    now
        Their values if nothing is done.
    most
        The most that those above may have.
    limit
        The model's limit of moves.
    step
        What every value of the tier is a multiple of.
    """

    tier: Tier
    counted: tuple[Tier, ...]
    now: tuple[int, ...]
    most: tuple[int, ...]
    limit: int | None
    ground: Ground
    step: int

    @property
    def counts_moves(self) -> bool:
        """Whether the tier counts moves."""
        return self.tier.metric is Metric.MOVES

    def taken(self, k: int) -> str:
        """Name the row of pods of a kind that are taken in: no more than are sent away."""
        return f"taken: pods of {self.ground.kinds.names[k]}"

    def sent(self, k: int) -> str:
        """Name the row of pods of a kind that are sent away: no more than are taken in."""
        return f"sent: pods of {self.ground.kinds.names[k]}"

    def bound_of(self, k: int) -> str:
        """Name the row of pods of a kind that are bound: no more than wait."""
        return f"bound: pods of {self.ground.kinds.names[k]}"

    def locks(self) -> tuple[str, ...]:
        """Names of the rows of tiers above."""
        return tuple(f"tier {tier.name}" for tier in self.counted[: len(self.most)])

    def bound(self, denominator: int, values: Mapping[str, int]) -> int:
        """Return the bound that follows from multipliers, by the names of their rows.

        Raises
        ------
        ValueError
            If a name is no row, or a number is out of range.
        """
        import numpy as np

        from kantopt.verify.changes.pricing import Prices

        kinds = self.ground.kinds
        count = len(kinds.names)
        runs = [k for k in kinds.useful.tolist() if kinds.running[k]]
        moved = {self.taken(k): (k, 1) for k in runs} | {self.sent(k): (k, -1) for k in runs}
        bound = {self.bound_of(k): k for k in range(count) if kinds.waiting[k]}
        locks = {name: j for j, name in enumerate(self.locks())}
        pod, waiting = np.zeros((2, count), dtype=np.int64)
        each = [0] * len(self.most) + [denominator] * (not self.counts_moves)
        move = 0
        for name, value in values.items():
            if not 0 <= value <= _HIGHEST:
                raise ValueError(f"{name} counts {value} times, expected 0 to {_HIGHEST}")
            if name in moved:
                k, sign = moved[name]
                pod[k] += sign * value
            elif name in bound:
                waiting[bound[name]] = value
            elif name in locks:
                each[locks[name]] = value
            elif name == LIMIT and self.limit is not None:
                move = value
            else:
                raise ValueError(f"{name} is no row of this bound")
        if max(each, default=0) * int(kinds.worth.max(initial=0)) > _HIGHEST * 2**8:
            raise ValueError("multipliers are too large to be worked out")
        total = -move * (self.limit or 0)
        total += sum(
            w * (now - limit) for w, now, limit in zip(each, self.now, self.most, strict=False)
        )
        if self.counts_moves:
            move += denominator
        else:
            total += denominator * self.now[-1]
        worth = np.array(each, dtype=np.int64) @ kinds.worth
        total -= pricing_of(self.ground).ask(Prices(move, pod, waiting, worth)).gain
        return self.rounded(-(-total // denominator))

    def rounded(self, bound: int) -> int:
        """Return the least value that the tier can have from a number on."""
        return max(0, -(-bound // self.step) * self.step)


@lru_cache(maxsize=2)
def pricing_of(ground: Ground) -> Pricing:
    """Return what works out the gains of nodes; worked out once."""
    from kantopt.verify.changes.pricing import Pricing

    return Pricing(ground)


def change_rows(
    instance: Instance, tiers: Sequence[Tier], i: int, locks: Mapping[Tier, int]
) -> ChangeRows | None:
    """Return the rows that bound tier ``i``; ``None`` if pods may be evicted, or for other tiers.

    Parameters
    ----------
    instance, tiers
        The question.
    locks
        Values of tiers above: the bound is for plans that are no worse in them.
    """
    tier = tiers[i]
    if tier.target is not None or not _nobody_leaves(instance):
        return None
    held = tuple(above for above in tiers[:i] if above in locks and _counts_gpus(above))
    if tier.metric is Metric.MOVES and tier.priority is None:
        counted = held
    elif _counts_gpus(tier):
        counted = (*held, tier)
    else:
        return None
    from kantopt.verify.changes.ground import ground_of

    ground = ground_of(instance, counted) if counted else None
    if ground is None:
        return None
    limits = instance.model.limits
    return ChangeRows(
        tier=tier,
        counted=counted,
        now=tuple(measure(instance, instance.current, counted)),
        most=tuple(locks[above] for above in held),
        limit=limits.moves if instance.on(Rule.LIMITS) else None,
        ground=ground,
        step=_step(instance, tier),
    )


def _step(instance: Instance, tier: Tier) -> int:
    """What every value of a tier is a multiple of: what is missing is a sum of weights of pods."""
    if tier.metric is Metric.MOVES:
        return 1
    weights = (
        tier.weight(podset)
        for podset in instance.podsets
        if tier.concerns(instance.job_of(podset.index))
    )
    return gcd(*weights) or 1


def _counts_gpus(tier: Tier) -> bool:
    """Whether a tier counts the GPUs of pods that are not placed."""
    return tier.counts_unplaced and tier.unit == "milli-GPU" and tier.target is None


def _nobody_leaves(instance: Instance) -> bool:
    """Whether no pod may be evicted, so that each that leaves a place takes another."""
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES)):
        return False
    if instance.on(Rule.LIMITS) and instance.model.limits.evictions == 0:
        return True
    return instance.on(Rule.PINNED) and not any(
        podset.running and podset.preemptible for podset in instance.podsets
    )


def bound_by_changes(
    instance: Instance,
    tiers: Sequence[Tier],
    i: int,
    locks: Mapping[Tier, int],
    denominator: int,
    values: Mapping[str, int],
) -> int:
    """Return the bound on tier ``i`` that follows from multipliers, by the names of their rows.

    Raises
    ------
    ValueError
        If pods may be evicted or the tier is of another kind, a name is no row, or a number is out
        of range.
    """
    rows = change_rows(instance, tiers, i, locks)
    if rows is None:
        raise ValueError(f"{tiers[i].name} is no sum over changes of nodes")
    return rows.bound(denominator, values)
