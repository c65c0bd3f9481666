"""What a plan does: actions on pods, gathered in waves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from kantopt.problem.cluster import Spot


@dataclass(frozen=True, slots=True)
class Action:
    """Bind pending pods to a spot, evict running ones from one, or move them.

    A move may be a stop-over: its pods go on from there in a later wave.
    """

    id: str
    kind: Literal["bind", "evict", "move"]
    podset: int
    pods: int
    source: Spot | None
    target: Spot | None
    stopover: bool = False


@dataclass(frozen=True, slots=True)
class Wave:
    """Actions that may run together once the waves in ``after`` are done.

    Room that pods of a wave give up is free when the wave is done; only pods that restart may take
    the room of each other, for they all leave before the first of them is back.
    """

    id: int
    after: tuple[int, ...]
    actions: tuple[Action, ...]
