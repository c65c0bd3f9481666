"""Algorithm portfolio: several strategies in turn, and what can be made of the best of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from kantopt.clock import Deadline, elapsed
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Metric
from kantopt.search.cascade import evicts
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.exchange import exchange
from kantopt.search.gang_ruin import recreate_gangs
from kantopt.search.offer import harm_first, new_jobs, offer_constructed, squeaky, who_is_open
from kantopt.search.recreate import recreate_loose_pods
from kantopt.search.schedule import (
    EXCHANGE,
    RELOCATION,
    REVERSE_TRIM,
    RUIN_AND_RECREATE,
    SQUEAKY_WHEEL,
)
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.search.tidy.vacate import compacted
from kantopt.shares import (
    COMPACT,
    LEAST_COST,
    LEFT_OUT,
    RECREATE,
    RECREATE_GANGS,
    STRATEGIES,
)

_MOST_TRIMMED = 100_000
"""Pod sets times nodes up to which victims are also looked for as queue managers do."""
_MOST_ASKED = 8
"""Jobs of goals for each of which a place is looked for by itself: it takes a look at all nodes."""
_MOST_ROUNDS = 3
"""In which those who were left out come first."""


@dataclass(frozen=True, slots=True)
class Made:
    """What strategies so far have made of an incumbent."""

    strategy: Strategy
    """Whose plan is the best of them."""
    last: float = 0.0
    """Seconds that the last of them took."""
    late: bool = False
    """There is no time for another."""
    trims: bool = False
    """Victims may also be looked for as queue managers do: no strategy was asked for."""


def run_portfolio(
    best: Incumbent,
    deadline: Deadline,
    strategies: Sequence[Strategy],
    *,
    seed: int = 0,
) -> Strategy:
    """Construct with several strategies, and place more around the best.

    Without strategies, those of :data:`DEFAULT_PORTFOLIO`. Where no pod is pending there is nothing
    to construct. The tally of the incumbent counts what techniques did, and says which are left
    out. Returns which strategy made the best plan.
    """
    *_, made = by_strategies(best, deadline, strategies, seed=seed)
    return intensify(best, made, deadline, seed=seed)


def by_strategies(
    best: Incumbent,
    deadline: Deadline,
    strategies: Sequence[Strategy],
    *,
    seed: int = 0,
    share: float = STRATEGIES,
) -> Iterator[Made]:
    """Construct with one strategy after the other; yield after each what they have made.

    Ends early when the best meets the arithmetic bounds, or when another strategy would take more
    than a share of the time. Jobs that must be close come first by every other strategy, large ones
    by those between.
    """
    chosen = tuple(strategies) or DEFAULT_PORTFOLIO
    made, took = Made(chosen[0], trims=not strategies), 0.0
    if _nothing_waits(best):
        yield made
        return
    _room_made(best, deadline)
    for i, strategy in enumerate(chosen):
        if i and (made.late or best.optimal or deadline.cuts()):
            return
        began = elapsed()
        how = How(strategy, seed=seed, largest_first=i % 2 == 1)
        better = offer_constructed(best, deadline, how)
        last = elapsed() - began
        took += last
        late = not deadline.deterministic and took + last > (took + deadline.remaining()) * share
        made = replace(made, strategy=strategy if better else made.strategy, last=last, late=late)
        yield made


def _room_made(best: Incumbent, deadline: Deadline) -> None:
    """Place jobs that must be placed, or a few of goals, where least has to leave."""
    from kantopt.search.explain.displace import displacements

    goals = [tier for tier in best.tiers if tier.metric is Metric.UNPLACED and tier.of_waiting]
    asked = {job.index for job in best.searched.jobs if any(tier.concerns(job) for tier in goals)}
    asked = {j for j in asked if best.searched.jobs[j].waits}
    lacking = set(best.searched.required if best.missing else ())
    lacking |= asked if len(asked) <= _MOST_ASKED else set()
    for j in sorted(lacking if lacking and best.tally.begins(RELOCATION) else ()):
        for placement in displacements(best.searched, j):
            if deadline.cuts() or best.optimal:
                return
            best.offer(placement, RELOCATION.name)


def intensify(
    best: Incumbent,
    made: Made,
    deadline: Deadline,
    *,
    seed: int = 0,
    look: Callable[[], bool] = lambda: False,
) -> Strategy:
    """Place more around the best that strategies have made; return whose plan that then is.

    ``look`` may bring a better incumbent from elsewhere, and says whether it has.
    """
    instance, tiers, tally = best.searched, best.tiers, best.tally
    strategy = made.strategy
    if best.optimal or deadline.cuts() or _nothing_waits(best):
        return strategy
    if made.trims and tally.begins(REVERSE_TRIM) and _worth_trimming(instance, best.placement):
        # Seldom better, but then nobody can say that the usual way evicts less.
        placement = construct(instance, deadline, How(Strategy.REVERSE_TRIM, seed=seed))
        if best.offer(placement, REVERSE_TRIM.name):
            strategy = Strategy.REVERSE_TRIM
    look()
    if tally.begins(EXCHANGE):
        best.offer(exchange(instance, best.placement, tiers, deadline), EXCHANGE.name)
    look()
    if tally.begins(SQUEAKY_WHEEL):
        _left_out_first(best, deadline.share(LEFT_OUT), strategy, made.last, seed=seed)
    look()
    asked = bool(instance.required) or not harm_first(tiers)
    if asked and tally.begins(RELOCATION) and who_is_open(best) and _wants_moves(best):
        _compact_first(best, deadline.share(COMPACT), strategy, seed=seed)
    look()
    if tally.begins(RUIN_AND_RECREATE):
        end = deadline.share(RECREATE_GANGS)
        if recreate_gangs(best, end, strategy, seed=seed, look=look):
            offer_constructed(best, deadline, How(strategy, seed=seed, start=best.placement))
    look()
    if tally.begins(RELOCATION) and _wants_moves(best):
        end = deadline.share(LEAST_COST)
        offer_constructed(best, end, How(made.strategy, seed=seed, thorough=True))
    look()
    if tally.begins(RUIN_AND_RECREATE):
        end = deadline.share(RECREATE)
        placement = recreate_loose_pods(instance, best.placement, tiers, end, seed=seed, ended=look)
        best.offer(placement, RUIN_AND_RECREATE.name)
    return strategy


def _compact_first(best: Incumbent, deadline: Deadline, strategy: Strategy, *, seed: int) -> None:
    """Construct where as many nodes as can be were emptied before; who moved in vain returns.

    What is free lies in pieces, and jobs that take whole nodes find them only where moves of many
    pods come together: nodes of a domain are cleared into such as were emptied elsewhere.
    """
    waiting = (job for job in best.searched.jobs if job.waits)
    start = compacted(best.searched, waiting, deadline.cuts)
    if start is not None:
        offer_constructed(
            best, deadline, How(strategy, seed=seed, start=start), by=RELOCATION.name, home=True
        )


def _wants_moves(best: Incumbent) -> bool:
    """Whether running pods are not where they were, or pods wait still."""
    placed = best.placement
    return any(
        placed.podsets[p.index] != p.current if p.running else placed.placed(p.index) < p.count
        for p in best.searched.podsets
    )


def _nothing_waits(best: Incumbent) -> bool:
    return all(podset.running for podset in best.instance.podsets)


def _left_out_first(
    best: Incumbent, deadline: Deadline, strategy: Strategy, took: float, *, seed: int
) -> None:
    """Construct again, with those first who were left out: of them the most important.

    A job that fits in few places finds them taken by others, also more important ones, that have
    other places. That is squeaky wheel optimization (Joslin and Clements 1999).
    """
    jobs = best.searched.jobs
    first: set[int] = set()
    asked: set[int] = set()
    for _ in range(_MOST_ROUNDS):
        left_out = set() if best.optimal else squeaky(best, asked)
        if not left_out:
            return
        top = max(jobs[j].priority for j in left_out)
        asked |= left_out
        if all(jobs[j].priority < top for j in new_jobs(best)):
            continue  # nobody came before them
        come = first | left_out
        for large in (False, True):
            if deadline.cuts() or (not deadline.deterministic and deadline.remaining() < took):
                return
            if offer_constructed(
                best, deadline, How(strategy, seed=seed, largest_first=large, first=come)
            ):
                first = come


def new_pods_make_way(
    best: Incumbent, deadline: Deadline, strategy: Strategy, *, seed: int
) -> None:
    """Place the most important of those who are left out where new pods make way for them.

    These may be more important: they have other places, and were there first.
    """
    if not best.tally.may(RELOCATION):
        return
    while (left_out := squeaky(best)) and not (best.optimal or deadline.cuts()):
        top = best.searched.jobs[min(left_out)].priority
        others = any(best.searched.jobs[j].priority >= top for j in new_jobs(best))
        if not others or not offer_constructed(
            best,
            deadline,
            How(strategy, seed=seed, start=best.placement, least_priority=top, unsettled=True),
        ):
            return


def _worth_trimming(instance: Instance, placement: Placement) -> bool:
    """Whether a placement evicts pods, of a question on which reverse-trim takes moments."""
    small = len(instance.podsets) * len(instance.nodes) <= _MOST_TRIMMED
    return small and evicts(instance, placement)
