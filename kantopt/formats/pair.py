"""Two dumps of one cluster, put together: its pods where they were, and where they are since."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from kantopt.schema.answers.history import History

Key = tuple[str, str, str]
"""Namespace, name and uid of a pod."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A pod that rules may have counted between two dumps otherwise than by the later one."""

    namespace: str
    borne: tuple[Mapping[str, str], ...]
    """Labels that it has borne."""


@dataclass(frozen=True, slots=True)
class Pair:
    """What happened between two dumps, as a document to import and places to look pods up in."""

    data: dict[str, Any]
    """The cluster with the pods that are judged where they were: running, or waiting."""
    places: Mapping[Key, str | None]
    """Node of each of these in the later dump, where it is another; ``None``: none."""
    given: frozenset[Key]
    """Pods that came since and that nobody chose a node for: they run from the beginning."""
    vanished: tuple[Counted, ...]
    """Pods that held room in the first dump, and in the second do not or are terminating."""
    history: History
    relabelled: tuple[Counted, ...] = ()
    """Pods of both that other selectors match since, be it for the labels of their namespaces."""
    crowded: frozenset[tuple[str, str]] = frozenset()
    """Nodes that have more volumes attached than they can in the later dump, each with the
    resource that these are."""
    admitted: frozenset[str] = frozenset()
    """Nodes that came since and have admitted all pods that they have."""


class TwoDumps(Protocol):
    """Two dumps, compared: Kubernetes' or Slurm's."""

    def earlier(self) -> str:
        """Say what shows that the later dump is the earlier one; nothing if it is not."""

    @property
    def taints_alone(self) -> bool:
        """Whether a node that is not ready takes jobs until a taint says so."""

    @property
    def passing(self) -> Collection[tuple[str, str, str]]:
        """Taints, by node, key and effect, that were not there from the first dump to the later."""

    @property
    def settled_differs(self) -> bool:
        """Whether what is decided and what is there already are two things."""

    def pair(self, given: frozenset[Key] = frozenset(), *, settled: bool) -> Pair:
        """Put the two together.

        Parameters
        ----------
        given
            Pods to take for given where they are, or as gone where they are gone, beside those
            that nobody chose a node for.
        settled
            What is decided counts as done: preempted pods are gone, pods that wait for their room
            have it, and others that are on their way out there have left. Else only what is.
        """
