"""Objects of other systems, read leniently: unknown fields pass, wrong types are reported."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from kantopt.errors import Problem
from kantopt.schema.hints import one_of, path_text, shown
from kantopt.schema.quantity import MILLI_RESOURCES, is_bytes, parse_quantity, to_base

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
_EMPTY: dict[str, Any] = {}
Key = tuple[str, str]
"""Namespace and name of an object."""
Exact = int | Fraction
"""An amount as it is written; mostly whole, and then quick to add up."""


@lru_cache(maxsize=4096)
def _base(resource: str, value: str | int, up: bool) -> int:
    """Remember quantities: a cluster of thousands of pods writes the same few again and again."""
    return to_base(resource, value, up=up)


@lru_cache(maxsize=4096, typed=True)
def _exact(resource: str, value: str | int) -> Exact:
    if isinstance(value, bool):
        raise TypeError("not a quantity")
    to_base(resource, value)  # refuses what is no amount of the resource
    amount = parse_quantity(value) * (1000 if resource in MILLI_RESOURCES else 1)
    return int(amount) if amount.denominator == 1 else amount


def json_of(text: str) -> Any:
    """Return what an annotation says in JSON; ``None`` if it is empty or nobody can read it."""
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError):
        return None


def is_time(text: str) -> bool:
    """Whether a text is an RFC 3339 time of a day that the calendar has."""
    try:
        return bool(_TIME.fullmatch(text) and datetime.fromisoformat(text))
    except ValueError:
        return False


class View:
    """A mapping somewhere in a file.

    Every reader returns a plain value or, where a field is absent or null, nothing of its type.
    What has the wrong type is added to ``problems`` and read as absent, so that all that is wrong
    can be said at once.
    """

    __slots__ = ("_data", "_file", "_path", "_problems")

    def __init__(
        self,
        data: Mapping[str, Any],
        file: str,
        path: tuple[str | int, ...],
        problems: list[Problem],
    ) -> None:
        self._data = data
        self._file = file
        self._path = path
        self._problems = problems

    def __contains__(self, key: str) -> bool:
        return self._data.get(key) is not None

    @property
    def raw(self) -> Mapping[str, Any]:
        """The mapping itself."""
        return self._data

    @property
    def key(self) -> Key:
        """Namespace and name of the object that this is."""
        metadata = self.at("metadata")
        return metadata.text("namespace") or "default", metadata.text("name")

    @property
    def uid(self) -> str:
        """What tells the object that this is from others, also from later ones of its name."""
        return self.at("metadata").text("uid")

    @property
    def labels(self) -> dict[str, str]:
        """Labels of the object that this is."""
        return self.at("metadata").words("labels")

    @property
    def annotations(self) -> dict[str, str]:
        """Annotations of the object that this is."""
        return self.at("metadata").words("annotations")

    @property
    def owners(self) -> Sequence[View]:
        """Owner references of the object that this is."""
        return list(self.at("metadata").list("ownerReferences"))

    @property
    def terminating(self) -> bool:
        """Whether the object that this is has been deleted and is on its way out."""
        return "deletionTimestamp" in self.at("metadata")

    @property
    def node(self) -> str:
        """Node of the pod that this is; empty: it has none."""
        return self.at("spec").text("nodeName")

    @property
    def ready(self) -> bool:
        """Whether the node or pod that this is is ready, as far as it tells."""
        told = self.at("status").list("conditions")
        states = [item.text("status") for item in told if item.text("type") == "Ready"]
        return not states or states[-1] == "True"

    def condition(self, kind: str, status: str = "True") -> View | None:
        """Return a condition of the object that this is, if it has it in this status."""
        for item in self.at("status").list("conditions"):
            if item.text("type") == kind and item.text("status") == status:
                return item
        return None

    def replaced(self, **fields: Any) -> View:
        """Return the same place with some fields replaced."""
        return View({**self._data, **fields}, self._file, self._path, self._problems)

    def problem(self, key: str, expected: str, hint: str = "") -> None:
        """Report what stands at a key."""
        found = "nothing" if key not in self._data else shown(self._data[key])
        path = path_text([*self._path, key])
        self._problems.append(Problem(self._file, path, found, expected, hint))

    def at(self, *keys: str) -> View:
        """Return the mapping at a path; an empty one if any step is absent."""
        view = self
        for key in keys:
            value = view._data.get(key)
            if value is not None and not isinstance(value, dict):
                view.problem(key, "a mapping")
                value = None
            path = (*view._path, key)
            view = View(_EMPTY if value is None else value, self._file, path, self._problems)
        return view

    def list(self, key: str) -> Iterator[View]:
        """Yield the mappings of a list."""
        for i, item in enumerate(self._items(key)):
            path = (*self._path, key, i)
            if isinstance(item, dict):
                yield View(item, self._file, path, self._problems)
            else:
                self._problems.append(
                    Problem(self._file, path_text(path), shown(item), "a mapping")
                )

    def _items(self, key: str) -> Sequence[Any]:
        value = self._data.get(key)
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            self.problem(key, "a list")
            return ()
        return value

    def strings(self, key: str) -> tuple[str, ...]:
        """Return a list of strings."""
        items = self._items(key)
        if not all(isinstance(item, str) for item in items):
            self.problem(key, "a list of strings")
            return ()
        return tuple(items)

    def text(self, key: str, default: str = "") -> str:
        """Return a string."""
        value = self._data.get(key)
        if value is None:
            return default
        if not isinstance(value, str):
            self.problem(key, "a string")
            return default
        return value

    def name(self, key: str = "name") -> str:
        """Return a name that must be there: 1 to 253 characters."""
        value = self.text(key)
        if isinstance(self._data.get(key, ""), str) and not 1 <= len(value) <= 253:
            self.problem(key, "a string of 1 to 253 characters")
        return value

    def choice(self, key: str, options: Sequence[str], default: str) -> str:
        """Return one of several words."""
        value = self.text(key, default)
        if value not in options:
            self.problem(key, one_of(options))
            return default
        return value

    def integer(self, key: str, least: int = -(2**31), most: int = 2**31 - 1) -> int | None:
        """Return a whole number within limits."""
        value = self._data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            self.problem(key, f"a whole number from {least} to {most}")
            return None
        return value

    def flag(self, key: str) -> bool:
        """Return a boolean; absent is false."""
        value = self._data.get(key)
        if value is not None and not isinstance(value, bool):
            self.problem(key, "true or false")
        return value is True

    def time(self, key: str) -> str | None:
        """Return an RFC 3339 time."""
        value = self._data.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not is_time(value):
            self.problem(key, "a time such as 2026-09-01T03:00:00Z")
            return None
        return value

    def words(self, key: str) -> dict[str, str]:
        """Return a mapping of strings: labels, annotations."""
        found = self.at(key)
        for name, value in found.raw.items():
            if not isinstance(value, str):
                found.problem(name, "a string")
        return {name: value for name, value in found.raw.items() if isinstance(value, str)}

    def amounts(self, key: str, *, up: bool = True) -> dict[str, int]:
        """Return quantities by resource in base units, rounded as :func:`to_base` does."""
        found = self.at(key)
        amounts = {}
        for name, value in found.raw.items():
            amount = found.amount(name, name, up=up)
            if value is not None and amount is not None:
                amounts[name] = amount
        return amounts

    def exact_amounts(self, key: str) -> dict[str, Exact]:
        """Return quantities by resource in base units as they are written, not rounded."""
        raw = self._data.get(key)
        if not raw:
            return {}
        amounts, found = {}, self.at(key)
        for name, value in found.raw.items():
            try:
                amounts[name] = _exact(name, value)
            except (TypeError, ValueError):
                found.amount(name, name)  # says what is wrong with it, if anything
        return amounts

    def amount(self, key: str, resource: str, *, up: bool = True) -> int | None:
        """Return one quantity of a resource in base units."""
        value = self._data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | str):
            self.problem(key, "a quantity such as 500m, 16Gi or 8")
            return None
        try:
            return _base(resource, value, up)
        except ValueError:
            unit = " of bytes" if is_bytes(resource) else ""
            self.problem(key, f"a quantity{unit} such as 500m, 16Gi or 8")
            return None


def view_of(item: Mapping[str, Any]) -> View:
    """Look at an object leniently: what has the wrong type is read as absent, untold."""
    return View(item, "", (), [])
