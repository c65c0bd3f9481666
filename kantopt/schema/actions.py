"""Actions of a plan, whatever their kind."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.explanation import Steps
from kantopt.schema.plan import Binding, Eviction, Move, Plan

PlanAction = Binding | Eviction | Move


def actions_of(plan: Plan | Steps) -> dict[str, PlanAction]:
    """Return the actions by id, kind by kind, not in the order in which they are taken."""
    actions: tuple[PlanAction, ...] = (*plan.assignments, *plan.evictions, *plan.moves)
    return {action.id: action for action in actions}


def in_waves(plan: Plan | Steps) -> Iterator[tuple[int, PlanAction]]:
    """Yield the actions in the order of the waves, each behind the id of its wave."""
    actions = actions_of(plan)
    return ((wave.id, actions[name]) for wave in plan.waves for name in wave.actions)
