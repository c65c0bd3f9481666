"""What each action of a plan is for: who takes the room, or which goal or objective gains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kantopt.report.units import tier_label
from kantopt.schema.answers.actions import nodes_of
from kantopt.schema.answers.plan import Binding, Eviction, Goal, Move, Plan
from kantopt.schema.hints import listed

_MOVES = "moves"
_OF_PODS = ("unplaced", "displaced", "evictions", _MOVES, "disruption_cost", "migration_cost")
"""Metrics that do not gain by a pod's place, but by who runs or by leaving pods alone."""
_NAMED = 2
"""Jobs named of several that take the room."""


def purposes(plan: Plan) -> Mapping[str, str]:
    """Say of each action that disturbs somebody what it is for, by id.

    An eviction is for the job that the plan names. The room of a pod that moves is taken by those
    who arrive on its node in waves that wait for it; where they move themselves, it is for what
    their moves are for. Where nobody waits for it, it is for the goals that gain, or else for the
    objectives about places that do and rank above moves; these gain by all such moves together. A
    pod that goes only because its job restarts as a whole goes for what the others go for.
    """
    arriving = _Arriving(plan)
    gains = ", ".join(_gains(plan))
    found = {eviction.id: eviction.for_job or "-" for eviction in plan.evictions}
    for move in plan.moves:
        jobs = list(dict.fromkeys(arriving.after(move, set())))
        found[move.id] = listed(jobs, _NAMED) or gains or "-"
    together = {job.full_name for job in plan.jobs if job.disruption_mode == "all"}
    every: tuple[Eviction | Move, ...] = (*plan.evictions, *plan.moves)
    steps = [step for step in every if step.job in together]
    known = {step.job: found[step.id] for step in reversed(steps) if found[step.id] != "-"}
    for step in steps:
        if found[step.id] == "-":
            found[step.id] = known.get(step.job, "-")
    return found


class _Arriving:
    """Who arrives on a node in waves that wait for another, directly or by way of others."""

    def __init__(self, plan: Plan) -> None:
        arrivals: tuple[Binding | Move, ...] = (*plan.assignments, *plan.moves)
        by_id = {action.id: action for action in arrivals}
        self._wave = {identity: wave.id for wave in plan.waves for identity in wave.actions}
        self._next: dict[int, list[int]] = {}
        self._on: dict[str, list[tuple[int, Binding | Move]]] = {}
        for wave in plan.waves:
            for before in wave.after:
                self._next.setdefault(before, []).append(wave.id)
            for action in (by_id[each] for each in wave.actions if each in by_id):
                self._on.setdefault(nodes_of(action)[-1], []).append((wave.id, action))
        self._later: dict[int, frozenset[int]] = {}

    def after(self, move: Move, seen: set[str]) -> Iterator[str]:
        """Jobs whose pods are bound where a pod has left, or where pods have left to go there."""
        seen.add(move.id)
        later = self._waiting(self._wave[move.id])
        for wave, action in self._on.get(move.from_node, ()):
            if wave not in later:
                continue
            if isinstance(action, Binding):
                yield action.job
            elif action.id not in seen:
                yield from self.after(action, seen)

    def _waiting(self, wave: int) -> frozenset[int]:
        """Waves that wait for one: plans do not name those for which they wait by way of others."""
        if wave not in self._later:
            found: set[int] = set()
            ends = [wave]
            while ends:
                more = [w for w in self._next.get(ends.pop(), ()) if w not in found]
                found.update(more)
                ends += more
            self._later[wave] = frozenset(found)
        return self._later[wave]


def _gains(plan: Plan) -> Iterator[str]:
    """Goals that gain, or, where there are none, objectives about places, if worth a move."""
    for goal in plan.goals:
        if goal.before != goal.after and (goal.after > goal.before) == goal.more_is_better:
            yield f"{'more' if goal.more_is_better else _less(goal)} {goal.text}"
    if not plan.goals:
        for tier in plan.objectives:
            if tier.metric == _MOVES:
                break  # whatever comes below is no reason to move anybody
            if tier.value < tier.before and tier.metric not in _OF_PODS:
                yield tier_label(tier.name)


def _less(goal: Goal) -> str:
    return "lower" if goal.unit in ("other", "micro-units", "milliwatts") else "fewer"
