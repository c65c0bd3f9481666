"""Who keeps away from whom, or near whom; who is counted with whom; whom a budget protects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from kantopt.problem.cluster import Budget, Node
from kantopt.problem.job import Affinity, AntiAffinity, PodSet, Spread
from kantopt.problem.labelled import rarest
from kantopt.schema.base import LabelSelector
from kantopt.schema.eligibility import CORDON, Mark, tolerates
from kantopt.schema.jobs import PodSet as PodSetDocument
from kantopt.schema.jobs import TopologySpreadConstraint
from kantopt.schema.selection import expression_matches, requirements_of, selector_matches
from kantopt.schema.snapshot import PodDisruptionBudget

CLUSTER = "the whole"
"""Label that gives all nodes one domain; no label of Kubernetes has a space in it."""


@dataclass(frozen=True, slots=True)
class PodLabels:
    """Namespace and document of a pod set: what selectors look at."""

    podset: int
    namespace: str
    document: PodSetDocument


class Selections:
    """Pod sets by selector and namespaces, each worked out once, and nothing if nobody selects."""

    def __init__(self, labels: Sequence[PodLabels]) -> None:
        self._labels = labels
        self._known: dict[str, tuple[int, ...]] = {}

    @cached_property
    def _by_namespace(self) -> dict[str, list[PodLabels]]:
        found: dict[str, list[PodLabels]] = {}
        for item in self._labels:
            found.setdefault(item.namespace, []).append(item)
        return found

    @cached_property
    def _by_label(self) -> dict[tuple[str, str, str], list[PodLabels]]:
        found: dict[tuple[str, str, str], list[PodLabels]] = {}
        for item in self._labels:
            for key, value in item.document.labels.items():
                found.setdefault((item.namespace, key, value), []).append(item)
        return found

    def select(self, selector: LabelSelector | None, namespaces: Sequence[str]) -> tuple[int, ...]:
        """Return the pod sets that a selector selects; none without one."""
        if selector is None:
            return ()
        key = repr((selector, tuple(namespaces)))
        if key not in self._known:
            self._known[key] = tuple(
                sorted(
                    podset
                    for namespace in set(namespaces)
                    for podset in self._selected(selector, namespace)
                )
            )
        return self._known[key]

    def selects(self, selector: LabelSelector, namespace: str) -> bool:
        """Whether a selector selects any pod set of a namespace."""
        return any(True for _ in self._selected(selector, namespace))

    def _selected(self, selector: LabelSelector, namespace: str) -> Iterator[int]:
        """Yield pod sets of a namespace, of which only those are asked that have the rarest label.

        Each job of a thousand may have a selector of its own.
        """
        asked = requirements_of(selector)
        found = rarest(asked, lambda *label: self._by_label.get((namespace, *label), []))
        items, rest = found or (self._by_namespace.get(namespace, []), asked)
        for item in items:
            if all(expression_matches(e, item.document.labels) for e in rest):
                yield item.podset


def build_anti_affinities(labels: Sequence[PodLabels]) -> tuple[AntiAffinity, ...]:
    """Return who keeps away from whom; terms that select nobody are left out."""
    selections = Selections(labels)
    found = []
    for item in labels:
        for term in item.document.pod_anti_affinity:
            others = selections.select(term.label_selector, term.namespaces or (item.namespace,))
            if others:
                found.append(AntiAffinity(item.podset, term.topology_key, others))
    return (*found, *_exclusive(labels))


def _exclusive(labels: Sequence[PodLabels]) -> Iterator[AntiAffinity]:
    """Whoever uses a claim for one pod keeps away from all its users, anywhere in the cluster."""
    users: dict[str, list[PodLabels]] = {}
    for item in labels:
        for claim in dict.fromkeys(item.document.exclusive_claims):
            users.setdefault(claim, []).append(item)
    for those in users.values():
        if len(those) > 1 or those[0].document.count > 1:
            others = tuple(item.podset for item in those)
            yield from (AntiAffinity(s, CLUSTER, others) for s in others)


def build_affinities(
    labels: Sequence[PodLabels],
    podsets: Sequence[PodSet],
    nodes: Sequence[Node],
    *,
    pinned: bool,
) -> tuple[Affinity, ...]:
    """Return whom pods must be near that could arrive somewhere, now or once they are evicted.

    Near are those that match all terms. Of pods that terminate nobody is to come near, yet as long
    as there are any nobody is the first of their like. Those that are nominated start by
    themselves, and who comes near them waits for that, as for pods that a plan binds. ``pinned``
    says whether preemptible and movable count.
    """
    selections = Selections(labels)
    away = {item.podset for item in labels if item.document.terminating}
    found = []
    for item in labels:
        terms, podset = item.document.pod_affinity, podsets[item.podset]
        held = pinned and podset.running and not podset.movable and not podset.preemptible
        if not terms or held:
            continue
        matching = [
            set(selections.select(term.label_selector, term.namespaces or (item.namespace,)))
            for term in terms
        ]
        keys = tuple(sorted({term.topology_key for term in terms}))
        like = set.intersection(*matching)
        outgoing = any(
            key in nodes[spot.node].labels
            for s in like & away
            for spot in podsets[s].current
            for key in keys
        )
        founds = item.podset in like and not outgoing
        found.append(Affinity(item.podset, keys, tuple(sorted(like - away)), founds))
    return tuple(found)


class Spreads:
    """Spread constraints as kube-scheduler counts them.

    Only nodes that have the labels of all constraints of a pod, no pod that terminates, and nobody
    where the selector is missing or empty.
    """

    def __init__(
        self, labels: Sequence[PodLabels], podsets: Sequence[PodSet], nodes: Sequence[Node]
    ) -> None:
        self._selections = Selections(labels)
        self._leaving = {item.podset for item in labels if item.document.terminating}
        self._podsets, self._nodes = podsets, nodes
        self._known: dict[Hashable, frozenset[int]] = {}

    def of(
        self, item: PodLabels, constraints: Sequence[TopologySpreadConstraint]
    ) -> Iterator[Spread]:
        """Yield constraints of a pod set, as many as it has."""
        keys = {constraint.topology_key for constraint in constraints}
        for constraint in constraints:
            selector = constraint.label_selector
            if selector is not None and not (selector.match_labels or selector.match_expressions):
                selector = None
            counted = self._selections.select(selector, (item.namespace,))
            if not self._leaving.isdisjoint(counted):
                counted = tuple(s for s in counted if s not in self._leaving)
            yield Spread(
                owner=item.podset,
                key=constraint.topology_key,
                max_skew=constraint.max_skew,
                min_domains=constraint.min_domains,
                counted=counted,
                over=self._over(item, constraint, keys),
            )

    def _over(
        self, item: PodLabels, constraint: TopologySpreadConstraint, keys: set[str]
    ) -> frozenset[int]:
        """Nodes on which pods are counted; kube-scheduler asks not for how long they may stay."""
        podset = self._podsets[item.podset]
        honours = constraint.node_affinity_policy == "Honor"
        honours_taints = constraint.node_taints_policy == "Honor"
        taints = item.document.tolerations if honours_taints else None
        ask = honours and id(podset.spread_over), repr((taints, sorted(keys)))
        if ask not in self._known:
            self._known[ask] = frozenset(
                node.index
                for node in self._nodes
                if keys <= node.labels.keys()
                and (not honours or node.index in podset.spread_over)
                and (
                    taints is None
                    or all(tolerates(taints, t, for_a_time=True) for t in _taints(node))
                )
            )
        return self._known[ask]


def _taints(node: Node) -> Iterator[Mark]:
    """Yield the taints of a node: one that is to be emptied is cordoned before anything moves."""
    yield from node.taints
    if node.drained:
        yield CORDON


def build_spreads(
    labels: Sequence[PodLabels], podsets: Sequence[PodSet], nodes: Sequence[Node]
) -> tuple[Spread, ...]:
    """Return the spread constraints of pod sets that could arrive somewhere."""
    spreads = Spreads(labels, podsets, nodes)
    return tuple(
        spread
        for item in labels
        if not podsets[item.podset].running or podsets[item.podset].movable
        for spread in spreads.of(item, item.document.topology_spread_constraints)
    )


def build_budgets(
    documents: Sequence[PodDisruptionBudget],
    labels: Sequence[PodLabels],
    podsets: Sequence[PodSet],
    aside: Sequence[tuple[str, PodSetDocument]] = (),
) -> tuple[Budget, ...]:
    """Return the budgets with what they allow now, each of the pods that it does not just let go.

    Those are the ones that have not started, as nominated ones have not, that terminate, and,
    where the budget says so, that are not ready; but pods of two budgets the Eviction API refuses
    before it looks whether they are ready.

    Where ``disruptionsAllowed`` is not given it follows from the pods: those of them that are ready
    less those that must stay, percentages rounded up, as Kubernetes' disruption controller has it.
    All others are wanted as well, also those that the question leaves ``aside``: of these the
    namespace and the pod set, with the pods that wait as its number.
    """
    selections = Selections(labels)
    health = {item.podset: _health(item.document) for item in labels}
    every = [selections.select(document.selector, (document.namespace,)) for document in documents]
    budgeted = Counter(s for selected in every for s in selected)
    budgets = []
    for index, (document, selected) in enumerate(zip(documents, every, strict=True)):
        running = tuple(s for s in selected if podsets[s].running)
        kept = tuple(
            s
            for s in running
            if health[s] == "ready"
            or (health[s] == "unready" and (budgeted[s] > 1 or not document.evict_unready))
        )
        allowed = document.disruptions_allowed
        if allowed is None:
            healthy = sum(podsets[s].count for s in running if health[s] == "ready")
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
        name = document.full_name
        budgets.append(Budget(index, name, max(0, allowed), kept))
    return tuple(budgets)


def _health(podset: PodSetDocument) -> str:
    """Say how running pods are; empty of those that have not started, or that go anyway."""
    if podset.nominated or podset.terminating or podset.health == "starting":
        return ""
    return podset.health


def _share(limit: int | str, whole: int) -> int:
    if isinstance(limit, int):
        return limit
    return -(-int(limit[:-1]) * whole // 100)
