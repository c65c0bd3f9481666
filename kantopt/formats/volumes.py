"""Volumes of a pod: where its claims can be mounted, and which of them only one pod may use."""

from __future__ import annotations

from dataclasses import replace

from kantopt.formats.kubernetes_nodes import read_term
from kantopt.formats.objects import Objects
from kantopt.formats.pods import Pod
from kantopt.formats.view import View
from kantopt.schema.base import Expression
from kantopt.schema.jobs import NodeSelectorTerm

_Terms = tuple[NodeSelectorTerm, ...]
_NOWHERE: _Terms = (NodeSelectorTerm(),)
"""A term without requirements matches no node."""
_BOUND = "pv.kubernetes.io/bind-completed"
_CHOSEN = "volume.kubernetes.io/selected-node"
_OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_STATIC = ("", "kubernetes.io/no-provisioner")
_BETA = "failure-domain.beta.kubernetes.io"
_ALIAS = {
    "topology.kubernetes.io/zone": f"{_BETA}/zone",
    "topology.kubernetes.io/region": f"{_BETA}/region",
    f"{_BETA}/zone": "topology.kubernetes.io/zone",
    f"{_BETA}/region": "topology.kubernetes.io/region",
}
_DISKS = ("gcePersistentDisk", "awsElasticBlockStore", "iscsi", "rbd")
"""Volumes without a claim that two pods of a node cannot always share."""


class _UnexplainedError(Exception):
    """The dump does not say enough about a volume, or it is of a kind that is not modelled."""


