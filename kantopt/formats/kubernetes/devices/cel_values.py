"""What selectors of devices compute with: values, and the operators that take and give them.

A value is found by a function of a device, which raises :class:`CelError` where there is none.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction


class CelError(Exception):
    """An expression that is not read here, or that fails for a device."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """An amount, which is no number to an expression."""

    amount: Fraction


@dataclass(frozen=True, slots=True)
class Unread:
    """A value that is there, of a type that is not read: a version, a list."""


Value = str | int | bool | Quantity | Unread
Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Facts:
    """What an expression sees of a device; attributes and capacity by domain and name."""

    driver: str
    attributes: Mapping[Name, Value]
    capacity: Mapping[Name, Value]

    def table(self, field: str) -> Mapping[Name, Value]:
        """Return attributes or capacity."""
        return self.attributes if field == "attributes" else self.capacity


Run = Callable[[Facts], Value]
"""Finds a value."""
ORDER: dict[str, Callable[[str | int, str | int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_TEXT: dict[str, Callable[[str, str], bool]] = {
    "startsWith": str.startswith,
    "endsWith": str.endswith,
    "contains": str.__contains__,
}
_AMOUNT: dict[str, Callable[[Fraction, Fraction], int]] = {
    "compareTo": lambda a, b: (a > b) - (a < b),
    "isGreaterThan": operator.gt,
    "isLessThan": operator.lt,
}


def constant(value: Value) -> Run:
    """Find the same for every device."""
    return lambda device: value


def looked_up(field: str, name: Name) -> Run:
    """Find an attribute or a capacity of a device, which it must have."""

    def run(device: Facts) -> Value:
        found = device.table(field).get(name)
        if found is None or isinstance(found, Unread):
            raise CelError(f"{name[0]}/{name[1]} is missing or not read")
        return found

    return run


def settled(parts: list[Run], *, by: bool) -> Run:
    """Join conditions: ``by`` if any is, whatever fails beside it, else the opposite."""
    if len(parts) == 1:
        return parts[0]

    def run(device: Facts) -> Value:
        failed: CelError | None = None
        for part in parts:
            try:
                found = part(device)
            except CelError as error:
                failed = error
                continue
            if found is by:
                return by
            if not isinstance(found, bool):
                failed = CelError("neither true nor false")
        if failed is not None:
            raise failed
        return not by

    return run


def compared(left: Run, sign: str, right: Run) -> Run:
    """Compare two values; those of different types are not equal."""

    def run(device: Facts) -> Value:
        a, b = left(device), right(device)
        alike = type(a) is type(b)
        if isinstance(a, Quantity) != isinstance(b, Quantity):
            raise CelError("a quantity beside something else")
        if sign in ("==", "!="):
            return (alike and a == b) == (sign == "==")
        if not (isinstance(a, str | int) and isinstance(b, str | int) and alike):
            raise CelError("what cannot be ordered")
        return ORDER[sign](a, b)

    return run


def called(target: Run, method: str, argument: Run) -> Run:
    """Call a method of a string or of a quantity."""
    if method in _TEXT:
        return lambda device: _TEXT[method](text_of(target(device)), text_of(argument(device)))
    if method in _AMOUNT:
        return lambda device: _AMOUNT[method](_amount(target(device)), _amount(argument(device)))
    raise CelError(f"{method}() is not read")


def text_of(value: Value) -> str:
    """Return a string, which it must be."""
    if not isinstance(value, str):
        raise CelError("no string")
    return value


def _amount(value: Value) -> Fraction:
    if not isinstance(value, Quantity):
        raise CelError("no quantity")
    return value.amount
