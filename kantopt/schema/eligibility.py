"""Which nodes a pod admits, and which admit it: the semantics of Kubernetes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from kantopt.schema.base import Toleration
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.selection import expression_matches
from kantopt.schema.snapshot import Taint


class Mark(Protocol):
    """A taint, of a document or of a question."""

    @property
    def key(self) -> str: ...
    @property
    def value(self) -> str: ...
    @property
    def effect(self) -> str: ...


class Place(Protocol):
    """A node, of a document or of a question."""

    @property
    def name(self) -> str: ...
    @property
    def labels(self) -> Mapping[str, str]: ...
    @property
    def taints(self) -> Sequence[Mark]: ...
    @property
    def unschedulable(self) -> bool: ...
    @property
    def ready(self) -> bool: ...


def affinity_matches(terms: Iterable[NodeSelectorTerm], node: Place) -> bool:
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


AHEAD = "from "
"""Begins the value of a taint that keeps away whoever may still run at a time to come."""


def is_ahead(mark: Mark) -> bool:
    """Whether a taint is for a time to come: only pods that outlast it need to tolerate it."""
    return mark.value.startswith(AHEAD)


def tolerates(tolerations: Iterable[Toleration], taint: Mark, *, for_a_time: bool = False) -> bool:
    """Whether one of the tolerations covers a taint; PreferNoSchedule never keeps a pod away.

    Parameters
    ----------
    tolerations
        Those of a pod.
    taint
        That of a node.
    for_a_time
        Whether one for some seconds covers a NoExecute taint, as it does for kube-scheduler. A pod
        placed there would be evicted after them, so it is to arrive nowhere by such a one.
    """
    if taint.effect == "NoExecute" and not for_a_time:
        tolerations = (item for item in tolerations if item.toleration_seconds is None)
    return taint.effect == "PreferNoSchedule" or _covers(tolerations, taint)


def _covers(tolerations: Iterable[Toleration], taint: Mark) -> bool:
    return any(
        toleration.effect in ("", taint.effect)
        and (
            toleration.key in ("", taint.key)
            if toleration.operator == "Exists"
            else toleration.key == taint.key and toleration.value == taint.value
        )
        for toleration in tolerations
    )


def admitted_with(resources: Iterable[str]) -> tuple[Toleration, ...]:
    """Return what pods tolerate that ask for extended resources, as admission of Kubernetes has it.

    Nodes that offer such a resource are tainted by its name (``ExtendedResourceToleration``).
    """
    return tuple(Toleration(key=name, operator="Exists") for name in resources if "/" in name)


def unwelcome(tolerations: Iterable[Toleration], node: Place) -> int:
    """Count the taints that would rather keep a pod off a node and that it does not tolerate."""
    tolerations = tuple(tolerations)
    return sum(
        taint.effect == "PreferNoSchedule" and not _covers(tolerations, taint)
        for taint in node.taints
    )


CORDONED = "node.kubernetes.io/unschedulable"
NOT_READY = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
LEAVING = frozenset(
    {
        CORDONED,
        *NOT_READY,
        "node.kubernetes.io/disk-pressure",
        "node.kubernetes.io/network-unavailable",
        "node.kubernetes.io/out-of-service",
        "node.kubernetes.io/pid-pressure",
        "node.cloudprovider.kubernetes.io/shutdown",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "ToBeDeletedByClusterAutoscaler",
        "aws-node-termination-handler/asg-lifecycle-termination",
        "aws-node-termination-handler/rebalance-recommendation",
        "aws-node-termination-handler/scheduled-maintenance",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
        "karpenter.sh/unregistered",
    }
)
"""Taints of nodes that nobody is to use now: they are on their way out, or not fit for pods yet."""
PASSING = LEAVING | {"node.kubernetes.io/memory-pressure"}
"""Taints that tell of a node's state, and no part of what it is; pods with requests tolerate
pressure on memory, so that such a node is still of use to them."""
CORDON = Taint(key=CORDONED, effect="NoSchedule")
"""What Kubernetes gives a node that is cordoned."""
_UNREADY = Taint(key=NOT_READY[0], effect="NoSchedule")


def barriers(node: Place) -> Iterator[Mark]:
    """Yield what pods must tolerate to arrive on a node: its taints, and those it should have.

    Kubernetes closes a cordoned node, and one that is not ready, by taints that daemons and the
    like tolerate. Where a node lacks the taint it counts as if it had it.
    """
    yield from node.taints
    if node.unschedulable:
        yield CORDON
    if not node.ready and not any(taint.key in NOT_READY for taint in node.taints):
        yield _UNREADY


def closed_by(tolerations: Iterable[Toleration], marks: Iterable[Mark]) -> Mark | None:
    """Return which of a node's barriers keeps pods away.

    Of several it is the cordon, then that the node is not ready, then the first taint.
    """
    tolerations = tuple(tolerations)
    closing = [mark for mark in marks if not tolerates(tolerations, mark)]
    rank = (CORDONED, *NOT_READY)
    return min(
        closing,
        key=lambda mark: rank.index(mark.key) if mark.key in rank else len(rank),
        default=None,
    )
