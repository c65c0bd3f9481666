"""Claims that wait for the first pod that uses them (binding mode WaitForFirstConsumer)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.view import Exact, Key, View
from kantopt.schema.base import Expression
from kantopt.schema.jobs import NodeSelectorTerm

Terms = tuple[NodeSelectorTerm, ...]
"""Of a list of terms a node must match one."""
NOWHERE: Terms = (NodeSelectorTerm(),)
"""A term without requirements matches no node."""


def only(*names: str) -> Terms:
    """Return terms that nodes of some names match."""
    field = Expression(key="metadata.name", operator="In", values=names)
    return (NodeSelectorTerm(match_fields=(field,)),)


CHOSEN = "volume.kubernetes.io/selected-node"
"""Annotation with the node for which a volume is being made."""
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


class UnexplainedError(Exception):
    """The dump does not say enough about a volume, or it is of a kind that is not modelled."""


@dataclass(frozen=True, slots=True)
class WaitingClaim:
    """A claim without a volume that pods without a node use; no node has been chosen for it.

    Attributes
    ----------
    storage_class
        Name of its class.
    size
        Bytes that it asks for; ``None`` if it says nothing.
    users
        Pods without a node that use it.
    volumes
        Volumes of one pod, at most, that are this claim: kube-scheduler looks for a volume for each
        of them.
    """

    key: Key
    view: View
    storage_class: str
    size: Exact | None
    users: tuple[Key, ...]
    volumes: int


def class_of(view: View) -> str:
    """Return the name of the storage class of a claim or a volume."""
    annotations = view.annotations
    return annotations.get(_OLD_CLASS, view.at("spec").text("storageClassName"))


def claims_used(pod: View) -> Iterator[str]:
    """Yield the names of a pod's claims, those of its generic ephemeral volumes included."""
    for volume in pod.at("spec").list("volumes"):
        if "persistentVolumeClaim" in volume:
            yield volume.at("persistentVolumeClaim").text("claimName")
        elif "ephemeral" in volume:
            yield f"{pod.at('metadata').text('name')}-{volume.text('name')}"


def size_of(claim: View) -> Exact | None:
    """Return how many bytes a claim asks for."""
    return claim.at("spec", "resources").exact_amounts("requests").get("storage")


def waiting_claims(objects: Objects) -> dict[Key, WaitingClaim]:
    """Return the claims that wait for pods which wait themselves, by namespace and name."""
    late = {
        name
        for name, view in objects.named("storage.k8s.io", "StorageClass").items()
        if view.text("volumeBindingMode") == "WaitForFirstConsumer"
    }
    users: dict[Key, Counter[Key]] = {}
    for pod in objects.pods():
        if not pod.node:
            for name in claims_used(pod):
                users.setdefault((pod.key[0], name), Counter())[pod.key] += 1
    found = {}
    for key, claim in objects.by_name("", "PersistentVolumeClaim").items():
        taken = claim.at("spec").text("volumeName") or claim.terminating
        chosen = CHOSEN in claim.annotations
        lost = claim.at("status").text("phase") == "Lost"
        if key in users and class_of(claim) in late and not (taken or chosen or lost):
            found[key] = WaitingClaim(
                key,
                claim,
                class_of(claim),
                size_of(claim),
                users=tuple(users[key]),
                volumes=max(users[key].values()),
            )
    return found
