"""Kubernetes nodes, selectors and tolerations into our own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.base import Expression, LabelSelector, Toleration
from kantopt.schema.jobs import NodeSelectorTerm, PreferredNodes
from kantopt.schema.quantity import from_base, whole_number
from kantopt.schema.snapshot import Node, Taint

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")
_WORD = "[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
NAME_PART = "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
"""What stands between the dots of a name."""
LABEL_KEY = re.compile(rf"(?:{NAME_PART}(?:\.{NAME_PART})*/)?{_WORD}")
LABEL_VALUE = re.compile(rf"(?:{_WORD})?")
"""What the key of a label may be, and its value."""
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
MOST_COUNT = 10_000_000


CORDONED_BY = "kantopt/cordoned-by"
"""Annotation of nodes that the script of a plan has cordoned for as long as it runs."""


def read_node(node: View, notes: Notes) -> Node:
    """Read a node; its capacity is what is allocatable, from which nothing is subtracted.

    What runs on it takes its room as a running job of the snapshot. Of nodes that the script of a
    plan has cordoned it is noted: nobody opens them if it was killed.
    """
    metadata, spec, status = node.at("metadata"), node.at("spec"), node.at("status")
    # The API server fills in what is missing; capacity is then allocatable.
    offered = "allocatable" if "allocatable" in status else "capacity"
    labels = node.labels
    if spec.flag("unschedulable") and node.annotations.get(CORDONED_BY):
        text = (
            "nodes that the script of a plan has cordoned, which still runs or was killed: closed "
            f"until that is run again, or kubectl uncordon opens them ({CORDONED_BY})"
        )
        notes.add(text, metadata.name())
    return Node(
        name=metadata.name(),
        uid=node.uid,
        resource_version=metadata.text("resourceVersion"),
        labels=labels,
        taints=read_taints(spec),
        allocatable={
            name: from_base(name, amount)
            # Kubernetes rounds up what a node offers, as it does what pods ask for.
            for name, amount in sorted({"pods": 0, **status.amounts(offered)}.items())
        },
        hostname_from_name="kubernetes.io/hostname" in labels,
        unschedulable=spec.flag("unschedulable"),
        ready=node.ready,
    )


def read_taints(spec: View, key: str = "taints") -> tuple[Taint, ...]:
    """Read taints."""
    return tuple(
        Taint(
            key=taint.name("key") or "?",
            value=taint.text("value"),
            effect=taint.choice("effect", EFFECTS, "NoSchedule"),  # type: ignore[arg-type]
        )
        for taint in spec.list(key)
    )


def read_expressions(view: View, key: str = "matchExpressions") -> tuple[Expression, ...]:
    """Read requirements on labels; those whose values do not suit the operator are reported."""
    found = []
    for item in view.list(key):
        operator = item.choice("operator", _OPERATORS, "")
        values = item.strings("values")
        label = item.name("key")
        if operator in ("In", "NotIn") and not values:
            item.problem("values", f"at least one value for {operator}")
        elif operator in ("Exists", "DoesNotExist") and values:
            item.problem("values", f"no values for {operator}")
        elif operator in ("Gt", "Lt") and len(values) != 1:
            item.problem("values", f"one whole number for {operator}")
        elif operator and label:
            found.append(
                Expression(key=label, operator=operator, values=values)  # type: ignore[arg-type]
            )
    return tuple(found)


def read_selector(selector: View) -> LabelSelector:
    """Read a label selector."""
    return LabelSelector(
        match_labels=selector.words("matchLabels"), match_expressions=read_expressions(selector)
    )


def selector_keys(selectors: Iterable[LabelSelector | None]) -> frozenset[str]:
    """Label keys that any of some selectors looks at."""
    known = [selector for selector in selectors if selector is not None]
    expressions = (item.key for selector in known for item in selector.match_expressions)
    return frozenset(expressions).union(*(selector.match_labels for selector in known))


def read_node_affinity(spec: View) -> tuple[NodeSelectorTerm, ...]:
    """Read the required node affinity of a pod; of its terms one must match.

    One without terms matches no node, unlike none at all.
    """
    affinity = spec.at("affinity", "nodeAffinity")
    if REQUIRED not in affinity:
        return ()
    terms = affinity.at(REQUIRED).list("nodeSelectorTerms")
    return tuple(map(read_term, terms)) or (NodeSelectorTerm(),)


def read_preferred_nodes(spec: View) -> tuple[PreferredNodes, ...]:
    """Read the preferred node affinity of a pod; a term that matches no node is worth nothing."""
    return tuple(
        PreferredNodes(weight=weight, preference=read_term(item.at("preference")))
        for item in spec.at("affinity", "nodeAffinity").list(PREFERRED)
        if (weight := item.integer("weight", 1, 100))
    )


def read_term(term: View) -> NodeSelectorTerm:
    """Read one term of a node selector.

    One that asks for what no label could be, compares with what is no number, or a field with
    other than one value, kube-scheduler cannot parse: it matches no node, as an empty term does.
    Other terms hold beside it.
    """
    labels, fields = read_expressions(term), read_expressions(term, "matchFields")
    names = all(item.operator in ("In", "NotIn") and len(item.values) == 1 for item in fields)
    if not (names and all(map(_parses, labels))):
        return NodeSelectorTerm()
    return NodeSelectorTerm(match_expressions=labels, match_fields=fields)


def _parses(item: Expression) -> bool:
    """Whether kube-scheduler can read a requirement on labels of nodes."""
    numbers = item.values if item.operator in ("Gt", "Lt") else ()
    return (
        bool(LABEL_KEY.fullmatch(item.key))
        and all(LABEL_VALUE.fullmatch(value) for value in item.values)
        and all(whole_number(value) is not None for value in numbers)
    )


def narrowed(
    terms: Sequence[NodeSelectorTerm], wanted: Sequence[Expression]
) -> tuple[NodeSelectorTerm, ...]:
    """Return node affinity that asks for more; a term that matches no node stays so."""
    if not terms:
        return (NodeSelectorTerm(match_expressions=tuple(wanted)),)
    return tuple(
        NodeSelectorTerm(
            match_expressions=(
                *term.match_expressions,
                *(item for item in wanted if item not in term.match_expressions),
            ),
            match_fields=term.match_fields,
        )
        if term.match_expressions or term.match_fields
        else term
        for term in terms
    )


def read_tolerations(spec: View, notes: Notes) -> tuple[Toleration, ...]:
    """Read tolerations."""
    found = []
    for item in spec.list("tolerations"):
        operator = item.text("operator") or "Equal"
        key, value = item.text("key"), item.text("value")
        if operator not in ("Exists", "Equal"):
            notes.add("tolerations that compare numbers (Gt, Lt) are left out")
            continue
        if operator == "Exists" and value:
            item.problem("value", "no value for Exists")
        elif operator == "Equal" and not key:
            item.problem("key", "a key, or operator Exists")
        found.append(
            Toleration(
                key=key,
                operator="Exists" if operator == "Exists" else "Equal",
                value=value,
                effect=item.choice("effect", ("", *EFFECTS), ""),  # type: ignore[arg-type]
                toleration_seconds=item.integer("tolerationSeconds", -(2**63), 2**63 - 1),
            )
        )
    return tuple(found)


def bounded(count: int) -> int:
    """Cut a count to the largest that our documents hold."""
    return min(max(count, 0), MOST_COUNT)
