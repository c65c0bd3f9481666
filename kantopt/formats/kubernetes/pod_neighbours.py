"""Whom a pod must be near or away from, and with whom it is spread, as Kubernetes says it.

The keys of ``matchLabelKeys`` and ``mismatchLabelKeys`` of pod affinity the API server writes into
the selector, with the values that a pod is made with, and the scheduler looks at the selector
alone: so do we, but of templates, whose pods are not made yet. Those of spread the scheduler reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from kantopt.formats.kubernetes.namespaces import Namespaces
from kantopt.formats.kubernetes.nodes import bounded, read_selector
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.base import Expression, LabelSelector
from kantopt.schema.jobs import (
    PodAffinityTerm,
    PodAntiAffinityTerm,
    PreferredPods,
    TopologySpreadConstraint,
)

PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def read_anti_affinity(
    spec: View, namespace: str, labels: Mapping[str, str], namespaces: Namespaces, notes: Notes
) -> tuple[PodAntiAffinityTerm, ...]:
    """Read the required pod anti-affinity; a term that selects nobody is left out.

    ``labels`` are those of a template; of a pod, none.

    Namespaces of which the input does not tell whether they are meant are taken to be.
    """
    found = []
    for term in spec.at("affinity", "podAntiAffinity").list(REQUIRED):
        named, doubtful = _namespaces_of(term, namespace, namespaces)
        if doubtful:
            text = (
                "namespaces are not in the input: anti-affinity takes those it may select for all"
            )
            notes.add(text, namespace)
        if "labelSelector" in term and {*named, *doubtful}:
            found.append(
                PodAntiAffinityTerm(
                    topology_key=term.name("topologyKey") or "?",
                    label_selector=_with_own(term, labels),
                    namespaces=_but_own({*named, *doubtful}, namespace),
                )
            )
    return tuple(found)


def read_affinity(
    spec: View, namespace: str, labels: Mapping[str, str], namespaces: Namespaces
) -> tuple[tuple[PodAffinityTerm, ...], bool]:
    """Read the required pod affinity, and whether the input tells which namespaces it means.

    ``labels`` are those of a template; of a pod, none.
    """
    found, told = [], True
    for term in spec.at("affinity", "podAffinity").list(REQUIRED):
        named, doubtful = _namespaces_of(term, namespace, namespaces)
        told = told and not doubtful
        nobody = "labelSelector" not in term or not named
        found.append(
            PodAffinityTerm(
                topology_key=term.name("topologyKey") or "?",
                label_selector=None if nobody else _with_own(term, labels),
                namespaces=_but_own(set(named), namespace),
            )
        )
    return tuple(found), told


def read_wishes(
    spec: View, kind: str, namespace: str, labels: Mapping[str, str], namespaces: Namespaces
) -> tuple[PreferredPods, ...]:
    """Read the preferred pod affinity or anti-affinity (``kind``); who selects nobody is left out.

    Of namespaces it means those that the input tells it means. ``labels`` are those of a template;
    of a pod, none.
    """
    found = []
    for item in spec.at("affinity", kind).list(PREFERRED):
        term = item.at("podAffinityTerm")
        named, _ = _namespaces_of(term, namespace, namespaces)
        weight = item.integer("weight", 1, 100)
        if weight and named and "labelSelector" in term:
            found.append(
                PreferredPods(
                    weight=weight,
                    topology_key=term.name("topologyKey") or "?",
                    label_selector=_with_own(term, labels),
                    namespaces=_but_own(set(named), namespace),
                )
            )
    return tuple(found)


def _namespaces_of(
    term: View, namespace: str, namespaces: Namespaces
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Namespaces that a term looks at: those it lists and those it selects, else the pod's own."""
    listed = term.strings("namespaces")
    if "namespaceSelector" not in term:
        return listed or (namespace,), ()
    selected, doubtful = namespaces.select(term.at("namespaceSelector"))
    return (*listed, *selected), tuple(name for name in doubtful if name not in listed)


def _but_own(names: set[str], namespace: str) -> tuple[str, ...]:
    return () if names == {namespace} else tuple(sorted(names))


def read_spreads(
    spec: View, labels: Mapping[str, str], when: str = "DoNotSchedule"
) -> Iterator[TopologySpreadConstraint]:
    """Read the topology spread constraints that forbid, or those of ``ScheduleAnyway``."""
    for item in spec.list("topologySpreadConstraints"):
        if item.text("whenUnsatisfiable", "DoNotSchedule") != when:
            continue
        yield TopologySpreadConstraint(
            max_skew=bounded(item.integer("maxSkew", 1) or 1),
            topology_key=item.name("topologyKey") or "?",
            label_selector=_with_own(item, labels) if "labelSelector" in item else None,
            min_domains=bounded(item.integer("minDomains", 1) or 1),
            node_affinity_policy=item.choice("nodeAffinityPolicy", _POLICIES, "Honor"),  # type: ignore[arg-type]
            node_taints_policy=item.choice("nodeTaintsPolicy", _POLICIES, "Ignore"),  # type: ignore[arg-type]
        )


_POLICIES = ("Honor", "Ignore")


def _with_own(term: View, labels: Mapping[str, str]) -> LabelSelector:
    """Add to a selector the values that labels have of the keys that ``matchLabelKeys`` names."""
    selector = read_selector(term.at("labelSelector"))
    own = [
        Expression(key=key, operator=operator, values=(labels[key],))  # type: ignore[arg-type]
        for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn"))
        for key in term.strings(field)
        if key in labels
    ]
    expressions = (*selector.match_expressions, *own)
    return LabelSelector(match_labels=selector.match_labels, match_expressions=expressions)
