"""Namespaces: which of them a selector selects, as far as the input tells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from kantopt.formats.kubernetes.nodes import read_selector
from kantopt.formats.view import View
from kantopt.schema.base import Expression
from kantopt.schema.selection import expression_matches, requirements_of

_NAME = "kubernetes.io/metadata.name"
"""The one label that each namespace has by itself."""


class Namespaces:
    """The namespaces of an input, with their labels where these are known.

    Parameters
    ----------
    names
        All namespaces with pods.
    labels
        Labels of those of which the input has the object.
    """

    def __init__(self, names: Iterable[str], labels: Mapping[str, Mapping[str, str]]) -> None:
        self._labels = {
            name: {**labels.get(name, {}), _NAME: name} for name in sorted({*names, *labels})
        }
        self._known = frozenset(labels)

    def select(self, selector: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the namespaces that a selector selects, and those of which nobody can tell.

        The latter are those without an object that no requirement on the name alone excludes.
        """
        requirements = requirements_of(read_selector(selector))
        found = {name: self._selects(requirements, name) for name in self._labels}
        selected = (name for name, verdict in found.items() if verdict)
        return tuple(selected), tuple(name for name, verdict in found.items() if verdict is None)

    def selects(self, selector: View, name: str) -> bool | None:
        """Whether a selector selects one namespace; ``None`` if only its object would tell."""
        return self._selects(requirements_of(read_selector(selector)), name)

    def _selects(self, requirements: Sequence[Expression], name: str) -> bool | None:
        labels = self._labels.get(name, {_NAME: name})
        told = [r for r in requirements if name in self._known or r.key == _NAME]
        if not all(expression_matches(r, labels) for r in told):
            return False
        return True if len(told) == len(requirements) else None


NO_NAMESPACES = Namespaces((), {})
"""Those of an input that tells of none."""
