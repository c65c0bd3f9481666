"""Which labels a selector admits: the semantics of Kubernetes."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.schema.base import Expression, LabelSelector
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


def requirements_of(selector: LabelSelector) -> tuple[Expression, ...]:
    """Return all that a label selector requires as expressions."""
    labels = (
        Expression(key=key, operator="In", values=(value,))
        for key, value in sorted(selector.match_labels.items())
    )
    return (*labels, *selector.match_expressions)


def selector_matches(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects a pod with these labels; an empty one selects all."""
    return all(labels.get(key) == value for key, value in selector.match_labels.items()) and all(
        expression_matches(expression, labels) for expression in selector.match_expressions
    )
