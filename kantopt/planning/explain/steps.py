"""A plan for one job, written down."""

from __future__ import annotations

from kantopt.planning.document import documented_actions
from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.schema.explanation import Steps
from kantopt.schema.plan import Wave
from kantopt.search.explain.decide import Decision


def steps_of(question: Question, instance: Instance, decision: Decision) -> Steps | None:
    """Write the plan of a decision down; ``None`` if it has none."""
    if decision.placement is None or not decision.waves:
        return None
    binds, evictions, moves = documented_actions(
        question, instance, decision.placement, decision.waves
    )
    return Steps(
        placed_pods=sum(item.count for item in binds),
        evicted_pods=sum(item.count for item in evictions),
        moved_pods=sum(item.count for item in moves),
        assignments=binds,
        evictions=evictions,
        moves=moves,
        waves=tuple(
            Wave(id=wave.id, after=wave.after, actions=tuple(a.id for a in wave.actions))
            for wave in decision.waves
        ),
    )
