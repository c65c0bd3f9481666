"""What meets selectors: by the rarest label that is asked for, without asking everything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeVar

from kantopt.problem.cluster import Node
from kantopt.schema.base import Expression
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.selection import expression_matches

_T = TypeVar("_T")


class LabelledNodes:
    """Nodes of a cluster: each job of a thousand may name hundreds of them in terms of its own."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self._nodes = nodes

    @cached_property
    def _by_label(self) -> dict[tuple[str, str], list[Node]]:
        found: dict[tuple[str, str], list[Node]] = {}
        for node in self._nodes:
            for label in node.labels.items():
                found.setdefault(label, []).append(node)
        return found

    def meeting(self, terms: Sequence[NodeSelectorTerm]) -> frozenset[int]:
        """Nodes that meet a required affinity: one term of several, or no terms at all."""
        if not terms:
            return frozenset(range(len(self._nodes)))
        return frozenset(node.index for term in terms for node in self._of(term))

    def _of(self, term: NodeSelectorTerm) -> Iterator[Node]:
        found = rarest(term.match_expressions, lambda *label: self._by_label.get(label, []))
        if found is None:
            yield from (node for node in self._nodes if affinity_matches((term,), node))
            return
        nodes, rest = found
        if not (rest or term.match_fields):
            yield from nodes
            return
        for node in nodes:
            fields = {"metadata.name": node.name}
            if all(expression_matches(e, node.labels) for e in rest) and all(
                expression_matches(e, fields) for e in term.match_fields
            ):
                yield node


def rarest(
    asked: Sequence[Expression], having: Callable[[str, str], Sequence[_T]]
) -> tuple[list[_T], list[Expression]] | None:
    """Return what has the rarest of the labels that are asked for, and what else is asked of it.

    ``None`` if no expression asks for a label of some value.

    Parameters
    ----------
    asked
        Expressions of which all are to be met.
    having
        What has a label of some value, each thing once.
    """
    found = {
        i: [item for value in dict.fromkeys(e.values) for item in having(e.key, value)]
        for i, e in enumerate(asked)
        if e.operator == "In"
    }
    if not found:
        return None
    best = min(found, key=lambda i: len(found[i]))
    return found[best], [e for i, e in enumerate(asked) if i != best]
