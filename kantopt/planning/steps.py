"""What a plan for one job does, step by step, as explanations and price lists hold it."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.planning.document import documented_actions
from kantopt.planning.question import Question
from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema import plan as docs
from kantopt.schema.explanation import Steps


def steps_of(
    question: Question, instance: Instance, placement: Placement | None, waves: Sequence[Wave]
) -> Steps | None:
    """Write down how a placement is reached; ``None`` if there is none, or nothing to do."""
    if placement is None or not waves:
        return None
    binds, evictions, moves = documented_actions(question, instance, placement, waves)
    return Steps(
        placed_pods=sum(item.count for item in binds),
        evicted_pods=sum(item.count for item in evictions),
        moved_pods=sum(item.count for item in moves if not item.stopover),
        assignments=binds,
        evictions=evictions,
        moves=moves,
        waves=tuple(
            docs.Wave(id=wave.id, after=wave.after, actions=tuple(a.id for a in wave.actions))
            for wave in waves
        ),
    )
