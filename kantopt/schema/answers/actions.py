"""Actions of a plan, whatever their kind: where pods come from, and where they go."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kantopt.schema.answers.explanation import Steps
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan, Summary, Unplaced

PlanAction = Binding | Eviction | Move
Place = tuple[str, tuple[int, ...]]
"""A node and some of its devices, in order."""


def actions_of(plan: Plan | Steps) -> dict[str, PlanAction]:
    """Return the actions by id, kind by kind, not in the order in which they are taken."""
    actions: tuple[PlanAction, ...] = (*plan.assignments, *plan.evictions, *plan.moves)
    return {action.id: action for action in actions}


def in_waves(plan: Plan | Steps) -> Iterator[tuple[int, PlanAction]]:
    """Yield the actions in the order of the waves, each behind the id of its wave."""
    actions = actions_of(plan)
    return ((wave.id, actions[name]) for wave in plan.waves for name in wave.actions)


def source_of(action: PlanAction) -> Place | None:
    """Return the place that pods leave; ``None`` if they have none yet."""
    if isinstance(action, Move):
        return action.from_node, tuple(sorted(action.from_devices))
    if isinstance(action, Eviction):
        return action.node, tuple(sorted(action.devices))
    return None


def target_of(action: PlanAction) -> Place | None:
    """Return the place that pods go to; ``None`` if they are evicted."""
    if isinstance(action, Move):
        return action.to_node, tuple(sorted(action.to_devices))
    if isinstance(action, Binding):
        return action.node, tuple(sorted(action.devices))
    return None


def nodes_of(action: PlanAction) -> tuple[str, ...]:
    """Return the nodes that an action speaks of."""
    return tuple(place[0] for place in (source_of(action), target_of(action)) if place is not None)


def namespace_of(job: str) -> str:
    """Return the namespace of a job that is named with it."""
    return job.partition("/")[0]


def summary_of(
    assignments: Sequence[Binding],
    evictions: Sequence[Eviction],
    moves: Sequence[Move],
    unplaced: Sequence[Unplaced],
) -> Summary:
    """Count what actions come to, and what they leave pending."""
    fills = [item for item in assignments if item.leftover]
    placed, evicted = _pods(assignments), _pods(evictions)
    moved = _pods([item for item in moves if not item.stopover])
    return Summary(
        placed_jobs=len({item.job for item in assignments}),
        placed_pods=placed,
        unplaced_jobs=len(unplaced),
        unplaced_pods=sum(item.pods for item in unplaced),
        evicted_pods=evicted,
        moved_pods=moved,
        stopovers=_pods(moves) - moved,
        leftover_pods=_pods(fills),
        leftover_jobs=len({item.job for item in fills}),
        changes=bool(placed or evicted or moved),
    )


def _pods(actions: Sequence[PlanAction]) -> int:
    return sum(action.count for action in actions)


def disturbed(plan: Plan) -> dict[str, str]:
    """Return the pods, NAMESPACE/NAME, that a plan evicts or moves, each with its job."""
    items: tuple[Eviction | Move, ...] = (*plan.evictions, *plan.moves)
    return {f"{namespace_of(item.job)}/{pod.name}": item.job for item in items for pod in item.pods}


def left_waiting(judged: Plan, better: Plan) -> Counter[str]:
    """Return the jobs that one plan binds more pods of than a better one, and how many more."""
    mine, other = (Counter[str](), Counter[str]())
    for plan, found in ((judged, mine), (better, other)):
        for item in plan.assignments:
            found[item.job] += item.count
    return mine - other
