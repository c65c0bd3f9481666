"""Several strategies, one after the other, and what can be made of the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline, elapsed
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.cascade import evicts
from kantopt.search.construct import construct, missing_jobs
from kantopt.search.engine.technique import Tally
from kantopt.search.exchange import exchange
from kantopt.search.recreate import recreate
from kantopt.search.schedule import EXCHANGE, RELOCATION, REVERSE_TRIM, RUIN_AND_RECREATE
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.shares import RECREATE, STRATEGIES
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import is_legal

_MOST_TRIMMED = 100_000
"""Pod sets times nodes up to which victims are also looked for as queue managers do."""


def best_of(
    instance: Instance,
    deadline: Deadline,
    strategies: Sequence[Strategy],
    tiers: Sequence[Tier],
    *,
    seed: int = 0,
    found: Callable[[Placement, Strategy], None] = lambda *_: None,
    tally: Tally | None = None,
) -> tuple[Placement, Strategy]:
    """Construct with several strategies, keep the best placement, and place more around it.

    Without strategies, those of :data:`DEFAULT_PORTFOLIO`. Stops early when the best meets the
    arithmetic bounds, or when another strategy would take too much of the time. Where no pod is
    pending everything stays where it is. ``found`` is told each placement that is better than those
    before it; ``tally`` counts what techniques did, and says which are left out.
    """
    tally = tally or Tally()
    chosen = tuple(strategies) or DEFAULT_PORTFOLIO
    if all(podset.running for podset in instance.podsets):
        found(instance.current, chosen[0])  # nobody waits: there is nothing to construct
        return instance.current, chosen[0]
    start, most = elapsed(), deadline.remaining() * STRATEGIES
    best: _Built | None = None
    relocate = tally.may(RELOCATION)
    for strategy in chosen:
        began = elapsed()
        placement = construct(instance, deadline, strategy, seed=seed, relocate=relocate)
        built = _built(instance, placement, strategy, tiers)
        if best is None or built.key < best.key:
            best = built
            found(placement, strategy)
            if best.key == (0, *bounds(instance, tiers, best.values)):
                return best.placement, best.strategy
        now = elapsed()
        late = not deadline.deterministic and 2 * now - began - start > most
        if deadline.cuts() or late:
            break
    assert best is not None
    trims = not strategies and _worth_trimming(instance, best.placement) and not deadline.cuts()
    if trims and tally.may(REVERSE_TRIM):
        # Seldom better, but then nobody can say that the usual way evicts less.
        placement = construct(instance, deadline, Strategy.REVERSE_TRIM, seed=seed)
        trimmed = _built(instance, placement, Strategy.REVERSE_TRIM, tiers)
        if trimmed.key < best.key:
            best = trimmed
            tally.of(REVERSE_TRIM.name).plans += 1
            found(placement, Strategy.REVERSE_TRIM)
    if tally.may(EXCHANGE):
        placement = exchange(instance, best.placement, tiers, deadline)
        better = _bettered(instance, best, placement, tiers)
        if better is not best:
            best = better
            tally.of(EXCHANGE.name).plans += 1
            found(best.placement, best.strategy)
    if tally.may(RUIN_AND_RECREATE):
        ending = deadline.share(RECREATE)
        placement = recreate(instance, best.placement, tiers, ending, seed=seed)
        better = _bettered(instance, best, placement, tiers)
        tally.of(RUIN_AND_RECREATE.name).plans += better is not best
        best = better
    return best.placement, best.strategy


def _worth_trimming(instance: Instance, placement: Placement) -> bool:
    """Whether a placement evicts pods, of a question on which reverse-trim takes moments."""
    small = len(instance.podsets) * len(instance.nodes) <= _MOST_TRIMMED
    return small and evicts(instance, placement)


@dataclass(frozen=True, slots=True)
class _Built:
    """A placement, and its key to compare it by: required jobs it lacks, then the tiers."""

    placement: Placement
    strategy: Strategy
    key: tuple[int, ...]

    @property
    def values(self) -> tuple[int, ...]:
        return self.key[1:]


def _built(
    instance: Instance, placement: Placement, strategy: Strategy, tiers: Sequence[Tier]
) -> _Built:
    key = (missing_jobs(instance, placement), *measure(instance, placement, tiers))
    return _Built(placement, strategy, key)


def _bettered(
    instance: Instance, best: _Built, placement: Placement, tiers: Sequence[Tier]
) -> _Built:
    """Return the better of a placement and what was made of it, if that is legal."""
    if placement is best.placement or not is_legal(instance, placement):
        return best
    return min(best, _built(instance, placement, best.strategy, tiers), key=lambda b: b.key)
