"""What the planner and the process of the exact search tell each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.planning.solving.options import Options
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.engine.known import Bound
from kantopt.search.engine.told import Asked, Begun, Found, LeftOut, Note

WORK_PER_SECOND = 0.05
"""Deterministic seconds per second of the time limit: few enough that the clock rarely decides."""


@dataclass(frozen=True, slots=True)
class Started:
    """The search begins."""

    ortools_version: str


@dataclass(frozen=True, slots=True)
class Done:
    """The search has ended by itself, or just before the clock would have ended it."""

    infeasible: bool
    clocked: bool = False
    """The clock had its say."""


@dataclass(frozen=True, slots=True)
class Failed:
    """The search broke down."""

    message: str
    aborted: bool = False
    """The solver gave up itself, for a fault of its own: another way may do."""


Message = Started | Begun | LeftOut | Found | Bound | Note | Asked | Done | Failed


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What the process is to do."""

    instance: Instance
    tiers: tuple[Tier, ...]
    start: Placement
    """Legal but for required jobs that it may leave out."""
    forbidden: tuple[Placement, ...]
    budget: Budget
    without: tuple[str, ...] = ()
    """Techniques that are left out."""
    known: tuple[Bound, ...] = ()
    """Bounds that are proved already."""


def search_task(
    incumbent: Incumbent,
    options: Options,
    deadline: Deadline,
    workers: int,
    forbidden: Sequence[Placement] = (),
    part: float = 1.0,
) -> SearchTask:
    """Ask for a better placement than the incumbent, and for bounds.

    Where the clock does not decide, the limit of work is that of the whole run, or a part of it.
    """
    work = None
    if deadline.deterministic and deadline.asked is not None:
        work = deadline.asked * WORK_PER_SECOND * part
    return SearchTask(
        instance=incumbent.searched,
        tiers=incumbent.tiers,
        start=incumbent.placement,
        forbidden=tuple(forbidden),
        budget=Budget(deadline, options.seed, workers, work, options.log),
        without=options.without,
        known=() if forbidden else incumbent.known.proved(),
    )
