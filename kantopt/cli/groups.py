"""Options that several commands share as a group, handed to them as one value."""

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any


def with_group(
    name: str, options: Mapping[str, Any], group: type
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Give a command some options; it takes them together as one parameter.

    Parameters
    ----------
    name
        Name of that parameter.
    options
        Annotations of the options, by the field of ``group`` that each sets.
    group
        Class of the value.
    """

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> int:
            chosen = {each: arguments.pop(each) for each in options}
            return command(**arguments, **{name: group(**chosen)})

        signature = inspect.signature(command)
        own = [each for key, each in signature.parameters.items() if key != name]
        more = [
            inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=option)
            for key, option in options.items()
        ]
        wrapper.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        wrapper.__annotations__ = {
            **{key: kind for key, kind in command.__annotations__.items() if key != name},
            **options,
        }
        return wrapper

    return decorate
