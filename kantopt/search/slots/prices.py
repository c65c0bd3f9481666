"""Prices of pods that bound a tier of slots, or one below it, for a witness."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.slots.generation import Generation
from kantopt.verify.slots.bound import Weights
from kantopt.verify.slots.program import Program, program_of
from kantopt.verify.slots.rooms import rooms_of
from kantopt.verify.witness.contents import ARRIVALS, kept


def slot_prices(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    t: int,
    over: Callable[[], bool],
    placement: Placement | None = None,
) -> tuple[int, dict[str, int]] | None:
    """Return a denominator and multipliers, by row, that should bound tier ``t`` best.

    For plans no worse than ``values`` above it, as a ``placement`` may be. ``None`` if the tier is
    of another kind, or if nothing is found before it is ``over``.
    """
    program = program_of(instance, tiers, values, t)
    rooms = None if program is None else rooms_of(program)
    if program is None or rooms is None:
        return None
    generation = Generation(program, rooms)
    if placement is not None:
        generation.learn(placement)
    while generation.bound < values[t] and not (over() or generation.final):
        generation.round()
    weights = generation.weights
    return None if weights is None else (weights.unit, _named(program, weights))


def _named(program: Program, weights: Weights) -> dict[str, int]:
    found = {kind.name: max(0, x) for kind, x in zip(program.kinds, weights.kinds, strict=True)}
    found |= {kept(kind): max(0, -x) for kind, x in zip(program.kinds, weights.kinds, strict=True)}
    found |= dict(zip(program.names[1:], weights.rows[1:], strict=True))
    found[ARRIVALS] = weights.arrivals
    return found
