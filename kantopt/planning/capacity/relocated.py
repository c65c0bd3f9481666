"""Room for copies one after the other: pods in the way of each move, as for a job of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kantopt.clock import Deadline
from kantopt.planning.capacity.copies import Copies, Form, unplaced_tier
from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement
from kantopt.search.construct import construct
from kantopt.search.order.sequence import sequence
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure

_MOST = 200
"""Copies that are placed one after the other: for more of them a question takes long to build."""


def by_relocation(
    copies: Copies, form: Form, moves: int | None, soon: Deadline, late: Callable[[], bool]
) -> Placement | None:
    """Return a placement of copies, in the form asked for, whose moves have an order.

    Where those of all have none, of as many of the first ones as have one. ``soon`` is when to
    place no more of them, ``late`` whether there is no time for anything.
    """
    named = form if not form.pods else copies.named(min(form.number, _MOST))
    number = named.number
    while number and not late():
        # Copies that count as jobs may be asked for as many as they are: one was built before.
        asked = named if number == named.number else copies.named(number)
        instance = copies.asked(asked, moves)
        placement = construct(
            instance, soon, Strategy.BEST_FIT, relocate=True, singly=True, preempt=False
        )
        if sequence(instance, placement, late) is not None:
            unplaced = measure(instance, placement, unplaced_tier(instance))[0]
            if not asked.copies_at(instance, unplaced):
                return None
            return _in_form(copies, form, placement, number)
        number //= 2
    return None


def _in_form(copies: Copies, form: Form, placement: Placement, number: int) -> Placement:
    """Say where copies that are named are in a question in which they are counted."""
    own = number * len(copies.one.pod_sets)
    rest, mine = placement.podsets[:-own], placement.podsets[-own:]
    if form.pods:
        together = Counter[Spot]()
        for spots in mine:
            together.update(spots)
        return Placement((*rest, dict(sorted(together.items()))))
    missing = (form.number - number) * len(copies.one.pod_sets)
    return Placement((*rest, *mine, *({} for _ in range(missing))))
