"""Who takes which place, each one place, so that as much as possible stays as it is."""

from __future__ import annotations

from collections.abc import Sequence

from ortools.graph.python.linear_sum_assignment import SimpleLinearSumAssignment


def assign(worth: Sequence[Sequence[int]]) -> list[int]:
    """Return a column for each row, each column once, of the greatest worth in all.

    Parameters
    ----------
    worth
        A square table.

    Raises
    ------
    ValueError
        If the solver breaks down.
    """
    assignment = SimpleLinearSumAssignment()
    for i, row in enumerate(worth):
        for j, value in enumerate(row):
            assignment.add_arc_with_cost(i, j, -value)
    if assignment.solve() != assignment.OPTIMAL:
        raise ValueError("the assignment was not solved")
    return [assignment.right_mate(i) for i in range(len(worth))]
