"""Whom a pod must be near or away from, and with whom it is spread, as Kubernetes says it.

The keys of ``matchLabelKeys`` and ``mismatchLabelKeys`` of pod affinity the API server writes into
the selector, with the values that a pod is made with, and the scheduler looks at the selector
alone: so do we, but of templates, whose pods are not made yet. Those of spread the scheduler reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kantopt.formats.kubernetes.namespaces import Namespaces
from kantopt.formats.kubernetes.nodes import PREFERRED, REQUIRED, bounded, read_selector
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.base import Expression, LabelSelector
from kantopt.schema.jobs import (
    PodAffinityTerm,
    PodAntiAffinityTerm,
    PreferredPods,
    TopologySpreadConstraint,
)

Term = PodAffinityTerm | PodAntiAffinityTerm | PreferredPods | TopologySpreadConstraint


class Neighbours:
    """Reads whom a pod names as those to be near, or away from.

    ``labels`` are those of a template; of a pod, none.
    """

    def __init__(self, namespace: str, labels: Mapping[str, str], namespaces: Namespaces) -> None:
        self._namespace = namespace
        self._labels = labels
        self._namespaces = namespaces

    def anti_affinity(self, spec: View, notes: Notes) -> tuple[PodAntiAffinityTerm, ...]:
        """Read the required pod anti-affinity; a term that selects nobody is left out.

        Namespaces of which the input does not tell whether they are meant are taken to be.
        """
        found = []
        for term in spec.at("affinity", "podAntiAffinity").list(REQUIRED):
            named, doubtful = self._namespaces_of(term)
            if doubtful:
                text = "namespaces are not in the input"
                notes.add(
                    f"{text}: anti-affinity takes those it may select for all", self._namespace
                )
            if "labelSelector" in term and named | doubtful:
                found.append(PodAntiAffinityTerm(**self._fields(term, named | doubtful)))
        return tuple(found)

    def affinity(self, spec: View) -> tuple[tuple[PodAffinityTerm, ...], bool]:
        """Read the required pod affinity, and whether the input tells which namespaces it means."""
        found, told = [], True
        for term in spec.at("affinity", "podAffinity").list(REQUIRED):
            named, doubtful = self._namespaces_of(term)
            told = told and not doubtful
            found.append(PodAffinityTerm(**self._fields(term, named)))
        return tuple(found), told

    def wishes(self, spec: View, kind: str) -> tuple[PreferredPods, ...]:
        """Read the preferred affinity or anti-affinity (``kind``); one of nobody is left out.

        Of namespaces it means those that the input tells it means.
        """
        found = []
        for item in spec.at("affinity", kind).list(PREFERRED):
            term, weight = item.at("podAffinityTerm"), item.integer("weight", 1, 100)
            named, _ = self._namespaces_of(term)
            if weight and named and "labelSelector" in term:
                found.append(PreferredPods(weight=weight, **self._fields(term, named)))
        return tuple(found)

    def _fields(self, term: View, names: set[str]) -> dict[str, Any]:
        """Read what all terms have; of one that selects nobody there is no selector."""
        somebody = "labelSelector" in term and names
        return {
            "topology_key": term.name("topologyKey") or "?",
            "label_selector": _with_own(term, self._labels) if somebody else None,
            "namespaces": () if names == {self._namespace} else tuple(sorted(names)),
        }

    def _namespaces_of(self, term: View) -> tuple[set[str], set[str]]:
        """Return namespaces that a term lists or selects, else the pod's own, and doubtful ones."""
        listed = {*term.strings("namespaces")}
        if "namespaceSelector" not in term:
            return listed or {self._namespace}, set()
        selected, doubtful = self._namespaces.select(term.at("namespaceSelector"))
        return listed.union(selected), set(doubtful) - listed


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
