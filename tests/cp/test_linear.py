"""The same counts for HiGHS: the linear program says what the model says."""

from __future__ import annotations

import random

import pytest
from ortools.sat.python import cp_model
from ortools.sat.python.cp_model import CpModel, LinearExpr

from kantopt.cp.linear import LinearProgram, linear_program, solve_by_highs
from kantopt.cp.model import PlacementModel
from kantopt.problem.tiers import tiers_of
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.generate import random_instance


def satisfied(program: LinearProgram, values: list[int]) -> bool:
    within = all(low <= x <= high for x, (low, high) in zip(values, program.bounds, strict=True))
    sums = [(row, sum(c * values[i] for i, c in row.terms.items())) for row in program.rows]
    return within and all(
        (row.low is None or total >= row.low) and (row.high is None or total <= row.high)
        for row, total in sums
    )


def random_model(rng: random.Random) -> CpModel:
    """Rows of all kinds, enforced or not, over a few small variables."""
    cp = CpModel()
    numbers = [cp.new_int_var(rng.randint(-2, 0), rng.randint(1, 3), "") for _ in range(2)]
    answers = [cp.new_bool_var("") for _ in range(3)]

    def literals(count: int) -> list[cp_model.LiteralT]:
        return [rng.choice((x, ~x)) for x in rng.sample(answers, count)]

    for _ in range(rng.randint(1, 4)):
        match rng.randrange(5):
            case 0 | 1:
                chosen = [*numbers, *answers]
                terms = LinearExpr.weighted_sum(chosen, [rng.randint(-3, 3) for _ in chosen])
                low = rng.randint(-4, 2)
                made = cp.add_linear_constraint(terms, low, low + rng.randint(0, 5))
            case 2:
                made = cp.add_bool_or(literals(2))
            case 3:
                made = cp.add_bool_and(literals(2))
            case _:
                rng.choice((cp.add_exactly_one, cp.add_at_most_one))(literals(3))
                continue
        if rng.random() < 0.6:
            made.only_enforce_if(*literals(rng.choice((1, 2))))
    return cp


@pytest.mark.parametrize("seed", range(60))
def test_the_program_has_the_solutions_of_the_model(seed: int) -> None:
    cp = random_model(random.Random(seed))
    program = linear_program(cp)
    assert program is not None
    variables = [cp.get_int_var_from_proto_index(i) for i in range(len(program.bounds))]
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.enumerate_all_solutions = True
    found: set[tuple[int, ...]] = set()

    class Collect(cp_model.CpSolverSolutionCallback):
        def on_solution_callback(self) -> None:
            found.add(tuple(self.value(variable) for variable in variables))

    collect = Collect()
    solver.solve(cp, collect)
    ranges = [range(low, high + 1) for low, high in program.bounds]
    values: list[list[int]] = [[]]
    for each in ranges:
        values = [[*row, x] for row in values for x in each]
    assert {tuple(row) for row in values if satisfied(program, row)} == found


@pytest.mark.parametrize("seed", range(40))
def test_highs_finds_legal_placements_of_the_best_value(seed: int) -> None:
    instance = random_instance(seed)
    tiers = tiers_of(instance)
    model = PlacementModel(instance)
    model.cp.minimize(model.expression(tiers[0]))
    program = linear_program(model.cp)
    if program is None:
        pytest.skip("a maximum is not linear")
    answer = solve_by_highs(program, 60.0)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model.cp)
    if answer is None:
        # HiGHS 1.12 finds no solution of some programs that have one, with and without presolve:
        # then the program at least is right, and nobody takes that for a proof.
        values = (
            [
                solver.value(model.cp.get_int_var_from_proto_index(i))
                for i in range(len(program.bounds))
            ]
            if status != cp_model.INFEASIBLE
            else None
        )
        assert values is None or satisfied(program, values)
        return
    assert answer.optimal
    placement = model.extract(answer.values)
    assert check(instance, placement) == []
    assert measure(instance, placement, tiers)[0] == round(solver.objective_value)


def test_what_is_not_linear_or_too_large_has_no_program() -> None:
    cp = CpModel()
    x, y = (cp.new_int_var(0, 3, name) for name in "xy")
    cp.add_max_equality(x, [0, y - 1])
    assert linear_program(cp) is None
    cp = CpModel()
    x = cp.new_int_var(0, 3, "x")
    cp.add(2**51 * x <= 2**52)
    assert linear_program(cp) is None
