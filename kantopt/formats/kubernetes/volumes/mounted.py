"""Volumes of a pod: where its claims can be mounted, and which of them only one pod may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.disruption import controls
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.volumes.attachments import driver_of
from kantopt.formats.kubernetes.volumes.claim_users import ClaimUsers
from kantopt.formats.kubernetes.volumes.disks import InlineDisks
from kantopt.formats.kubernetes.volumes.free_volumes import FreeVolumes, affinity_of
from kantopt.formats.kubernetes.volumes.stock import Stock
from kantopt.formats.kubernetes.volumes.storage_capacity import StorageCapacities
from kantopt.formats.kubernetes.volumes.waiting_claims import (
    CHOSEN,
    NOWHERE,
    Terms,
    UnexplainedError,
    class_of,
    only,
    size_of,
    waiting_claims,
)
from kantopt.formats.view import View
from kantopt.schema.base import Expression
from kantopt.schema.eligibility import affinity_matches
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.snapshot import Node

_BOUND = "pv.kubernetes.io/bind-completed"
_STATIC = ("", "kubernetes.io/no-provisioner")
_BETA = "failure-domain.beta.kubernetes.io"
_TODAY = {
    f"{_BETA}/zone": "topology.kubernetes.io/zone",
    f"{_BETA}/region": "topology.kubernetes.io/region",
}
"""Labels of zones by an old name, and what nodes call them today."""

_ZONES = tuple(sorted({*_TODAY, *_TODAY.values()}))


class Volumes:
    """Reads the volumes of pods by the claims, volumes and classes of a dump.

    Attributes
    ----------
    stock
        What of it nodes have for a number of pods: free volumes, capacity, disks.
    """

    def __init__(self, objects: Objects, nodes: Sequence[Node]) -> None:
        self._notes = objects.notes
        self._claims = objects.by_name("", "PersistentVolumeClaim")
        self._volumes = objects.named("", "PersistentVolume")
        self._classes = objects.named("storage.k8s.io", "StorageClass")
        self._waiting = waiting_claims(objects)
        static = [
            name for name, view in self._classes.items() if view.text("provisioner") in _STATIC
        ]
        self.stock = Stock()
        self._free = FreeVolumes(self._waiting, self._volumes, nodes, static, self.stock)
        self._capacities = StorageCapacities(objects, self._waiting, nodes, self.stock)
        self._topology = _Topology(objects, nodes)
        self._users = ClaimUsers(objects)
        self._disks = InlineDisks(objects, self.stock)

    def into(self, pod: Pod, view: View) -> Pod:
        """Return a pod with what its volumes ask of nodes; as it was if they are not explained.

        Of a claim that is bound that is the volume's node affinity and its zones; of one that
        waits for its first consumer what its class can provision, or what volumes there are; any
        other is mounted nowhere.
        """
        lists: list[Terms] = []
        exclusive = self._exclusive(pod, view)
        together: list[str] = []
        try:
            if self._disks.unexplained(view):
                raise UnexplainedError
            for volume in view.at("spec").list("volumes"):
                if "persistentVolumeClaim" in volume:
                    name = volume.at("persistentVolumeClaim").text("claimName")
                    claim = self._claim(pod, name)
                    lists += self._reach(claim, zones=True)
                    lists += self._users.beside(view, claim)
                    together += [f"{pod.namespace}/{name}"] * self._users.wait_together(claim)
                elif "ephemeral" in volume:
                    name = f"{pod.ref.name}-{volume.text('name')}"
                    claim = self._claim(pod, name)
                    if not controls(pod.ref.uid, claim):
                        lists.append(NOWHERE)
                    lists += self._reach(claim, zones=False)
        except UnexplainedError:
            if pod.node:  # what it takes from others is told, whatever else is not
                pod = self.stock.into(pod).shaped(exclusive_claims=exclusive)
            return pod.shaped(not_modelled=tuple(sorted({*pod.shape["not_modelled"], "claims"})))
        pod = replace(self.stock.into(pod), waits_with=tuple(sorted({*together})))
        if not (lists or exclusive or "claims" in pod.shape["not_modelled"]):
            return pod
        return pod.shaped(
            volume_node_affinity=tuple(dict.fromkeys(lists)),
            exclusive_claims=exclusive,
            not_modelled=tuple(name for name in pod.shape["not_modelled"] if name != "claims"),
        )

    def _exclusive(self, pod: Pod, view: View) -> tuple[str, ...]:
        """Names of a pod's claims that one pod may use at a time."""
        volumes = view.at("spec").list("volumes")
        names = {volume.at("persistentVolumeClaim").text("claimName") for volume in volumes}
        claims = {name: self._claims.get((pod.namespace, name)) for name in names}
        return tuple(
            f"{pod.namespace}/{name}"
            for name, claim in sorted(claims.items())
            if claim is not None and "ReadWriteOncePod" in claim.at("spec").strings("accessModes")
        )

    def _claim(self, pod: Pod, name: str) -> View:
        claim = self._claims.get((pod.namespace, name))
        if claim is None:
            raise UnexplainedError
        return claim

    def _reach(self, claim: View, *, zones: bool) -> list[Terms]:
        """Lists of terms of which a node must match one each."""
        annotations, name = claim.annotations, claim.at("spec").text("volumeName")
        if claim.terminating or claim.at("status").text("phase") == "Lost":
            return [NOWHERE]
        if name and _BOUND in annotations:
            return self._of_volume(name, zones=zones)
        chosen = class_of(claim)
        if name and _BOUND not in annotations:
            text = f"claims that name a volume and are not bound to it yet ({_BOUND})"
            self._notes.add(f"{text}: no node takes their pods", "/".join(claim.key))
        if name or not chosen:
            return [NOWHERE]
        found = self._classes.get(chosen)
        if found is None:
            raise UnexplainedError
        if found.text("volumeBindingMode") != "WaitForFirstConsumer":
            return [NOWHERE]
        return self._provisioned(claim, chosen, found)

    def _of_volume(self, name: str, *, zones: bool) -> list[Terms]:
        volume = self._volumes.get(name)
        if volume is None:
            if self._volumes:
                return [NOWHERE]
            raise UnexplainedError
        lists: list[Terms] = []
        terms = affinity_of(volume)
        if terms is not None:
            lists.append(terms or NOWHERE)
        labels = volume.labels if zones else {}
        for key in _ZONES:
            values = tuple(labels.get(key, "").split("__"))
            if all(values):  # kube-scheduler ignores a label of which a part is empty
                lists.append(_zone(key, values))
        return lists

    def _provisioned(self, claim: View, name: str, found: View) -> list[Terms]:
        """Nodes where a claim that waits for its first consumer can have a volume."""
        key, provisioner = claim.key, found.text("provisioner")
        node = claim.annotations.get(CHOSEN)
        if provisioner in _STATIC:
            if node or not self._free.suits(key):
                return [NOWHERE]
            self._free.counts(key)
            return []
        lists = self._capacities.reach(key, name, provisioner, size_of(claim))
        if terms := _allowed(found):
            lists.append(terms)
        if node:
            return [only(node), *lists]
        waiting = self._waiting.get(key)
        shared = waiting is not None and len(waiting.users) > 1
        if shared and not self._topology.everywhere(provisioner, lists):
            raise UnexplainedError  # the first of its pods settles where the others may go
        if not lists or not self._free.suits(key):
            return lists
        # There as well, or where a volume is that nobody else could take.
        there = self._free.alone(key)
        if not there:
            return []
        if len(lists) > 1:
            raise UnexplainedError
        return [there[0] + lists[0]]


