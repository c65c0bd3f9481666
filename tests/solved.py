"""A question asked of CP-SAT alone: what it finds and what it proves."""

from __future__ import annotations

from dataclasses import dataclass

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.model import PlacementModel
from kantopt.cp.solve import solve_tiers
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests import oracle
from tests.oracle import Value


@dataclass(frozen=True, slots=True)
class Solved:
    """How the search ended."""

    placement: Placement | None
    """The best one; ``None`` if a required job has no place in it."""
    bounds: tuple[int, ...]
    """What CP-SAT has proved of each tier, given those above it; as far as it came."""
    infeasible: bool


def solved(
    instance: Instance,
    tiers: tuple[Tier, ...],
    start: Placement | None = None,
    budget: Budget | None = None,
    *,
    lazy: bool = False,
) -> Solved:
    """Solve to the end, from a placement or from the snapshot's own."""
    best = Incumbent(instance, tiers, start or instance.current)
    bounds: dict[int, int] = {}

    def closed(tier: int, bound: int, locks: Value) -> None:
        best.closed(tier, bound, locks)
        bounds[tier] = bound

    infeasible = solve_tiers(
        PlacementModel(instance, lazy=lazy),
        budget or Budget(Deadline(None), workers=1),
        best,
        closed=closed,
    )
    return Solved(
        None if best.missing else best.placement,
        tuple(bounds[tier] for tier in sorted(bounds)),
        infeasible,
    )


def agrees(instance: Instance, said: str, *, lazy: bool = False) -> Value | None:
    """Insist that the search finds and proves what brute force finds; return that.

    ``None`` if a required job has no place, of which both must say so.
    """
    tiers = tiers_of(instance)
    expected, _ = oracle.best(instance)
    outcome = solved(instance, tiers, lazy=lazy)
    assert outcome.infeasible == (expected is None), said
    if expected is not None:
        assert outcome.placement is not None, said
        assert not check(instance, outcome.placement), said
        assert measure(instance, outcome.placement, tiers) == expected, said
        assert outcome.bounds == expected, said
    return expected
