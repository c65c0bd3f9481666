"""Every state that a plan can pass through, judged: does each wave find the room it needs?"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kantopt.problem.actions import Wave, without_leftovers
from kantopt.problem.difference import apply
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.rules import check
from kantopt.verify.step import Violation
from kantopt.verify.waves.affinity import judge_affinity
from kantopt.verify.waves.groups import judge_groups, judge_together
from kantopt.verify.waves.neighbours import judge_neighbours
from kantopt.verify.waves.order import Order
from kantopt.verify.waves.pods import judge_pods, judge_stopovers
from kantopt.verify.waves.rooms import judge_rooms
from kantopt.verify.waves.shares import judge_budgets, judge_moves_at_once, judge_quotas

_BUT_PRIORITY = tuple(rule for rule in Rule if rule not in (Rule.PRIORITY, Rule.REQUIRED))

Judge = Callable[[Instance, Order], Iterator[Violation]]

ON_THE_WAY: tuple[tuple[tuple[Rule, ...], Judge], ...] = (
    ((Rule.CAPACITY, Rule.DEVICES), judge_rooms),
    ((Rule.GANG, Rule.TOPOLOGY, Rule.SLICES), judge_groups),
    ((Rule.QUOTA,), judge_quotas),
    ((Rule.ANTI_AFFINITY, Rule.SPREAD), judge_neighbours),
    ((Rule.AFFINITY,), judge_affinity),
    ((Rule.DISRUPTION,), judge_budgets),
    ((Rule.GANG_VICTIMS,), judge_together),
    ((Rule.LIMITS,), judge_moves_at_once),
)
"""Who judges what in every state on the way; a node that admits a pod admits it in all of them."""


def replay(instance: Instance, waves: Sequence[Wave]) -> tuple[list[Violation], Placement]:
    """Judge a plan in whatever order its waves may run, then as a whole.

    Waves of which neither waits for the other may run in either order, or together. What is
    judged holds in every state that follows from that; ``models/README.md`` says what a state is.
    What fills left-over room comes after all evictions, and the plan must be legal without it;
    with it, nobody is asked who needs a victim's room.

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
        *_as_a_whole(instance, order, final),
    ], final


def _as_a_whole(instance: Instance, order: Order, final: Placement) -> Iterator[Violation]:
    asked = without_leftovers(final, order.waves)
    yield from check(instance, asked)
    if asked is final:
        return
    yield from check(instance, final, _BUT_PRIORITY)
    evicting = [
        p for p, wave in enumerate(order.waves) if any(a.kind == "evict" for a in wave.actions)
    ]
    for p, wave in enumerate(order.waves):
        for action in wave.actions:
            early = [q for q in evicting if not order.precedes(q, p)]
            if action.leftover and early:
                yield Violation(
                    Rule.PRIORITY,
                    f"job {instance.job_of(action.podset).name}",
                    f"fills left-over room in wave {wave.id} without waiting for the evictions of "
                    f"wave {order.waves[early[0]].id}",
                )


def _on_the_way(instance: Instance, order: Order) -> Iterator[Violation]:
    for rules, judge in ON_THE_WAY:
        if any(map(instance.on, rules)):
            yield from judge(instance, order)
