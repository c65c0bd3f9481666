"""Tiers of slots or nodes in use, and those below, by column generation over nodes' contents."""

from __future__ import annotations

import random

from kantopt.clock import Deadline
from kantopt.cp.solver import Effort
from kantopt.problem.placement import Placement
from kantopt.schema.model import Metric
from kantopt.search.engine.desk import Desk
from kantopt.search.order.approach import approach
from kantopt.search.order.sequence import sequence
from kantopt.search.slots.care import Caution
from kantopt.search.slots.generation import Generation
from kantopt.search.slots.steered import steered
from kantopt.search.tidy.improve import tidy
from kantopt.shares import COLUMNS_CHOICE, COLUMNS_ORDER, COLUMNS_ROUNDS
from kantopt.verify.rules import check
from kantopt.verify.slots.pricing import Content
from kantopt.verify.slots.program import Kind, program_of
from kantopt.verify.slots.rooms import rooms_of

TRIES = 4
"""Choices in a row that may better nothing."""
SHAKES = 5
"""Rounds of more contents before each further choice, and before any where moves are counted."""


def slots(desk: Desk, deadline: Deadline) -> None:
    """Bound and better each open tier of slots or nodes in use, or of pods below one of these.

    For each tier in turn: columns until there are no more that the linear program needs, or for
    half of the time, then a placement from them. One whose moves have no order is taken as far as
    they have one, and the next choice keeps clear of what stood in the way; where the bound is not
    met, more columns come that are nearly as good.
    """
    contents: list[Content] = []
    kinds: tuple[Kind, ...] = ()
    for t in range(len(desk.tiers)):
        if desk.incumbent.missing or deadline.over():
            return
        if desk.incumbent.floor(t) >= desk.incumbent.values[t]:
            continue
        program = program_of(desk.instance, desk.tiers, desk.incumbent.values, t)
        rooms = None if program is None else rooms_of(program)
        if program is None or rooms is None:
            continue
        if (
            program.tier.metric is Metric.NODES_IN_USE
            and desk.tiers[t] != desk.incumbent.first_open
        ):
            return  # what is open first is for others to close
        alike = [kind.podsets for kind in kinds] == [kind.podsets for kind in program.kinds]
        generation = Generation(program, rooms, contents if alike else ())
        generation.learn(desk.incumbent.placement)
        caution = Caution(program.kinds, exact=not program.weights[0])
        _generate(desk, t, generation, caution, deadline)
        contents, kinds = generation.contents, program.kinds


def _generate(
    desk: Desk, t: int, generation: Generation, caution: Caution, deadline: Deadline
) -> None:
    """Work on one tier until it is closed, nothing more is tried or the time is up."""
    locks = desk.incumbent.values[:t]
    rng = random.Random(desk.budget.seed)
    rounds = deadline.share(COLUMNS_ROUNDS)
    while not (rounds.over() or generation.ended):
        generation.round()
    if caution.exact:
        _more(generation, rng, deadline)
    vain = 0
    while vain < TRIES:
        if generation.bound > desk.incumbent.known.bound(t, locks).bound:
            desk.proved(t, generation.bound, locks, "column-generation")
        if desk.incumbent.values[: t + 1] <= (*locks, generation.bound) or deadline.over():
            return
        before = desk.incumbent.values
        complete = _choose(desk, generation, caution, deadline)
        vain = 0 if desk.incumbent.values < before else vain + 1
        if complete:
            _more(generation, rng, deadline)


def _more(generation: Generation, rng: random.Random, deadline: Deadline) -> None:
    """Add contents: those that the linear program needs, then some that are nearly as good."""
    for _ in range(SHAKES):
        if generation.ended:
            generation.widen(rng)
        elif not deadline.over():
            generation.round()


def _choose(desk: Desk, generation: Generation, caution: Caution, deadline: Deadline) -> bool:
    """Offer the best placement of the contents known, as far as its moves have an order.

    Returns whether nothing of it had to be left out for want of one.
    """
    if desk.incumbent.missing or deadline.over():
        return True
    budget = desk.budget
    work = None if budget.work is None else budget.work / 4
    effort = Effort(COLUMNS_CHOICE * deadline.remaining(), budget.seed, work, budget.threads)
    placement = generation.choose(effort, desk.incumbent.placement, caution.care)
    if placement is not None and check(desk.instance, placement):
        placement = steered(desk.instance, placement, deadline.cuts)
    if placement is None or check(desk.instance, placement):
        caution.widen()
        return True
    reached = approach(
        desk.instance,
        placement,
        deadline.at_most(min(deadline.remaining() / 2, COLUMNS_ORDER)).cuts,
        lambda direct: _offer(desk, direct, deadline),
    )
    caution.learn(reached)
    if reached.complete:
        desk.found(reached.placement)
    else:
        _offer(desk, reached.placement, deadline)
        _fill(desk, reached.placement, deadline)
    return reached.complete


def _fill(desk: Desk, placement: Placement, deadline: Deadline) -> None:
    """Spend the moves that a placement leaves over on single ones that make slots."""
    made: list[Placement] = []

    def legal(other: Placement) -> bool:
        if check(desk.instance, other):
            return False
        made.append(other)
        return True

    tidy(desk.instance, placement, desk.tiers, deadline, desk.budget.seed, legal)
    for other in made[-1:]:
        _offer(desk, other, deadline)


def _offer(desk: Desk, placement: Placement, deadline: Deadline) -> None:
    """Offer a placement if it is legal and its moves have an order."""
    instance = desk.instance
    if not check(instance, placement) and sequence(instance, placement, deadline.cuts) is not None:
        desk.found(placement)
