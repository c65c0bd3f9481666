"""Tiers of slots, and those below that count pods, by column generation over nodes' contents."""

from __future__ import annotations

import random

from kantopt.clock import Deadline
from kantopt.cp.contents import Effort
from kantopt.search.slots.generation import Generation
from kantopt.search.stages.desk import Desk
from kantopt.verify.rules import check
from kantopt.verify.slots.pricing import Content
from kantopt.verify.slots.program import Kind, program_of
from kantopt.verify.slots.rooms import rooms_of

TRIES = 4
"""Placements to make from contents, more contents each time."""
ROUNDS = 0.5
"""Share of the time left for columns; then a placement is made from what there is."""
SHORT = 3.0
"""Seconds that are not worth dividing: one placement is to come of them."""
SHAKES = 5
"""Rounds of more contents before each further one."""


def slots(desk: Desk, deadline: Deadline) -> None:
    """Bound and better each open tier that counts slots, or counts pods below one that does.

    For each tier in turn: columns until there are no more that the linear program needs, or for
    half of the time, then a placement from them; if that does not meet the bound, more columns
    that are nearly as good, and another one.
    """
    contents: list[Content] = []
    kinds: tuple[Kind, ...] = ()
    for t in range(len(desk.tiers)):
        if desk.best is None or deadline.over():
            return
        if desk.known.bound(t, desk.values).bound >= desk.values[t]:
            continue
        program = program_of(desk.instance, desk.tiers, desk.values, t)
        rooms = None if program is None else rooms_of(program)
        if program is None or rooms is None:
            continue
        alike = [kind.podsets for kind in kinds] == [kind.podsets for kind in program.kinds]
        generation = Generation(program, rooms, contents if alike else ())
        _generate(desk, t, generation, deadline)
        contents, kinds = generation.contents, program.kinds


def _generate(desk: Desk, t: int, generation: Generation, deadline: Deadline) -> None:
    """Work on one tier until it is closed, nothing more is tried or the time is up."""
    locks = desk.values[:t]
    rng = random.Random(desk.budget.seed)
    rounds = deadline.less(deadline.remaining() * (1 - ROUNDS))
    while not (rounds.over() or generation.ended):
        generation.round()
    for _ in range(TRIES):
        if generation.bound > desk.known.bound(t, locks).bound:
            desk.proved(t, generation.bound, locks, "column-generation")
        if desk.values[: t + 1] <= (*locks, generation.bound) or deadline.over():
            return
        _choose(desk, generation, deadline)
        for _ in range(SHAKES):
            if generation.ended:
                generation.widen(rng)
            elif not deadline.over():
                generation.round()


def _choose(desk: Desk, generation: Generation, deadline: Deadline) -> None:
    """Offer the best placement of the contents known, if it is legal and has time to be found."""
    if desk.best is None or deadline.over():
        return
    budget = desk.budget
    work = None if budget.work is None else budget.work / 4
    left = deadline.remaining()
    effort = Effort(max(left / 2, min(left, SHORT)), budget.seed, budget.threads, work)
    placement = generation.choose(effort, desk.best)
    if placement is not None and not check(desk.instance, placement):
        desk.found(placement)
