"""Every state that a plan can pass through, judged: does each wave find the room it needs?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from kantopt.verify.step import Violation
from kantopt.verify.waves.affinity import judge_affinity
from kantopt.verify.waves.groups import apply, judge_groups
from kantopt.verify.waves.neighbours import judge_neighbours
from kantopt.verify.waves.order import Order
from kantopt.verify.waves.pods import judge_pods, judge_stopovers
from kantopt.verify.waves.rooms import judge_rooms
from kantopt.verify.waves.shares import judge_budgets, judge_moves_at_once, judge_quotas


def replay(instance: Instance, waves: Sequence[Wave]) -> tuple[list[Violation], Placement]:
    """Judge a plan in whatever order its waves may run, then as a whole.

    Waves of which neither waits for the other may run in either order, or together. What is
    judged holds in every state that follows from that; ``models/README.md`` says what a state is.

    Returns
    -------
    tuple[list[Violation], Placement]
        What is wrong, and the last placement.
    """
    order = Order(waves)
    final = apply(instance.current, waves)
    actions = [action for wave in waves for action in wave.actions]
    return [
        *_on_the_way(instance, order),
        *judge_pods(instance, order),
        *judge_stopovers(instance, actions, final),
        *check(instance, final),
    ], final


def _on_the_way(instance: Instance, order: Order) -> Iterator[Violation]:
    yield from judge_rooms(instance, order)
    yield from judge_groups(instance, order)
    if instance.on(Rule.QUOTA):
        yield from judge_quotas(instance, order)
    yield from judge_neighbours(instance, order)
    if instance.on(Rule.AFFINITY):
        yield from judge_affinity(instance, order)
    if instance.on(Rule.DISRUPTION):
        yield from judge_budgets(instance, order)
    yield from judge_moves_at_once(instance, order)
