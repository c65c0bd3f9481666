"""What a plan does: actions on pods, gathered in waves."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement


@dataclass(frozen=True, slots=True)
class Action:
    """Bind pending pods to a spot, evict running ones from one, or move them.

    A move may be a stop-over: its pods go on from there in a later wave. A bind may be of the
    second question: it fills what the rest of the plan leaves over.
    """

    id: str
    kind: Literal["bind", "evict", "move"]
    podset: int
    pods: int
    source: Spot | None
    target: Spot | None
    stopover: bool = False
    leftover: bool = False


@dataclass(frozen=True, slots=True)
class Wave:
    """Actions that may run together once the waves in ``after`` are done.

    Room that pods of a wave give up is free when the wave is done; only pods that restart may take
    the room of each other, for they all leave before the first of them is back.
    """

    id: int
    after: tuple[int, ...]
    actions: tuple[Action, ...]


def without_leftovers(placement: Placement, waves: Iterable[Wave]) -> Placement:
    """Return where a plan leads without what fills left-over room: the answer to its question."""
    return placement.plus(
        (action.podset, action.target, -action.pods)
        for wave in waves
        for action in wave.actions
        if action.leftover and action.target is not None
    )
