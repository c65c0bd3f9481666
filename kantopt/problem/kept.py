"""Results that are kept with a question, and go with it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar, cast

from kantopt.problem.instance import Instance

_P = ParamSpec("_P")
_R = TypeVar("_R")


PER_TIER = 2**16
"""Results that are kept where each tier has its own: more tiers than models have."""


def kept_with_instance(most: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Work out what a function says of an instance only once, as long as the instance is there.

    A large cache of the latest results, as ``functools`` has it, keeps the questions alive that
    they are about: a simulation, which plans many thousand times, would fill the memory with them.

    Parameters
    ----------
    most
        Results that are kept with an instance; beyond that it begins anew.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        # Arguments are hashable; the one called ``instance`` is passed by position.
        at = function.__code__.co_varnames.index("instance")

        @wraps(function)
        def once(*arguments: _P.args, **named: _P.kwargs) -> _R:
            results = cast("Instance", arguments[at]).results.setdefault(function, {})
            key = (*arguments[:at], *arguments[at + 1 :], *named.items())
            if key not in results:
                if len(results) >= most:
                    results.clear()
                results[key] = function(*arguments, **named)
            return cast("_R", results[key])

        return once

    return decorate
