"""Nodes by their labels: which of them meet an affinity, without asking each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from kantopt.problem.cluster import Node
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.selection import expression_matches


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
        having = {
            i: [self._by_label.get((e.key, value), []) for value in dict.fromkeys(e.values)]
            for i, e in enumerate(term.match_expressions)
            if e.operator == "In"
        }
        rarest = min(having, key=lambda i: sum(map(len, having[i])), default=None)
        if rarest is None:
            yield from (node for node in self._nodes if affinity_matches((term,), node))
            return
        rest = [e for i, e in enumerate(term.match_expressions) if i != rarest]
        for nodes in having[rarest]:
            if not (rest or term.match_fields):
                yield from nodes
                continue
            for node in nodes:
                fields = {"metadata.name": node.name}
                if all(expression_matches(e, node.labels) for e in rest) and all(
                    expression_matches(e, fields) for e in term.match_fields
                ):
                    yield node
