"""Prices that prove how much disruption a plan takes at least."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.chains.scope import scope_of
from kantopt.search.columns.generation import SCALE, Generation
from kantopt.search.columns.least import MOST_CELLS, MOST_GROUPS
from kantopt.search.columns.patterns import patterns_of
from kantopt.search.columns.program import program_of


@dataclass(frozen=True, slots=True)
class Prices:
    """Prices of pods, by pod set, and multipliers of tiers, by index, in ``1 / scale``."""

    scale: int
    pods: dict[int, int]
    tiers: dict[int, int]


def prices_of(
    instance: Instance,
    tiers: Sequence[Tier],
    values: Sequence[int],
    start: Placement,
    t: int,
    over: Callable[[], bool],
) -> Prices | None:
    """Look for prices that bound tier ``t`` from below; whether they do is for others to say.

    Parameters
    ----------
    start
        A placement with these values: patterns to begin with.
    t
        A tier of disruption.
    over
        Asked between rounds whether to stop.
    """
    scope = scope_of(instance, start)
    groups = sum(any(group.request) for group in scope.groups)
    if not groups or groups * len(instance.nodes) > MOST_CELLS or groups > MOST_GROUPS:
        return None
    program = program_of(scope, tiers, values, t)
    if not any(program.objective.out):
        return None
    counts = [group.start for group in scope.groups]
    generation = Generation(program, patterns_of(program, counts))
    generation.converge(values[t], over, lambda: None)
    proof = generation.proof
    pods = {
        s: price
        for g, price in zip(program.groups, proof.prices, strict=False)
        if price
        for s in scope.groups[g].podsets
    }
    locks = zip(program.locked, proof.locks, strict=False)
    return Prices(SCALE, pods, {i: k for i, k in locks if k})
