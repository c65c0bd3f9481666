"""A part of a question has all that the whole says of its jobs and pods."""

from __future__ import annotations

import ast
import inspect
from dataclasses import fields

import pytest

from kantopt.problem.derived import renumbering
from kantopt.problem.job import Job, PodSet


@pytest.mark.parametrize("kind", [Job, PodSet])
def test_no_field_is_left_to_its_default(kind: type[Job | PodSet]) -> None:
    """They are written out one by one: there are many, and ``replace`` takes longer."""
    given = [
        {str(word.arg) for word in call.keywords}
        for call in ast.walk(ast.parse(inspect.getsource(renumbering)))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == kind.__name__
    ]
    assert max(given, key=len) == {each.name for each in fields(kind) if each.init}
