"""Objects of one dump by kind, whatever their API group, and looked at leniently."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kantopt.formats.kubernetes.objects import ended
from kantopt.formats.view import View, view_of

MARKED = "DisruptionTarget"
"""Condition of pods of which something decided that they go."""


class Kinds:
    """Objects of a dump.

    Attributes
    ----------
    objects
        As they are written, in order.
    views
        The same, looked at: what has the wrong type is read as absent, for the import has reported
        it already where it matters. Pods that are marked for a disruption are terminating: that
        they are deleted comes next.
    """

    def __init__(self, objects: Iterable[Any]) -> None:
        self.objects = [item for item in objects if isinstance(item, dict)]
        self.views = [_with_what_follows(view_of(item)) for item in self.objects]
        self._by_kind: dict[str, list[View]] = {}
        for view in self.views:
            self._by_kind.setdefault(view.text("kind"), []).append(view)

    def of(self, kind: str) -> list[View]:
        """Objects of one kind, in order."""
        return self._by_kind.get(kind, [])

    def named(self, kind: str) -> dict[str, View]:
        """Objects of one kind by name, where they are in no namespace."""
        return {view.key[1]: view for view in self.of(kind)}


def _with_what_follows(view: View) -> View:
    if view.text("kind") != "Pod" or view.terminating or ended(view):
        return view
    if (marked := view.condition(MARKED)) is None:
        return view
    when = marked.text("lastTransitionTime")
    return view.replaced(metadata={**view.at("metadata").raw, "deletionTimestamp": when})


def key_of(pod: View) -> tuple[str, str, str]:
    """Return namespace, name and uid: what tells one pod from all others."""
    return (*pod.key, pod.uid)