class Volumes:
    """Reads the volumes of pods by the claims, volumes and classes of a dump."""

    def __init__(self, objects: Objects) -> None:
        self._claims = objects.by_name("", "PersistentVolumeClaim")
        self._volumes = {
            view.at("metadata").text("name"): view for view in objects.of("", "PersistentVolume")
        }
        self._classes = {
            view.at("metadata").text("name"): view
            for view in objects.of("storage.k8s.io", "StorageClass")
        }
        self._measured = {
            view.at("metadata").text("name")
            for view in objects.of("storage.k8s.io", "CSIDriver")
            if view.at("spec").flag("storageCapacity")
        }

    def into(self, pod: Pod, view: View) -> Pod:
        """Return a pod with what its volumes ask of nodes; as it was if they are not explained.

        Of a claim that is bound that is the volume's node affinity and its zones; of one that
        waits for its first consumer what its class can provision; any other is mounted nowhere.
        """
        lists: list[_Terms] = []
        exclusive: set[str] = set()
        try:
            for volume in view.at("spec").list("volumes"):
                if any(kind in volume for kind in _DISKS):
                    raise _UnexplainedError
                if "persistentVolumeClaim" in volume:
                    name = volume.at("persistentVolumeClaim").text("claimName")
                    claim = self._claim(pod, name)
                    lists += self._reach(claim, zones=True)
                    if "ReadWriteOncePod" in claim.at("spec").strings("accessModes"):
                        exclusive.add(f"{pod.namespace}/{name}")
                elif "ephemeral" in volume:
                    name = f"{pod.ref.name}-{volume.text('name')}"
                    claim = self._claim(pod, name)
                    owners = claim.at("metadata").list("ownerReferences")
                    if not any(owner.text("uid") == pod.ref.uid for owner in owners):
                        lists.append(_NOWHERE)
                    lists += self._reach(claim, zones=False)
        except _UnexplainedError:
            return _with(pod, not_modelled=_both(pod, "claims"))
        if not (lists or exclusive or "claims" in pod.shape["not_modelled"]):
            return pod
        return _with(
            pod,
            volume_node_affinity=tuple(dict.fromkeys(lists)),
            exclusive_claims=tuple(sorted(exclusive)),
            not_modelled=tuple(name for name in pod.shape["not_modelled"] if name != "claims"),
        )

    def _claim(self, pod: Pod, name: str) -> View:
        claim = self._claims.get((pod.namespace, name))
        if claim is None:
            raise _UnexplainedError
        return claim

    def _reach(self, claim: View, *, zones: bool) -> list[_Terms]:
        """Lists of terms of which a node must match one each."""
        metadata, spec = claim.at("metadata"), claim.at("spec")
        annotations, name = metadata.words("annotations"), spec.text("volumeName")
        lost = claim.at("status").text("phase") == "Lost"
        if "deletionTimestamp" in metadata or lost:
            return [_NOWHERE]
        if name and _BOUND in annotations:
            return self._of_volume(name, zones=zones)
        chosen = annotations.get(_OLD_CLASS, spec.text("storageClassName"))
        if name or not chosen:
            return [_NOWHERE]
        found = self._classes.get(chosen)
        if found is None:
            raise _UnexplainedError
        if found.text("volumeBindingMode") != "WaitForFirstConsumer":
            return [_NOWHERE]
        return self._provisioned(claim, chosen, found)

    def _of_volume(self, name: str, *, zones: bool) -> list[_Terms]:
        volume = self._volumes.get(name)
        if volume is None:
            if self._volumes:
                return [_NOWHERE]
            raise _UnexplainedError
        lists: list[_Terms] = []
        affinity = volume.at("spec", "nodeAffinity")
        if "required" in affinity:
            terms = affinity.at("required").list("nodeSelectorTerms")
            lists.append(tuple(read_term(term) for term in terms) or _NOWHERE)
        labels = volume.at("metadata").words("labels") if zones else {}
        for key in sorted(_ALIAS.keys() & labels):
            lists.append(_zone(key, tuple(labels[key].split("__"))))
        return lists

    def _provisioned(self, claim: View, name: str, found: View) -> list[_Terms]:
        """Nodes where a volume can be made for a claim that waits for its first consumer."""
        lists: list[_Terms] = []
        provisioner = found.text("provisioner")
        node = claim.at("metadata").words("annotations").get(_CHOSEN)
        if node:
            field = Expression(key="metadata.name", operator="In", values=(node,))
            lists.append((NodeSelectorTerm(match_fields=(field,)),))
        elif any(_free(volume, name) for volume in self._volumes.values()):
            # Several pods may draw on the same volumes: a matching, which is not modelled.
            raise _UnexplainedError
        if provisioner in _STATIC:
            return [_NOWHERE]
        if provisioner in self._measured:
            raise _UnexplainedError
        terms = tuple(
            NodeSelectorTerm(
                match_expressions=tuple(
                    Expression(key=item.name("key"), operator="In", values=item.strings("values"))
                    for item in term.list("matchLabelExpressions")
                )
            )
            for term in found.list("allowedTopologies")
        )
        return [*lists, terms] if terms else lists


def _free(volume: View, name: str) -> bool:
    """Whether a volume of a class may still be bound."""
    spec = volume.at("spec")
    return spec.text("storageClassName") == name and volume.at("status").text("phase") != "Bound"


def _zone(key: str, values: tuple[str, ...]) -> _Terms:
    """Nodes in a zone (or region) by a label or its other name, and nodes that tell none."""
    other = Expression(key=key, operator="DoesNotExist")
    none = tuple(Expression(key=name, operator="DoesNotExist") for name in sorted(_ALIAS))
    return (
        NodeSelectorTerm(match_expressions=(Expression(key=key, operator="In", values=values),)),
        NodeSelectorTerm(
            match_expressions=(other, Expression(key=_ALIAS[key], operator="In", values=values))
        ),
        NodeSelectorTerm(match_expressions=none),
    )


def _both(pod: Pod, name: str) -> tuple[str, ...]:
    return tuple(sorted({*pod.shape["not_modelled"], name}))


def _with(pod: Pod, **fields: object) -> Pod:
    return replace(pod, shape={**pod.shape, **fields})
