"""Who keeps away from whom, who is counted with whom, whom a budget protects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.problem.cluster import Budget
from kantopt.problem.job import AntiAffinity, PodSet, Spread
from kantopt.problem.selectors import selector_matches
from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import PodSet as PodSetDocument
from kantopt.schema.snapshot import PodDisruptionBudget


@dataclass(frozen=True, slots=True)
class PodLabels:
    """Namespace and document of a pod set: what selectors look at."""

    podset: int
    namespace: str
    document: PodSetDocument


class _Selections:
    """Pod sets by selector and namespaces, each worked out once."""

    def __init__(self, labels: Sequence[PodLabels]) -> None:
        self._labels = labels
        self._by_namespace: dict[str, list[PodLabels]] = {}
        for item in labels:
            self._by_namespace.setdefault(item.namespace, []).append(item)
        self._known: dict[str, tuple[int, ...]] = {}

    def select(self, selector: LabelSelector, namespaces: Sequence[str]) -> tuple[int, ...]:
        key = repr((selector, tuple(namespaces)))
        if key not in self._known:
            self._known[key] = tuple(
                sorted(
                    item.podset
                    for namespace in set(namespaces)
                    for item in self._by_namespace.get(namespace, ())
                    if selector_matches(selector, item.document.labels)
                )
            )
        return self._known[key]


def build_anti_affinities(labels: Sequence[PodLabels]) -> tuple[AntiAffinity, ...]:
    """Return who keeps away from whom; terms that select nobody are left out."""
    selections = _Selections(labels)
    found = []
    for item in labels:
        for term in item.document.pod_anti_affinity:
            others = selections.select(term.label_selector, term.namespaces or (item.namespace,))
            if others:
                found.append(AntiAffinity(item.podset, term.topology_key, others))
    return tuple(found)


def build_spreads(labels: Sequence[PodLabels], podsets: Sequence[PodSet]) -> tuple[Spread, ...]:
    """Return the spread constraints of pod sets that could arrive somewhere."""
    selections = _Selections(labels)
    return tuple(
        Spread(
            owner=item.podset,
            key=constraint.topology_key,
            max_skew=constraint.max_skew,
            min_domains=constraint.min_domains,
            counted=selections.select(constraint.label_selector, (item.namespace,)),
        )
        for item in labels
        for constraint in item.document.topology_spread_constraints
        if not podsets[item.podset].running or podsets[item.podset].movable
    )


def build_budgets(
    documents: Sequence[PodDisruptionBudget],
    labels: Sequence[PodLabels],
    podsets: Sequence[PodSet],
    aside: Sequence[tuple[str, PodSetDocument]] = (),
) -> tuple[Budget, ...]:
    """Return the budgets with what they allow now.

    Where ``disruptionsAllowed`` is not given it follows from the pods: those running less those
    that must stay, percentages rounded up, as Kubernetes' disruption controller has it. That
    counts pending pods as well, also those that the question leaves ``aside``: of these the
    namespace and the pod set, with the pods that wait as its number.
    """
    selections = _Selections(labels)
    budgets = []
    for index, document in enumerate(documents):
        selected = selections.select(document.selector, (document.namespace,))
        running = tuple(s for s in selected if podsets[s].running)
        allowed = document.disruptions_allowed
        if allowed is None:
            healthy = sum(podsets[s].count for s in running)
            wanted = sum(podsets[s].count for s in selected)
            wanted += sum(
                podset.count
                for namespace, podset in aside
                if namespace == document.namespace
                and selector_matches(document.selector, podset.labels)
            )
            if document.min_available is not None:
                allowed = healthy - _share(document.min_available, wanted)
            else:
                away = _share(document.max_unavailable or 0, wanted)
                allowed = away - (wanted - healthy)
        name = f"{document.namespace}/{document.name}"
        budgets.append(Budget(index, name, max(0, allowed), running))
    return tuple(budgets)


def _share(limit: int | str, whole: int) -> int:
    if isinstance(limit, int):
        return limit
    return -(-int(limit[:-1]) * whole // 100)
