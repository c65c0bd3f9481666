"""Resources that stand for devices: which requests ask for them, which devices count for them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from kantopt.formats.kubernetes.devices.cel import Selector
from kantopt.formats.kubernetes.devices.cel_values import CelError, Unread
from kantopt.formats.kubernetes.devices.requests import (
    MOST_DEVICES,
    Alike,
    Asked,
    DeviceClasses,
    Request,
    UnreadError,
)
from kantopt.formats.kubernetes.devices.slices import Device, DeviceId
from kantopt.formats.kubernetes.hall import Kinds, binding_sets
from kantopt.formats.kubernetes.nodes import bounded
from kantopt.schema.quantity import CLAIMED

_MOST_STEPS = 10_000_000
"""Steps of all selectors over all devices: some seconds."""
_LONGEST = 160
"""Characters of selectors that are shown."""
_Members = frozenset[DeviceId]


def accepted(
    requests: Iterable[Request], reader: DeviceClasses, devices: Sequence[Device]
) -> tuple[dict[Request, _Members], dict[Request, str]]:
    """Return the devices that requests accept, and why that cannot be told of the others."""
    found: dict[Request, _Members] = {}
    unread: dict[Request, str] = {}
    steps = _MOST_STEPS
    for request in sorted(requests):
        try:
            members = set[DeviceId]()
            for each in request.alternatives:
                selectors = [Selector(text) for text in reader.expressions(each)]
                steps -= len(devices) * (1 + sum(selector.size for selector in selectors))
                if steps < 0:
                    raise UnreadError("selectors, of which there are too many")
                members |= _members(each, selectors, devices)
            found[request] = frozenset(members)
        except CelError as error:
            unread[request] = f"a selector ({_shortened([str(error)])})"
        except UnreadError as error:
            unread[request] = str(error)
    return found, unread


def _members(request: Request, selectors: list[Selector], devices: Iterable[Device]) -> _Members:
    found = set()
    for device in devices:
        if all(selector.accepts(device.facts) for selector in selectors):
            if device.odd:
                raise UnreadError("devices about which more than their node decides")
            if device.tainted and request.whole:
                raise UnreadError("allocationMode All of devices with taints")
            if device.tainted and request.tolerant:
                raise UnreadError("tolerations of devices with taints")
            if not device.tainted:
                found.add(device.id)
    return frozenset(found)


def counted(
    asked: Asked, accepted: Mapping[Request, _Members], devices: Sequence[Device]
) -> Counter[Request]:
    """Count the devices that a pod asks for, on whichever node it is.

    Raises
    ------
    UnreadError
        If that depends on the node: one has more devices than another of which all are asked for,
        or devices of several values of which one is asked for.
    """
    found = Counter[Request]()
    for request, count in asked.counts.items():
        size = _whole(accepted[request], devices) if request.whole else 1
        found[request] += count * size
    if any(request.whole for request in found) and found.total() > MOST_DEVICES:
        raise UnreadError(f"more than {MOST_DEVICES} devices")
    for alike in asked.alike:
        _check_alike(alike, accepted, devices)
    return found


def _whole(members: _Members, devices: Sequence[Device]) -> int:
    """Devices of each node that has any, which are all or none in use by who wants all."""
    if any(device.partial for device in devices):
        raise UnreadError("allocationMode All where slices of a pool are missing")
    numbers = set(Counter(d.node for d in devices if d.id in members).values())
    if len(numbers) > 1:
        raise UnreadError("allocationMode All where nodes have different numbers of devices")
    return max(numbers, default=1)


def _check_alike(
    alike: Alike, accepted: Mapping[Request, _Members], devices: Sequence[Device]
) -> None:
    """Check that all devices of a node that suit have one value: then nothing is asked of them.

    Versions and lists, which are not read, count as different.
    """
    values: dict[str, tuple[type, object]] = {}
    members = frozenset[DeviceId]().union(*(accepted[request] for request in alike.requests))
    for device in devices:
        if device.id in members:
            value = device.facts.attributes[alike.attribute]
            told = (type(value), value)
            if isinstance(value, Unread) or values.setdefault(device.node, told) != told:
                name = "/".join(alike.attribute)
                raise UnreadError(f"matchAttribute {name}, which tells devices of a node apart")


class DeviceResources:
    """Resources that stand for sets of kinds of requests, and what they are called."""

    def __init__(self, accepted: Mapping[Request, _Members]) -> None:
        labels = _labels(accepted)
        by_kind: dict[_Members | Request, list[Request]] = {}
        for request in sorted(accepted):
            # Requests for nothing that is there have nothing in common.
            by_kind.setdefault(accepted[request] or request, []).append(request)
        kinds = list(by_kind.values())
        of_device: dict[DeviceId, set[int]] = {}
        for kind, (first, *_) in enumerate(kinds):
            for device in accepted[first]:
                of_device.setdefault(device, set()).add(kind)
        groups = {device: frozenset(found) for device, found in of_device.items()}
        sets, excess = binding_sets(set(groups.values()))
        self.excess = frozenset(request for kind in excess for request in kinds[kind])
        """Requests that share devices with too many others."""
        self.shared = frozenset(
            request for group in sets if len(group) > 1 for kind in group for request in kinds[kind]
        )
        """Requests for devices that others ask for too, in another way."""
        sets += tuple(frozenset([i]) for i, found in enumerate(kinds) if not accepted[found[0]])
        names = {
            group: CLAIMED + _name(group, kinds, set(groups.values()), labels) for group in sets
        }
        self.of_request = {
            request: [names[group] for group in sets if kind in group]
            for kind, found in enumerate(kinds)
            for request in found
        }
        of_group = {
            group: tuple(names[kept] for kept in sets if kept & group)
            for group in set(groups.values())
        }
        self.where = {
            request: f"{label}, where {_where(request)}"
            for found in kinds
            for request in found
            if "#" in (label := _label(found, labels))
        }
        """What is meant by names that no class explains."""
        self.of_device = {device: of_group[group] for device, group in groups.items()}


def _labels(requests: Iterable[Request]) -> dict[Request, str]:
    """Name requests: as their class, with a digest of their own selectors if they have any."""
    digests = {
        request: hashlib.sha256("\0".join(_told(request)).encode()).hexdigest()
        for request in requests
        if not request.plain
    }
    length = 6
    while len({digest[:length] for digest in digests.values()}) < len(set(digests.values())):
        length += 2
    return {
        request: request.device_class
        if request.plain
        else f"{request.device_class}#{digests[request][:length]}"
        for request in requests
    }


def _told(request: Request) -> Iterator[str]:
    """Yield what a request says beside its class."""
    yield from request.selectors
    for each in request.instead:
        yield each.device_class
        yield from each.selectors


def _where(request: Request) -> str:
    """Say which devices suit a request that its class does not explain."""
    if not request.instead:
        return _shortened(request.selectors)
    parts = [
        f"{each.device_class}: {_shortened(each.selectors)}"
        if each.selectors
        else each.device_class
        for each in request.alternatives
    ]
    return _shortened([" or ".join(parts)])


def _name(
    group: Kinds,
    kinds: Sequence[Sequence[Request]],
    groups: set[Kinds],
    labels: Mapping[Request, str],
) -> str:
    """Name a set of kinds: as the one that has all devices of it, or as the widest of them."""

    def within(kind: int, other: int) -> bool:
        return all(other in found for found in groups if kind in found)

    widest = [k for k in group if not any(within(k, o) for o in group if o != k)]
    return "+".join(sorted(_label(kinds[k], labels) for k in widest))


def _label(requests: Sequence[Request], labels: Mapping[Request, str]) -> str:
    """Name a kind: as all classes that have just its devices, or as one of its requests."""
    plain = sorted({labels[request] for request in requests if request.plain})
    return "|".join(plain) or min(labels[request] for request in requests)


def _shortened(selectors: Iterable[str]) -> str:
    text = " ".join(" && ".join(selectors).split())
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}..."


def amounts(counts: Mapping[str, int]) -> dict[str, int]:
    """Return counts by resource as documents hold them."""
    return {name: bounded(count) for name, count in sorted(counts.items())}
