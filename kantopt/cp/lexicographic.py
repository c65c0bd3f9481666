"""Several tiers in one sum whose order counts: each weighs more than all below it together."""

from __future__ import annotations

from collections.abc import Sequence

from ortools.sat.python import cp_model

from kantopt.cp.variables import Terms, weighted

_LARGEST = 2**50
"""Largest weighted sum that is minimised at once."""


def within_reach(widths: Sequence[int]) -> int:
    """Return how many of the first tiers, of so many values each, one sum can hold: at least one.

    Whoever leaves tiers out claims nothing of them.
    """
    product = 1
    for i, width in enumerate(widths):
        product *= width
        if i and product > _LARGEST:
            return i
    return len(widths)


def in_order(tiers: Sequence[tuple[cp_model.LinearExprT, int]]) -> cp_model.LinearExprT:
    """Return the sum of some expressions, the first ones first, each less than its width."""
    terms: Terms = []
    weight = 1
    for expression, width in reversed(tiers):
        terms.append((expression, weight))
        weight *= width
    return weighted(terms)


def width_of(cp: cp_model.CpModel, expression: cp_model.LinearExprT) -> int:
    """One more than an expression can be by the domains of its variables, and it the objective."""
    cp.minimize(expression)
    objective = cp.proto.objective
    most = round(objective.offset)
    for v, factor in zip(objective.vars, objective.coeffs, strict=True):
        domain = list(cp.proto.variables[v].domain)  # an index below 0 would be that of the first
        most += max(factor * domain[0], factor * domain[-1])
    return most + 1