def _allowed(storage_class: View) -> Terms:
    """Terms of which a node must match one for a class to make volumes there; none: any node."""
    return tuple(
        NodeSelectorTerm(
            match_expressions=tuple(
                Expression(key=item.name("key"), operator="In", values=item.strings("values"))
                for item in term.list("matchLabelExpressions")
            )
        )
        for term in storage_class.list("allowedTopologies")
    )


def _zone(key: str, values: tuple[str, ...]) -> Terms:
    """Nodes in a zone (or region) by a label, or by today's for an old one, or that tell none."""
    terms: list[tuple[Expression, ...]] = [(Expression(key=key, operator="In", values=values),)]
    if key in _TODAY:
        today = Expression(key=_TODAY[key], operator="In", values=values)
        terms.append((Expression(key=key, operator="DoesNotExist"), today))
    terms.append(tuple(Expression(key=name, operator="DoesNotExist") for name in _ZONES))
    return tuple(NodeSelectorTerm(match_expressions=term) for term in terms)


class _Topology:
    """Tells whether it matters to others on which node a volume is made.

    CSINodes tell the labels by which a driver knows where volumes are (``topologyKeys``).
    """

    def __init__(self, objects: Objects, nodes: Sequence[Node]) -> None:
        self._nodes = nodes
        self._keys: dict[str, set[str]] = {}
        told = objects.of("storage.k8s.io", "CSINode")
        self._told = bool(told)
        for view in told:
            for driver in view.at("spec").list("drivers"):
                keys = self._keys.setdefault(driver.text("name"), set())
                keys.update(driver.strings("topologyKeys"))

    def everywhere(self, provisioner: str, lists: Sequence[Terms]) -> bool:
        """Whether a volume can be used on all nodes on which it may be made, whichever it is.

        Parameters
        ----------
        provisioner
            Who makes it.
        lists
            Terms of which a node must match one of each, for a volume to be made there.
        """
        found = [n for n in self._nodes if all(affinity_matches(terms, n) for terms in lists)]
        if len(found) < 2:
            return True
        if not self._told:
            return False
        keys = {e.key for terms in lists for term in terms for e in term.match_expressions}
        keys |= self._keys.get(driver_of(provisioner), set())
        places = {tuple(node.labels.get(key) for key in sorted(keys)) for node in found}
        return len(places) == 1
