"""Namespaces: which of them a selector selects, as far as the input tells."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kantopt.formats.kubernetes.nodes import read_selector
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.view import View
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

    @classmethod
    def of(cls, objects: Objects) -> Namespaces:
        """Read the namespaces of an input: its Namespace objects, and where its pods are."""
        names = (view.key[0] for view in objects.of("", "Pod"))
        labels = {
            (metadata := view.at("metadata")).name(): metadata.words("labels")
            for view in objects.of("", "Namespace")
        }
        return cls(names, labels)

    def select(self, selector: View) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the namespaces that a selector selects, and those of which nobody can tell.

        The latter are those without an object that no requirement on the name alone excludes.
        """
        requirements = requirements_of(read_selector(selector))
        selected: list[str] = []
        doubtful: list[str] = []
        for name, labels in self._labels.items():
            told = [r for r in requirements if name in self._known or r.key == _NAME]
            if all(expression_matches(r, labels) for r in told):
                (selected if len(told) == len(requirements) else doubtful).append(name)
        return tuple(selected), tuple(doubtful)

    def selects(self, selector: View, name: str) -> bool | None:
        """Whether a selector selects one namespace; ``None`` if only its object would tell."""
        labels = {**self._labels.get(name, {}), _NAME: name}
        requirements = requirements_of(read_selector(selector))
        told = [r for r in requirements if name in self._known or r.key == _NAME]
        if not all(expression_matches(r, labels) for r in told):
            return False
        return True if len(told) == len(requirements) else None

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)


def cluster_uid(objects: Objects) -> str:
    """Return what tells a cluster from others: kube-system lives as long; empty: not known."""
    found = (view.at("metadata") for view in objects.of("", "Namespace"))
    return next((item.text("uid") for item in found if item.text("name") == "kube-system"), "")
