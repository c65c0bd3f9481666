"""The whole model for HiGHS: what CP-SAT is given, as a linear program in whole numbers.

HiGHS computes in floats: what it finds is a candidate for the judge, and that there is nothing
better is its opinion, not a proof.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ortools.linear_solver import pywraplp
from ortools.sat.python.cp_model import CpModel, IntVar

LARGEST_FLOAT = 2**50
"""Numbers from here on are not told apart well enough by floats."""


@dataclass(frozen=True, slots=True)
class Row:
    """``low <= sum of coefficients times variables <= high``; ``None`` is no limit."""

    terms: dict[int, int]
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class LinearProgram:
    """Whole numbers within bounds, rows over them, and costs to be minimised."""

    bounds: tuple[tuple[int, int], ...]
    rows: tuple[Row, ...]
    costs: dict[int, int]


def linear_program(cp: CpModel) -> LinearProgram | None:
    """Write a model as a linear program with the same solutions and costs up to a constant.

    Enforcement literals are written out with the least and most that a row can be, exactly, for
    every variable is bounded. ``None`` if the model says something that is not linear, such as the
    maximum of expressions, or has numbers too large for floats.
    """
    bounds = []
    for variable in cp.proto.variables:
        domain = list(variable.domain)
        if len(domain) != 2:
            return None
        bounds.append((domain[0], domain[1]))
    rows: list[Row] = []
    for constraint in cp.proto.constraints:
        found = _rows(constraint)
        if found is None:
            return None
        literals = list(constraint.enforcement_literal)
        rows += (part for row in found for part in _enforced(row, literals, bounds))
    costs: dict[int, int] = {}
    if cp.proto.has_objective():  # to look at one that is not there would make one
        costs = _sum(cp.proto.objective.vars, cp.proto.objective.coeffs)
    numbers = [abs(x) for row in rows for x in (*row.terms.values(), row.low or 0, row.high or 0)]
    if max([*numbers, *(abs(x) for x in costs.values())], default=0) >= LARGEST_FLOAT:
        return None
    return LinearProgram(tuple(bounds), tuple(rows), costs)


@dataclass(frozen=True, slots=True)
class Answer:
    """The best solution that HiGHS has found, and whether it says that none is better."""

    values: Callable[[IntVar], int]
    """Rounded floats: the judge has to say whether they are a solution."""
    optimal: bool


def solve_by_highs(program: LinearProgram, seconds: float) -> Answer | None:
    """Return what HiGHS finds in a time; ``None`` if it has no solution."""
    solver = pywraplp.Solver.CreateSolver("HIGHS")
    solver.SuppressOutput()
    solver.SetTimeLimit(max(1, int(1000 * seconds)))
    infinity = solver.infinity()
    variables = [solver.IntVar(float(low), float(high), "") for low, high in program.bounds]
    for row in program.rows:
        made = solver.Constraint(
            -infinity if row.low is None else float(row.low),
            infinity if row.high is None else float(row.high),
        )
        for i, coefficient in row.terms.items():
            made.SetCoefficient(variables[i], float(coefficient))
    cost = solver.Objective()
    cost.SetMinimization()
    for i, coefficient in program.costs.items():
        cost.SetCoefficient(variables[i], float(coefficient))
    exact = pywraplp.MPSolverParameters()
    exact.SetDoubleParam(pywraplp.MPSolverParameters.RELATIVE_MIP_GAP, 0.0)
    status = solver.Solve(exact)
    if status not in (pywraplp.Solver.OPTIMAL, pywraplp.Solver.FEASIBLE):
        return None
    values = [round(variable.solution_value()) for variable in variables]
    return Answer(lambda variable: values[variable.index], status == pywraplp.Solver.OPTIMAL)


def _sum(variables: Sequence[int], coefficients: Sequence[int]) -> dict[int, int]:
    """Coefficient of each variable; a variable may be named twice."""
    terms: dict[int, int] = {}
    for i, coefficient in zip(variables, coefficients, strict=True):
        terms[i] = terms.get(i, 0) + coefficient
    return {i: coefficient for i, coefficient in terms.items() if coefficient}


def _rows(constraint) -> list[Row] | None:  # type: ignore[no-untyped-def]
    """Rows of a constraint, its enforcement aside; ``None`` if it is not linear."""
    if constraint.has_linear():
        linear = constraint.linear
        domain = list(linear.domain)
        if len(domain) != 2:
            return None
        low, high = (None if abs(end) >= 2**62 else end for end in domain)
        return [Row(_sum(linear.vars, linear.coeffs), low, high)]
    if constraint.has_bool_or():
        return [_counted(constraint.bool_or.literals, 1, None)]
    if constraint.has_bool_and():
        literals = list(constraint.bool_and.literals)
        return [_counted(literals, len(literals), None)]
    if constraint.has_exactly_one():
        return [_counted(constraint.exactly_one.literals, 1, 1)]
    if constraint.has_at_most_one():
        return [_counted(constraint.at_most_one.literals, None, 1)]
    return None


def _counted(literals: Sequence[int], low: int | None, high: int | None) -> Row:
    """So many of some literals are true; those below 0 are negations."""
    negated = sum(literal < 0 for literal in literals)
    terms = _sum(
        [literal if literal >= 0 else -literal - 1 for literal in literals],
        [1 if literal >= 0 else -1 for literal in literals],
    )
    return Row(
        terms,
        None if low is None else low - negated,
        None if high is None else high - negated,
    )


def _enforced(
    row: Row, literals: Sequence[int], bounds: Sequence[tuple[int, int]]
) -> Iterator[Row]:
    """Rows that hold a row to its limits if all literals are true, and to nothing else."""
    if not literals:
        yield row
        return
    least = sum(c * bounds[i][0 if c > 0 else 1] for i, c in row.terms.items())
    most = sum(c * bounds[i][1 if c > 0 else 0] for i, c in row.terms.items())
    off = _counted(literals, len(literals), None)
    # ``off`` counts true literals beyond a constant; short of its limit by one or more, the row
    # may be off its own limit by ``slack``.
    assert off.low is not None
    for limit, slack, sign in (
        (row.high, 0 if row.high is None else most - row.high, 1),
        (row.low, 0 if row.low is None else row.low - least, -1),
    ):
        if limit is None or slack <= 0:
            continue
        terms = dict(row.terms)
        for i, coefficient in off.terms.items():
            terms[i] = terms.get(i, 0) + sign * slack * coefficient
        end = limit + sign * slack * off.low
        yield Row(terms, None if sign > 0 else end, end if sign > 0 else None)
