"""What a document part may hold, in plain words, read from the types of the parts."""

from __future__ import annotations

import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from annotated_types import Ge, Le, MaxLen, MinLen
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo

from kantopt.schema.base import Duration, Part, Quantity, Timestamp
from kantopt.schema.hints import one_of
from kantopt.schema.model import Objective, PriorityObjective

QUANTITY = "a quantity such as 500m, 16Gi or 8"


@dataclass(frozen=True, slots=True)
class Spec:
    """A type with what limits it; optional ones are taken apart before."""

    base: Any
    limits: tuple[Any, ...] = ()

    def limit(self, kind: type) -> Any:
        """The limit of one kind, if there is one."""
        return next((item for item in self.limits if isinstance(item, kind)), None)

    @property
    def pattern(self) -> str | None:
        """The regular expression that a string must match, if there is one."""
        found = (getattr(item, "pattern", None) for item in self.limits)
        return next((item for item in found if item is not None), None)

    @property
    def is_quantity(self) -> bool:
        """Whether it is a Kubernetes quantity."""
        return any(item in self.limits for item in _QUANTITY_MARKS)


def _flat(metadata: Sequence[Any]) -> Iterator[Any]:
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from item.metadata
        else:
            yield item


def spec_of(annotation: Any, metadata: Sequence[Any] = ()) -> Spec:
    """Take ``Annotated`` and ``| None`` off a type."""
    limits = tuple(_flat(metadata))
    while True:
        if get_origin(annotation) is Annotated:
            annotation, *inner = get_args(annotation)
            limits += tuple(_flat(inner))
        elif is_union(annotation) and type(None) in get_args(annotation):
            rest = tuple(arg for arg in get_args(annotation) if arg is not type(None))
            annotation = Union[rest]  # noqa: UP007 (the members are known at run time only)
        else:
            return Spec(annotation, limits)


def is_union(annotation: Any) -> bool:
    """Whether a type is one of several."""
    return get_origin(annotation) in (Union, types.UnionType)


def is_part(annotation: Any) -> bool:
    """Whether a type is a document part."""
    return isinstance(annotation, type) and issubclass(annotation, Part)


def field_names(part: type[Part]) -> dict[str, FieldInfo]:
    """Fields of a part by the name they have in a document."""
    return {info.alias or name: info for name, info in part.model_fields.items()}


_QUANTITY_MARKS = [item for item in spec_of(Quantity).limits if isinstance(item, BeforeValidator)]
_SHAPES = {
    spec_of(Timestamp).pattern: "a time such as 2026-09-01T03:00:00Z",
    spec_of(Duration).pattern: "a duration such as 90s, 30m or 1h30m",
}
"""What strings of a certain form are."""


def locate(part: type[Part], loc: Sequence[int | str]) -> tuple[tuple[int | str, ...], Spec, Spec]:
    """Follow the place of an error through the types.

    Returns
    -------
    path
        The place without what pydantic adds for the members of a union.
    spec
        The type there.
    parent
        The type that holds it.
    """
    path: list[int | str] = []
    spec = parent = Spec(part)
    for step in loc:
        if is_part(spec.base):
            parent = spec
            info = field_names(spec.base).get(str(step))
            path.append(step)
            if info is None:
                break
            spec = spec_of(info.annotation, info.metadata)
        elif get_origin(spec.base) is tuple and isinstance(step, int):
            path.append(step)
            parent, spec = spec, spec_of(get_args(spec.base)[0])
        elif get_origin(spec.base) is dict and step != "[key]":
            path.append(step)
            parent, spec = spec, spec_of(get_args(spec.base)[1])
        else:
            break
    return tuple(path), spec, parent


def metric_names(part: type[Part]) -> list[str]:
    """Names that an entry of a list of objectives may have."""
    return list(part.model_fields)


def describe(spec: Spec) -> str:
    """Say what is expected of a type."""
    base = spec.base
    if spec.is_quantity:
        return QUANTITY
    if base in (Objective, PriorityObjective):
        return f"a metric, {one_of(metric_names(base))}"
    if is_part(base):
        return _part(base)
    if is_union(base):
        return " or ".join(describe(spec_of(arg, spec.limits)) for arg in get_args(base))
    if get_origin(base) is Literal:
        return one_of([str(arg) for arg in get_args(base)])
    if get_origin(base) is tuple:
        least = " with at least one entry" if spec.limit(MinLen) else ""
        return f"a list{least}"
    if get_origin(base) is dict:
        return f"a mapping of names to {_plural(spec_of(get_args(base)[1]))}"
    if base is bool:
        return "true or false"
    return _string(spec) if base is str else _integer(spec)


def _plural(spec: Spec) -> str:
    return "quantities" if spec.is_quantity else "strings"


def _part(part: type[Part]) -> str:
    fields = field_names(part)
    required = [name for name, info in fields.items() if info.is_required()]
    names = required or list(fields)
    if not names:
        return "an empty mapping, {}"
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 or not required else "")
    return f"a mapping with {shown}"


def _string(spec: Spec) -> str:
    if spec.pattern is not None:
        return _SHAPES.get(spec.pattern, "a percentage such as 25%")
    least, most = spec.limit(MinLen), spec.limit(MaxLen)
    if most is not None:
        return f"a string of 1 to {most.max_length} characters"
    return "a string that is not empty" if least is not None else "a string"


def _integer(spec: Spec) -> str:
    least, most = spec.limit(Ge), spec.limit(Le)
    if least is not None and most is not None:
        return f"a whole number from {least.ge} to {most.le}"
    return f"a whole number from {least.ge}" if least is not None else "a whole number"
