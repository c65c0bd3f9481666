"""How much could be placed at best with a limited number of moves: a bound by prices."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric, Rule
from kantopt.search.repair.ground import Ground, ground_of
from kantopt.search.repair.prices import BITS, Answer, Prices, Pricing
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.weight import weight

TURNS = 120
"""How often to change the prices."""
_PATIENCE = 8
_LIGHT = 0.1
"""Steps of the prices of waiting pods, against those of the others."""


def repair_bound(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    deadline: Deadline | None = None,
    turns: int = TURNS,
) -> int:
    """Return a number below which no legal plan brings the first tier.

    It beats arithmetic where moves are limited and nobody can be evicted, and where the first tier
    counts what is unplaced, all of it pods that ask for devices of one class and one resource of
    them; else it is what arithmetic says.

    Each pod that leaves a place is a move and takes another place. So for any price of a move and
    of taking in a pod of each kind (which sending one away costs as well), what a plan gains is at
    most the limit of moves times the price of a move plus, summed over the nodes, the most that
    one node can gain at these prices (Lagrangian duality; Held and Karp 1971). Prices are improved
    by subgradient steps in floating point and then rounded; the bound they give is computed in
    integers and holds for whatever prices.

    Parameters
    ----------
    instance
        The question.
    tiers, values
        The tiers and their values in a legal plan; they tell how far prices may have to go.
    deadline
        When to stop improving prices, the number of turns apart.
    turns
        How often to change the prices.
    """
    floor = bounds(instance, tiers[:1], values[:1])[0] if tiers else 0
    limit = _limit(instance)
    if not tiers or tiers[0].metric is not Metric.UNPLACED or limit is None:
        return floor
    tier = tiers[0]
    if tier.surplus or tier.unit == "jobs":
        return floor
    weights = [
        weight(tier, podset)
        if tier.priority in (None, instance.job_of(podset.index).priority) and not podset.running
        else 0
        for podset in instance.podsets
    ]
    ground = ground_of(instance, weights) if any(weights) else None
    if ground is None:
        return floor
    now = measure(instance, instance.current, tiers[:1])[0]
    search = _Search(ground, limit, now - values[0])
    for _ in range(turns):
        if deadline is not None and deadline.cuts():
            break
        search.turn()
    return max(floor, now - (search.bound >> BITS))


def _limit(instance: Instance) -> int | None:
    """Return the limit of moves; ``None`` without one, or if running pods may be evicted."""
    limits = instance.model.limits
    if not (instance.on(Rule.CAPACITY) and instance.on(Rule.DEVICES) and instance.on(Rule.LIMITS)):
        return None
    kept = limits.evictions == 0 or (
        instance.on(Rule.PINNED)
        and not any(podset.running and podset.preemptible for podset in instance.podsets)
    )
    return limits.moves if kept else None


class _Search:
    """Prices and the best bound so far, in units of prices."""

    def __init__(self, ground: Ground, limit: int, gain: int) -> None:
        self.pricing = Pricing(ground)
        self.limit = limit
        self.gain = gain << BITS
        kinds = ground.kinds
        worth = int((kinds.worth / np.maximum(kinds.devices * kinds.units, 1)).max() * 2**BITS)
        size = kinds.devices * kinds.units * worth
        # Pods that wait do not fit: nor do others that ask for as much.
        least = int(size[kinds.waiting > 0].min())
        self.move = 0.4 * float(size[kinds.waiting > 0].max())
        self.pod = np.where(size >= least, 0.95 * size, 0.0)
        self.waiting: NDArray[np.float64] = np.zeros(len(size))
        self.running = kinds.running
        self.count = kinds.waiting
        self.step = 1.0
        self.since = 0
        self.bound = 2**62
        self.best = self.move, self.pod, self.waiting

    def turn(self) -> None:
        """Ask at the prices as they are, then change them along the slopes."""
        prices = Prices(int(self.move), self.pod.astype(np.int64), self.waiting.astype(np.int64))
        answer = self.pricing.ask(prices, self.limit)
        if answer.bound < self.bound:
            self.bound, self.since = answer.bound, 0
            self.best = self.move, self.pod, self.waiting
        else:
            self.since += 1
        if self.since > _PATIENCE:
            self.since, self.step = 0, self.step * 0.6
            self.move, self.pod, self.waiting = self.best
        else:
            self._change(answer)

    def _change(self, answer: Answer) -> None:
        moves = float(self.limit - answer.moves)
        balance = np.where(self.running > 0, answer.balance, 0).astype(float)
        waiting = (self.count - answer.placed).astype(float)
        waiting[(self.waiting <= 0) & (waiting > 0)] = 0.0
        norm = moves**2 + float(balance @ balance) + _LIGHT**2 * float(waiting @ waiting)
        if norm == 0:
            self.since = _PATIENCE
            return
        step = self.step * max(answer.bound - self.gain, 1) / norm
        self.move = max(0.0, self.move - step * moves)
        self.pod = self.pod - step * balance
        self.waiting = np.maximum(0.0, self.waiting - step * _LIGHT**2 * waiting)
