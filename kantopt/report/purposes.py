"""What each action of a plan is for: who takes the room, or which goal or objective gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kantopt.report.tiers import tier_label
from kantopt.schema.plan import Binding, Goal, Move, Plan

_OF_PODS = ("unplaced", "displaced", "evictions", "moves", "disruption_cost", "migration_cost")
"""Metrics that do not gain by a pod's place, but by who runs or by leaving pods alone."""
_NAMED = 2
"""Jobs named of several that take the room."""


def purposes(plan: Plan) -> Mapping[str, str]:
    """Say of each action that disturbs somebody what it is for, by id.

    An eviction is for the job that the plan names. The room of a pod that moves is taken by those
    who arrive on its node in waves that wait for it; where they move themselves, it is for what
    their moves are for. Where nobody waits for it, it is for the goals that gain, or else for the
    objectives about places that do; these gain by all such moves together.
    """
    arriving = _Arriving(plan)
    gains = ", ".join(_gains(plan))
    found = {eviction.id: eviction.for_job or "-" for eviction in plan.evictions}
    for move in plan.moves:
        jobs = list(dict.fromkeys(arriving.after(move, set())))
        more = f" and {len(jobs) - _NAMED} more" if len(jobs) > _NAMED else ""
        found[move.id] = ", ".join(jobs[:_NAMED]) + more or gains or "-"
    return found


class _Arriving:
    """Who arrives on a node in waves that wait for another."""

    def __init__(self, plan: Plan) -> None:
        arrivals: tuple[Binding | Move, ...] = (*plan.assignments, *plan.moves)
        by_id = {action.id: action for action in arrivals}
        self._wave = {identity: wave.id for wave in plan.waves for identity in wave.actions}
        self._at: dict[tuple[int, str], list[Binding | Move]] = {}
        for wave in plan.waves:
            for action in (by_id[each] for each in wave.actions if each in by_id):
                node = action.node if isinstance(action, Binding) else action.to_node
                for before in wave.after:
                    self._at.setdefault((before, node), []).append(action)

    def after(self, move: Move, seen: set[str]) -> Iterator[str]:
        """Jobs whose pods are bound where a pod has left, or where pods have left to go there."""
        seen.add(move.id)
        for action in self._at.get((self._wave[move.id], move.from_node), ()):
            if isinstance(action, Binding):
                yield action.job
            elif action.id not in seen:
                yield from self.after(action, seen)


def _gains(plan: Plan) -> Iterator[str]:
    """Goals that gain, or, where there are none, objectives about places."""
    for goal in plan.goals:
        if goal.before != goal.after and (goal.after > goal.before) == goal.more_is_better:
            yield f"{'more' if goal.more_is_better else _less(goal)} {goal.text}"
    if not plan.goals:
        for tier in plan.objectives:
            if tier.value < tier.before and tier.metric not in _OF_PODS:
                yield tier_label(tier.name)


def _less(goal: Goal) -> str:
    return "lower" if goal.unit in ("other", "micro-units", "milliwatts") else "fewer"
