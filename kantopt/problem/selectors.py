"""Which labels a selector admits, which nodes a pod admits: the semantics of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kantopt.problem.cluster import Node, Taint
from kantopt.schema.base import Expression, LabelSelector
from kantopt.schema.jobs import NodeSelectorTerm, Toleration
from kantopt.schema.quantity import whole_number


def expression_matches(expression: Expression, labels: Mapping[str, str]) -> bool:
    """Whether labels meet one requirement. NotIn also holds where the label is missing."""
    value = labels.get(expression.key)
    match expression.operator:
        case "In":
            return value in expression.values
        case "NotIn":
            return value not in expression.values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt":
            left = None if value is None else whole_number(value)
            right = whole_number(expression.values[0]) if len(expression.values) == 1 else None
            if left is None or right is None:
                return False
            return left > right if expression.operator == "Gt" else left < right


def selector_matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects a pod with these labels; an empty one selects all."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        expression_matches(expression, labels) for expression in selector.match_expressions
    )


def affinity_matches(terms: Iterable[NodeSelectorTerm], node: Node) -> bool:
    """Whether a node meets a required node affinity: one term of several, or no terms at all.

    A term without any requirement matches no node, as in Kubernetes.
    """
    terms = tuple(terms)
    fields = {"metadata.name": node.name}
    return not terms or any(
        bool(term.match_expressions or term.match_fields)
        and all(expression_matches(e, node.labels) for e in term.match_expressions)
        and all(expression_matches(e, fields) for e in term.match_fields)
        for term in terms
    )


def tolerates(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of the tolerations covers a taint; PreferNoSchedule never keeps a pod away.

    One for some seconds covers no NoExecute taint: a pod placed there would be evicted after them.
    """
    return taint.effect == "PreferNoSchedule" or _covers(tolerations, taint)


def _covers(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    return any(
        toleration.effect in ("", taint.effect)
        and not (toleration.toleration_seconds is not None and taint.effect == "NoExecute")
        and (
            toleration.key in ("", taint.key)
            if toleration.operator == "Exists"
            else toleration.key == taint.key and toleration.value == taint.value
        )
        for toleration in tolerations
    )


def unwelcome(tolerations: Iterable[Toleration], node: Node) -> int:
    """Count the taints that would rather keep a pod off a node and that it does not tolerate."""
    tolerations = tuple(tolerations)
    return sum(
        taint.effect == "PreferNoSchedule" and not _covers(tolerations, taint)
        for taint in node.taints
    )


CORDONED = "node.kubernetes.io/unschedulable"
NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def barriers(node: Node) -> Iterator[Taint]:
    """Yield what pods must tolerate to arrive on a node: its taints, and those it should have.

    Kubernetes closes a cordoned node, and one that is not ready, by taints that daemons and the
    like tolerate. Where a node lacks the taint it counts as if it had it.
    """
    yield from node.taints
    if node.unschedulable:
        yield Taint(CORDONED, "", "NoSchedule")
    if not node.ready and not any(taint.key in NOT_READY for taint in node.taints):
        yield Taint(NOT_READY[0], "", "NoSchedule")
