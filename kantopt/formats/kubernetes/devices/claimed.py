"""Devices that pods claim, as amounts of node resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kantopt.formats.kubernetes.devices.requests import (
    Alike,
    Asked,
    DeviceClasses,
    NowhereError,
    Request,
    UnreadError,
)
from kantopt.formats.kubernetes.devices.resources import DeviceResources, accepted, amounts, counted
from kantopt.formats.kubernetes.devices.slices import Device, DeviceId, read_devices
from kantopt.formats.kubernetes.namespaces import NO_NAMESPACES
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod, read_pod
from kantopt.formats.view import Key, View
from kantopt.schema.snapshot import Node

_GROUP = "resource.k8s.io"
_SHARED = "pods that claim devices which kube-scheduler may give to other claims first"
_UNREAD = "resource claims that are not read, because of {}"
_NOTHING = "missing objects (kubectl get resourceclaims,resourceslices,deviceclasses -A shows them)"
_MOST_SHOWN = 10
"""Names of resources that are explained by a warning each."""


class ClaimedDevices:
    """What pods ask of devices, and what nodes offer.

    Requests that accept the same devices are one kind. A node can serve its pods exactly if it
    has, for each set of kinds, as many devices as are asked for; each set that must be looked at
    is a resource (:mod:`kantopt.formats.kubernetes.hall`). Pods that run ask for the devices that
    their own claims hold; for those of any other claim a pod stands that stays.
    """

    def __init__(self, objects: Objects) -> None:
        self._asks: dict[Key, Counter[str]] = {}
        self._offers: dict[str, Counter[str]] = {}
        self._otherwise: dict[tuple[Key, str], Counter[str]] = {}
        """What claims that are not those of one pod of the node hold there."""
        self._nowhere: set[Key] = set()
        """Pods that wait with a claim for a class that is not there."""
        self._notes = notes = objects.notes
        self._claims = objects.by_name(_GROUP, "ResourceClaim")
        classes = objects.by_name(_GROUP, "DeviceClass")
        slices = objects.of(_GROUP, "ResourceSlice")
        pods = objects.pods()
        reader = DeviceClasses(classes)
        claimed = self._wanted(pods, reader if classes and slices else None)
        devices = read_devices(slices) if any(asked.counts for asked in claimed.values()) else ()
        if devices is None:
            notes.add(_UNREAD.format("devices of a pool that names one twice"))
            return
        every = {request for asked in claimed.values() for request in asked.counts}
        told, unread = accepted(every, reader, devices)
        wanted: dict[Key, Counter[Request]] = {}
        for key, asked in claimed.items():
            causes = {unread[request] for request in asked.counts if request in unread}
            try:
                if not causes:
                    wanted[key] = counted(asked, told, devices)
            except UnreadError as error:
                causes.add(str(error))
            for cause in sorted(causes):
                notes.add(_UNREAD.format(cause), "/".join(key))
        kinds = DeviceResources({r: told[r] for asks in wanted.values() for r in asks})
        self._share(devices, kinds, self._held(pods))
        for key, requests in wanted.items():
            if kinds.excess.isdisjoint(requests):
                self._asks[key] = Counter()
                for request, count in requests.items():
                    self._asks[key].update(dict.fromkeys(kinds.of_request[request], count))
            else:
                text = _UNREAD.format("devices that suit too many other kinds of claims")
                notes.add(text, "/".join(key))
        self._explain({key: asks for key, asks in wanted.items() if key in self._asks}, kinds)

    def _share(
        self, devices: Iterable[Device], kinds: DeviceResources, held: Mapping[DeviceId, _Holder]
    ) -> None:
        """Have nodes offer devices, and who holds any ask for them."""
        for device in devices:
            names = kinds.of_device.get(device.id, ())
            holder = held.get(device.id)
            self._offers.setdefault(device.node, Counter()).update(names)
            if holder is not None and holder.node == device.node:
                self._asks.setdefault(holder.key, Counter()).update(names)
            elif holder is not None and names:
                self._otherwise.setdefault((holder.claim, device.node), Counter()).update(names)

    def _explain(self, wanted: Mapping[Key, Counter[Request]], kinds: DeviceResources) -> None:
        """Note what names stand for, and whose devices may be given away."""
        shown: set[str] = set()
        for key, requests in wanted.items():
            if not kinds.shared.isdisjoint(requests):
                self._notes.add(_SHARED, "/".join(key))
            for words in sorted({kinds.where[r] for r in requests if r in kinds.where}):
                if len(shown) < _MOST_SHOWN:
                    shown.add(words)
                text = words if words in shown else "devices by still other selectors"
                self._notes.add(f"pods that claim {text}", "/".join(key))

    def explains(self, pod: Pod) -> bool:
        """Whether it is known which devices suit the claims of a pod that are not allocated."""
        return pod.key in self._asks

    def nowhere(self, pod: Pod) -> bool:
        """Whether a pod has a claim that asks for a class that is not there."""
        return pod.key in self._nowhere

    def into(self, pod: Pod) -> Pod:
        """Return a pod that asks for the devices of its claims."""
        shape = pod.shape
        alone = "resource-claims" in shape["not_modelled"]
        asked: Mapping[str, str | int] = shape["requests"]
        more = self._asks.get(pod.key)
        if not more or (alone and not pod.node):
            return pod
        return pod.shaped(requests={**asked, **amounts(more)})

    def onto(self, node: Node) -> Node:
        """Return a node with the devices that it offers."""
        offers = self._offers.get(node.name)
        if not offers:
            return node
        return node.model_copy(update={"allocatable": {**node.allocatable, **amounts(offers)}})

    def otherwise(self) -> Iterator[Pod]:
        """Yield pods that stand for devices which no pod of their node has for itself alone.

        They stay: no single pod's end gives such devices back.
        """
        text = "claims whose devices no pod of their node has alone: jobs of their names stay"
        for ((namespace, name), node), names in self._otherwise.items():
            self._notes.add(text, f"{namespace}/{name} on {node}")
            metadata = {"namespace": namespace, "name": name}
            bare = self._claims[namespace, name].replaced(metadata=metadata, spec={}, status={})
            pod = read_pod(bare, NO_NAMESPACES, self._notes)
            requests = {**amounts(names), "pods": 0}  # its node has none for it
            yield replace(pod.shaped(requests=requests), node=node, stays=("reserved",))

    def _wanted(self, pods: Iterable[View], reader: DeviceClasses | None) -> dict[Key, Asked]:
        """Count what each pod that waits asks for, where all of it is read; what is not is noted.

        Without a reader nothing is.
        """
        users = Counter(claim.key for pod in pods for claim in claims_of(pod))
        found = {}
        for pod in pods:
            key, total, alike = pod.key, Counter[Request](), tuple[Alike, ...]()
            keys = [claim.key for claim in claims_of(pod)]
            if pod.node:
                continue
            if not self._claims.keys() >= set(keys):
                if not self._claims and any(name for _, name in keys):
                    self._notes.add(_UNREAD.format(_NOTHING), "/".join(key))
                continue
            read = True
            for item in keys:
                if "allocation" in self._claims[item].at("status"):
                    continue
                try:
                    if reader is None:
                        raise UnreadError(_NOTHING)
                    asked = reader.requests(self._claims[item])
                    total, alike = total + asked.counts, alike + asked.alike
                    if users[item] > 1:
                        raise UnreadError("several pods that use it")
                except NowhereError:
                    self._nowhere.add(key)
                except UnreadError as error:
                    read = False
                    self._notes.add(_UNREAD.format(error), "/".join(item))
            if read and key not in self._nowhere:
                found[key] = Asked(total, alike)
        return found

    def _held(self, pods: Iterable[View]) -> dict[DeviceId, _Holder]:
        """Who holds the devices that are allocated: the one running pod of a claim, if it is."""
        runs = {pod.uid: (pod.node, pod) for pod in pods if pod.node}
        held: dict[DeviceId, _Holder] = {}
        for key, claim in self._claims.items():
            status = claim.at("status")
            users = [user.text("uid") for user in status.list("reservedFor")]
            node, pod = runs.get(users[0], ("", None)) if len(users) == 1 else ("", None)
            mine = pod is not None and any(item.key == key for item in claims_of(pod))
            holder = _Holder(key, node, pod.key) if mine and pod is not None else _Holder(key)
            for item in status.at("allocation", "devices").list("results"):
                device = (item.text("driver"), item.text("pool"), item.text("device"))
                if not item.flag("adminAccess"):
                    held[device] = holder if device not in held else _Holder(key)
        return held


@dataclass(frozen=True, slots=True)
class _Holder:
    """A claim that holds a device, and the pod on a node that has it alone, if one does."""

    claim: Key
    node: str = ""
    key: Key = ("", "")


@dataclass(frozen=True, slots=True)
class PodClaim:
    """A claim that a pod refers to."""

    key: Key
    """Namespace and name; no name if it is yet to be generated."""
    own: bool
    """Whether it is generated for this pod from a template."""


def claims_of(pod: View) -> Iterator[PodClaim]:
    """Yield the claims of a pod."""
    generated = {
        item.text("name"): item.text("resourceClaimName")
        for item in pod.at("status").list("resourceClaimStatuses")
    }
    for item in pod.at("spec").list("resourceClaims"):
        name = item.text("resourceClaimName")
        own = not name and "resourceClaimTemplateName" in item
        if own and generated.get(item.text("name")) == "":
            continue  # Its template turned out to need no claim.
        yield PodClaim((pod.key[0], generated.get(item.text("name"), "") if own else name), own)
