"""Resource claims of a pod: where those that are allocated can be used."""

from __future__ import annotations

from collections import Counter

from kantopt.formats.kubernetes.devices.claimed import ClaimedDevices, claims_of
from kantopt.formats.kubernetes.nodes import read_term
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.volumes.waiting_claims import NOWHERE, Terms
from kantopt.formats.view import Key, View

_MOST_USERS = 256
"""Pods that a claim can be reserved for."""


class ResourceClaims:
    """Reads the resource claims of pods that wait, by the claims of a dump."""

    def __init__(self, objects: Objects, devices: ClaimedDevices) -> None:
        self._devices = devices
        self._claims = objects.by_name("resource.k8s.io", "ResourceClaim")
        self._users: Counter[Key] = Counter()
        """Pods that wait for an allocated claim beside those that it is reserved for."""
        classes = objects.of("resource.k8s.io", "DeviceClass")
        offered = {
            name
            for node in objects.of("", "Node")
            for name, amount in node.at("status").amounts("allocatable", up=False).items()
            if amount
        }
        self._extended = {view.at("spec").text("extendedResourceName") for view in classes}
        self._extended -= {"", *offered}
        """Resources that no node offers: devices of a class are claimed for who asks for them."""

    def into(self, pod: Pod, view: View) -> Pod:
        """Return a pod with what its allocated claims ask of nodes; as it was otherwise.

        A pod with a node stays as it was: elsewhere its claims would have to be allocated anew.
        So does a pod with any claim that is missing, not generated yet, or not allocated where it
        is not known which devices suit it. One for whose extended resources devices are claimed
        asks for these as claims, and not as resources.
        """
        mappings = view.at("status", "extendedResourceClaimStatus").list("requestMappings")
        extended = {*self._extended, *(item.text("resourceName") for item in mappings)}
        requests = pod.shape["requests"]
        if not extended.isdisjoint(requests):
            kept = {name: amount for name, amount in requests.items() if name not in extended}
            asked = dict.fromkeys((*pod.shape["not_modelled"], "resource-claims"))
            return pod.shaped(requests=kept, not_modelled=tuple(asked))
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
        metadata, status = claim.at("metadata"), claim.at("status")
        owners = metadata.list("ownerReferences")
        owned = any(o.text("uid") == pod.ref.uid and o.flag("controller") for o in owners)
        if "deletionTimestamp" in metadata or (own and not owned):
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
