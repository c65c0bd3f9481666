"""What another solver finds of a tier that only search has proved."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from importlib.metadata import version
from multiprocessing.connection import Connection

from kantopt.problem.derived.classes import merge_pods
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.answers.certificate import SecondOpinion
from kantopt.worker import Worker

SOLVER = "HiGHS"
Finding = tuple[int, bool]
"""The least value found, and whether nothing less is said to be possible."""


def second_opinion(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int], i: int, seconds: float
) -> SecondOpinion:
    """Ask HiGHS for the least value of a tier that is proved to be at its bound.

    It shares no code with CP-SAT, and none of our searches; the model it is given is the same. It
    works in a process of its own, which is ended when the time is up.

    Parameters
    ----------
    values
        Values of the tiers; those above tier ``i`` are its limits, its own is the bound.
    seconds
        Time to take at most.
    """
    found = _asked(instance, tiers, values, i, seconds)
    outcome = opinion(found, values[i])
    return SecondOpinion.model_validate(
        {
            "solver": SOLVER,
            "version": f"ortools {version('ortools')}",
            "outcome": outcome,
            "value": None if found is None else found[0],
        }
    )


def opinion(found: Finding | None, bound: int) -> str:
    """Say what a finding means for a bound that a plan at hand reaches."""
    if found is None:
        return "undecided"
    value, optimal = found
    if value < bound or (optimal and value > bound):
        return "contradicts"
    return "agrees" if optimal else "undecided"


def _asked(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int], i: int, seconds: float
) -> Finding | None:
    def ask(line: Connection) -> None:
        line.send(least_by_highs(instance, tiers, values, i, seconds))

    finding: Finding | None = None
    with Worker(ask) as other, contextlib.suppress(EOFError, OSError):
        if other.line.poll(seconds):
            finding = other.line.recv()
    return finding


def least_by_highs(
    instance: Instance, tiers: Sequence[Tier], values: Sequence[int], i: int, seconds: float
) -> Finding | None:
    """Return what HiGHS finds of tier ``i`` with those above it at most at their values.

    ``None`` if it finds nothing in the time, what it finds is no legal placement, or the model has
    parts that are not linear.
    """
    from kantopt.cp.linear import linear_program, solve_by_highs
    from kantopt.cp.model import PlacementModel
    from kantopt.verify.metrics import measure
    from kantopt.verify.rules import check

    merged = merge_pods(instance)
    alike = merged.tiers(tiers)
    model = PlacementModel(merged.instance)
    for tier, value in zip(alike[:i], values[:i], strict=True):
        model.cp.add(model.expression(tier) <= value)
    model.cp.minimize(model.expression(alike[i]))
    program = linear_program(model.cp)
    answer = None if program is None else solve_by_highs(program, seconds)
    if answer is None:
        return None
    placement = model.extract(answer.values)
    found = measure(merged.instance, placement, alike)
    within = all(v <= lock for v, lock in zip(found[:i], values[:i], strict=True))
    if check(merged.instance, placement) or not within:
        return None  # floats went wrong
    return found[i], answer.optimal
