"""How much could be placed at best with a limited number of moves: a bound by prices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.verify.changes.ground import Ints
from kantopt.verify.changes.pricing import Answer, Prices
from kantopt.verify.witness.changes import LIMIT, ChangeRows, change_rows, pricing_of

TURNS = 200
"""How often to change the prices."""
BITS = 10
"""Prices are in units of ``2 ** -BITS`` of what a tier counts."""
_PATIENCE = 8
_LIGHT = 0.1
"""Steps of the prices of waiting pods, against those of the others."""
_ROUNDS = 3
"""Where moves are counted, how often to begin with the number of them that is proved."""


@dataclass(frozen=True, slots=True)
class ChangePrices:
    """A bound on one tier, and the numbers that prove it as a witness states them."""

    bound: int
    denominator: int
    multipliers: dict[str, int]
    prices: Prices
    """The same numbers, for another search to begin with."""


def change_prices(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    i: int,
    over: Callable[[], bool],
    turns: int = TURNS,
    start: Prices | None = None,
) -> ChangePrices | None:
    """Return the best bound on tier ``i`` from prices of moves and of pods, with the prices.

    There is one where nobody can be evicted, for tiers that count the GPUs of pods which are not
    placed, as long as moves are limited, and for moves below such a tier. Prices are improved by
    subgradient steps in floating point and then rounded; the bound is computed in integers and
    holds whatever they are (:class:`kantopt.verify.witness.changes.ChangeRows`).

    Parameters
    ----------
    tiers, values
        The tiers and their values in a legal plan. The bound holds for plans that are no worse than
        it in the tiers above, and the values tell how far prices may have to go.
    over
        Whether to stop improving prices; asked after each turn.
    turns
        How often to change the prices.
    start
        Prices to begin with: of another tier of this question, or found with other values.
    """
    locks = dict(zip(tiers[:i], values[:i], strict=True))
    rows = change_rows(instance, tiers, i, locks)
    if rows is None or not (rows.ground.kinds.waiting @ rows.ground.kinds.worth.T).any():
        return None
    if rows.counts_moves:
        return _fewest(rows, values[i], over, turns, start)
    if rows.limit is None:
        return None
    bound = 0
    search = _Search(rows, rows.limit, rows.now[-1] - values[i], start)
    for _ in range(turns):
        search.turn()
        bound = rows.rounded(rows.now[-1] - (search.bound >> BITS))
        if over() or bound >= values[i]:
            break
    return ChangePrices(bound, 2**BITS, _named(rows, search.best), search.best)


def _fewest(
    rows: ChangeRows, moves: int, over: Callable[[], bool], turns: int, start: Prices | None
) -> ChangePrices | None:
    """Return the most moves that prices prove to be needed for what the tier above has gained."""
    needed = rows.now[-1] - rows.most[-1]
    if needed <= 0:
        return None
    best: ChangePrices | None = None
    search = _Search(rows, moves, needed, start)
    for _ in range(_ROUNDS):
        for _ in range(-(-turns // _ROUNDS)):
            prices, gain = search.turn()
            if prices.move:
                bound = -((gain - (needed << BITS)) // prices.move)
                if best is None or bound > best.bound:
                    best = ChangePrices(bound, prices.move, _named(rows, prices), prices)
            if over() or (best is not None and best.bound >= moves):
                return best
        if best is None or best.bound == search.limit:
            return best
        search.begin_with(max(0, best.bound))
    return best


def _named(rows: ChangeRows, prices: Prices) -> dict[str, int]:
    """Return the prices by the names of their rows."""
    kinds = rows.ground.kinds
    found = {}
    for k in kinds.useful.tolist():
        if price := int(prices.pod[k]) if kinds.running[k] else 0:
            found[rows.taken(k) if price > 0 else rows.sent(k)] = abs(price)
    waiting = np.flatnonzero(kinds.waiting).tolist()
    found |= {rows.bound_of(k): int(prices.waiting[k]) for k in waiting}
    if rows.counts_moves:
        return found | {rows.locks()[-1]: 2**BITS}
    return found | {LIMIT: prices.move}


class _Search:
    """Prices and the best bound so far on what can be gained, in units of prices."""

    def __init__(self, rows: ChangeRows, limit: int, gain: int, start: Prices | None) -> None:
        kinds = rows.ground.kinds
        self.pricing = pricing_of(rows.ground)
        self.limit = limit
        self.gain = gain << BITS
        self.worth: Ints = kinds.worth[-1] << BITS
        each = (self.worth / np.maximum(kinds.devices * kinds.units, 1)).max()
        size = kinds.devices * kinds.units * int(each)
        # Pods that wait do not fit: nor do others that ask for as much.
        waits = kinds.waiting > 0
        least = int(size[waits].min())
        self.move = 0.4 * float(size[waits].max())
        self.pod = np.where(size >= least, 0.95 * size, 0.0)
        self.waiting = np.zeros(len(size))
        if start is not None:
            self.move = float(start.move)
            self.pod, self.waiting = start.pod.astype(float), start.waiting.astype(float)
        self.running = kinds.running
        self.count = kinds.waiting
        self.step = 1.0
        self.since = 0
        self.bound = 2**62
        self._at = self.move, self.pod, self.waiting
        self.best = self._prices()

    def begin_with(self, limit: int) -> None:
        """Go on from the best prices with another number of moves."""
        self.limit, self.bound, self.since, self.step = limit, 2**62, 0, 1.0
        self.move, self.pod, self.waiting = self._at

    def _prices(self) -> Prices:
        pod, waiting = self.pod.astype(np.int64), self.waiting.astype(np.int64)
        return Prices(int(self.move), pod, waiting, self.worth)

    def turn(self) -> tuple[Prices, int]:
        """Ask at the prices as they are, then change them along the slopes; return both."""
        prices = self._prices()
        answer = self.pricing.ask(prices)
        bound = self.limit * prices.move + answer.gain
        if bound < self.bound:
            self.bound, self.since, self.best = bound, 0, prices
            self._at = self.move, self.pod, self.waiting
        else:
            self.since += 1
        if self.since > _PATIENCE:
            self.since, self.step = 0, self.step * 0.6
            self.move, self.pod, self.waiting = self._at
        else:
            self._change(answer, bound)
        return prices, answer.gain

    def _change(self, answer: Answer, bound: int) -> None:
        moves = float(self.limit - answer.moves)
        balance = np.where(self.running > 0, answer.balance, 0).astype(float)
        waiting = (self.count - answer.placed).astype(float)
        waiting[(self.waiting <= 0) & (waiting > 0)] = 0.0
        norm = moves**2 + float(balance @ balance) + _LIGHT**2 * float(waiting @ waiting)
        if norm == 0:
            self.since = _PATIENCE
            return
        step = self.step * max(bound - self.gain, 1) / norm
        self.move = max(0.0, self.move - step * moves)
        self.pod = self.pod - step * balance
        self.waiting = np.maximum(0.0, self.waiting - step * _LIGHT**2 * waiting)
