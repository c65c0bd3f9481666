"""Several strategies, one after the other, and what can be made of the best of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.clock import Deadline, elapsed
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.cascade import evicts
from kantopt.search.construct import construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.technique import Tally
from kantopt.search.exchange import exchange
from kantopt.search.recreate import recreate
from kantopt.search.schedule import EXCHANGE, RELOCATION, REVERSE_TRIM, RUIN_AND_RECREATE
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.shares import RECREATE, STRATEGIES

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
    best: Incumbent | None = None
    made = chosen[0]
    relocate = tally.may(RELOCATION)
    for strategy in chosen:
        began = elapsed()
        placement = construct(instance, deadline, strategy, seed=seed, relocate=relocate)
        better = best is None
        if best is None:
            best = Incumbent(instance, tiers, placement, strategy.value)
        else:
            better = best.offer(placement, strategy.value, legal=True)
        if better:
            made = strategy
            found(placement, made)
            if best.optimal:
                return placement, made
        now = elapsed()
        late = not deadline.deterministic and 2 * now - began - start > most
        if deadline.cuts() or late:
            break
    assert best is not None
    trims = not strategies and _worth_trimming(instance, best.placement) and not deadline.cuts()
    if trims and tally.may(REVERSE_TRIM):
        # Seldom better, but then nobody can say that the usual way evicts less.
        placement = construct(instance, deadline, Strategy.REVERSE_TRIM, seed=seed)
        if best.offer(placement, REVERSE_TRIM.name, legal=True):
            made = Strategy.REVERSE_TRIM
            found(placement, made)
    if tally.may(EXCHANGE):
        placement = exchange(instance, best.placement, tiers, deadline)
        if best.offer(placement, EXCHANGE.name):
            tally.of(EXCHANGE.name).plans += 1
            found(placement, made)
    if tally.may(RUIN_AND_RECREATE):
        ending = deadline.share(RECREATE)
        placement = recreate(instance, best.placement, tiers, ending, seed=seed)
        better = best.offer(placement, RUIN_AND_RECREATE.name)
        tally.of(RUIN_AND_RECREATE.name).plans += better
    return best.placement, made


def _worth_trimming(instance: Instance, placement: Placement) -> bool:
    """Whether a placement evicts pods, of a question on which reverse-trim takes moments."""
    small = len(instance.podsets) * len(instance.nodes) <= _MOST_TRIMMED
    return small and evicts(instance, placement)
