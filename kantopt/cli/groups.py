"""Options that several commands share as a group, handed to them as one value."""

import functools
import inspect
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any


def with_groups(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command the options of its groups, in their place among its own.

    A group is a parameter that takes a dataclass: the fields of this are the options, as they are
    annotated. Other defaults than those of the fields are those of the parameter's default.
    """
    own = inspect.signature(command).parameters
    groups: dict[str, Any] = {}
    for name, each in own.items():
        kind = each.annotation
        if isinstance(kind, type) and is_dataclass(kind):
            groups[name] = kind() if each.default is each.empty else each.default

    @functools.wraps(command)
    def wrapper(**arguments: Any) -> int:
        for name, group in groups.items():
            chosen = {field.name: arguments.pop(field.name) for field in fields(group)}
            arguments[name] = type(group)(**chosen)
        return command(**arguments)

    def options() -> Iterator[inspect.Parameter]:
        kind = inspect.Parameter.KEYWORD_ONLY
        for name, parameter in own.items():
            if name not in groups:
                yield parameter.replace(kind=kind)
                continue
            for field in fields(groups[name]):
                default = getattr(groups[name], field.name)
                yield inspect.Parameter(field.name, kind, default=default, annotation=field.type)

    parameters = list(options())
    wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    return wrapper
