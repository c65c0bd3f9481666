"""The exact search as the planner sees it: incumbents judged as they come, bounds kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from kantopt.clock import Deadline
from kantopt.planning.solver_process import (
    Closed,
    Done,
    Failed,
    Found,
    SearchTask,
    SolverProcess,
    Started,
)
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.step import Step

LARGEST = 500_000
"""Most counts in a model; beyond, building it alone would eat the time and the memory."""
GRACE = 0.2
"""Seconds before the deadline at which the process is to stop, so that its last word is heard."""


@dataclass(slots=True)
class Search:
    """What the exact search has brought.

    ``placements`` are the incumbents, each better than the one before it; ``bounds`` one entry per
    tier that the search is done with.
    """

    placements: list[Placement] = field(default_factory=list)
    bounds: list[Closed] = field(default_factory=list)
    infeasible: bool = False
    ended: bool = False
    """The search came to its end by itself: no clock decided where it stopped."""
    ortools_version: str = ""
    warnings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Limits:
    """What the search may spend; ``work`` in deterministic seconds makes it repeatable."""

    deadline: Deadline
    seed: int
    workers: int
    work: float | None


def search(
    instance: Instance,
    tiers: Sequence[Tier],
    start: Placement | None,
    limits: Limits,
    improved: Callable[[tuple[int, ...]], None],
    forbidden: Sequence[Placement] = (),
    process: SolverProcess | None = None,
) -> Search:
    """Run the exact search in a process of its own until it ends or the time is up.

    Every placement that it sends is judged before it counts; ``start`` is a legal placement, or
    ``None`` if a required job has no place in any placement known so far. ``process`` may be one
    that waits already; it is used up.
    """
    result = Search()
    moves = _counts(instance, moves=True) <= LARGEST
    if not moves and (counts := _counts(instance, moves=False)) > LARGEST:
        result.warnings.append(f"not searched exactly: {counts} counts of {LARGEST} at most")
        return result
    if not moves and start is not None and _moves_pods(instance, start):
        result.warnings.append("not searched exactly: too many pods to move")
        return result
    best = None if start is None else measure(instance, start, tiers)
    task = SearchTask(
        instance=instance,
        tiers=tuple(tiers),
        start=start,
        forbidden=tuple(forbidden),
        deadline=limits.deadline.less(GRACE),
        seed=limits.seed,
        workers=limits.workers,
        work=limits.work,
        moves=moves,
    )
    with process or SolverProcess() as solver:
        solver.begin(task)
        for message in solver.messages(limits.deadline):
            match message:
                case Found(podsets):
                    placement = Placement(podsets)
                    values = measure(instance, placement, tiers)
                    if best is not None and values >= best:
                        continue
                    faults = check(instance, placement)
                    if faults:
                        result.warnings.append(
                            f"a placement of the solver was refused: {faults[0]}"
                        )
                        continue
                    best = values
                    result.placements.append(placement)
                    improved(values)
                case Closed():
                    result.bounds.append(message)
                case Started(version):
                    result.ortools_version = version
                case Done(infeasible):
                    result.infeasible = infeasible
                    result.ended = True
                case Failed(text):
                    result.warnings.append(text)
    if not result.ortools_version:
        result.warnings.append("the exact search did not begin: its model was not ready in time")
    elif not moves:
        result.warnings.append("searched without moves, and nothing proved: too many pods to move")
    return result


def _moves_pods(instance: Instance, placement: Placement) -> bool:
    step = Step(instance, instance.current, placement)
    return any(step.moved(podset.index) for podset in instance.podsets if podset.running)


def _counts(instance: Instance, *, moves: bool) -> int:
    """Counts that a model needs: pods of each pod set that stay, arrive, occupy a device."""
    counts = 0
    for podset in instance.podsets:
        counts += len(podset.current)
        if not podset.running or (moves and podset.movable):
            wide = 1 + (8 if podset.devices else 0)
            counts += wide * len(podset.allowed)
    return counts
