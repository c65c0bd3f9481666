"""Resource claims of a pod: where those that are allocated can be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from kantopt.formats.kubernetes.devices.claimed import ClaimedDevices, claims_of
from kantopt.formats.kubernetes.devices.requests import DeviceClasses, Request
from kantopt.formats.kubernetes.devices.resources import accepted
from kantopt.formats.kubernetes.devices.slices import read_devices
from kantopt.formats.kubernetes.disruption import controls
from kantopt.formats.kubernetes.nodes import read_term
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.volumes.waiting_claims import NOWHERE, Terms
from kantopt.formats.view import Key, View
from kantopt.schema.quantity import CLAIMED

_MOST_USERS = 256
"""Pods that a claim can be reserved for."""


class ResourceClaims:
    """Reads the resource claims of pods that wait, by the claims of a dump."""

    def __init__(self, objects: Objects, devices: ClaimedDevices) -> None:
        self._devices = devices
        self._claims = objects.by_name("resource.k8s.io", "ResourceClaim")
        self._users: Counter[Key] = Counter()
        """Pods that wait for an allocated claim beside those that it is reserved for."""
        offering: dict[str, set[str]] = {}
        for node in objects.of("", "Node"):
            for name, amount in node.at("status").amounts("allocatable", up=False).items():
                if amount:
                    offering.setdefault(name, set()).add(node.at("metadata").name())
        served = _extended_resources(objects)
        self._extended = served.keys() - offering.keys()
        """Resources that no node offers: devices of a class are claimed for who asks for them."""
        self._offered, self._classless = offering.keys(), not served
        self._beside = {
            name: nodes - offering[name]
            for name, nodes in served.items()
            if name in offering and nodes - offering[name]
        }
        """Of resources that some nodes offer, those that have devices for them instead."""

    def extended(self, pod: Pod, mapped: Iterable[str] = ()) -> Pod:
        """Return a pod with resources for which devices are claimed as claims, not as resources.

        Where nodes differ, one that waits keeps what it asks for: it is what some of them offer.

        Parameters
        ----------
        pod
            A pod, or what one is made from.
        mapped
            Resources for which it is known to have a claim.
        """
        requests = pod.shape["requests"]
        here = (name for name, nodes in self._beside.items() if pod.node in nodes)
        taken = {*self._extended, *mapped, *here}
        if self._classless:
            taken |= {name for name in requests if name.startswith(CLAIMED)} - self._offered
        kept = {name: amount for name, amount in requests.items() if name not in taken}
        if len(kept) == len(requests) and (pod.node or self._beside.keys().isdisjoint(requests)):
            return pod
        asked = dict.fromkeys((*pod.shape["not_modelled"], "resource-claims"))
        return pod.shaped(requests=kept, not_modelled=tuple(asked))

    def into(self, pod: Pod, view: View) -> Pod:
        """Return a pod with what its allocated claims ask of nodes; as it was otherwise.

        A pod with a node stays as it was: elsewhere its claims would have to be allocated anew.
        So does a pod with any claim that is missing, not generated yet, or not allocated where it
        is not known which devices suit it.
        """
        mappings = view.at("status", "extendedResourceClaimStatus").list("requestMappings")
        extended = self.extended(pod, [item.text("resourceName") for item in mappings])
        if extended is not pod:
            return extended
        if pod.node or "resource-claims" not in pod.shape["not_modelled"]:
            return pod
        lists: list[Terms] = []
        for item in claims_of(view):
            if item.key not in self._claims:
                return pod
            found = self._reach(pod, item.key, own=item.own)
            if found is None:
                return pod
            lists += found
        missing = pod.shape["not_modelled"]
        return pod.shaped(
            volume_node_affinity=tuple(
                dict.fromkeys((*pod.shape.get("volume_node_affinity", ()), *lists))
            ),
            not_modelled=tuple(name for name in missing if name != "resource-claims"),
        )

    def _reach(self, pod: Pod, key: Key, *, own: bool) -> list[Terms] | None:
        """Lists of terms of which a node must match one each; ``None`` if it is not known."""
        claim = self._claims[key]
        status = claim.at("status")
        if claim.terminating or (own and not controls(pod.ref.uid, claim)):
            return [NOWHERE]
        if "allocation" not in status:
            if self._devices.nowhere(pod):
                return [NOWHERE]
            return [] if self._devices.explains(pod) else None
        users = {user.text("uid") for user in status.list("reservedFor")}
        if pod.ref.uid not in users:
            if len(users) >= _MOST_USERS:
                return [NOWHERE]
            if len(users) + self._users[key] >= _MOST_USERS:
                return None
            self._users[key] += 1
        if "nodeSelector" not in status.at("allocation"):
            return []
        terms = status.at("allocation", "nodeSelector").list("nodeSelectorTerms")
        return [tuple(read_term(term) for term in terms) or NOWHERE]


def _extended_resources(objects: Objects) -> dict[str, set[str]]:
    """Return the nodes with devices for each resource that stands for a class.

    Those are what a DeviceClass names as its ``extendedResourceName``, and a name that each class
    has anyway. Of a class whose selectors are not read all devices count.
    """
    classes = objects.by_name("resource.k8s.io", "DeviceClass")
    devices = read_devices(objects.of("resource.k8s.io", "ResourceSlice")) if classes else ()
    requests = {name: Request(name, (), tolerant=False) for _, name in classes}
    told, _ = accepted(requests.values(), DeviceClasses(classes), devices or ())
    found: dict[str, set[str]] = {}
    for (_, name), view in classes.items():
        members = told.get(requests[name])
        nodes = {d.node for d in devices or () if members is None or d.id in members}
        for resource in (f"{CLAIMED}{name}", view.at("spec").text("extendedResourceName")):
            if resource:
                found.setdefault(resource, set()).update(nodes)
    return found
