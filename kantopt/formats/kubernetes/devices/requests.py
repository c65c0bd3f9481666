"""What a resource claim asks for that is not allocated yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from kantopt.formats.kubernetes.devices.cel_values import Name
from kantopt.formats.view import View

MOST_DEVICES = 32
"""Of one claim; kube-scheduler allocates no more."""
_REQUEST = {"name", "exactly", "deviceClassName", "selectors", "allocationMode", "count"}
_REQUEST |= {"adminAccess", "tolerations"}
_LATER = "a field or a value that is not known"
_CLASS = {"selectors", "config", "extendedResourceName"}


class UnreadError(Exception):
    """A claim asks for something that is not read; the message names it."""


class NowhereError(Exception):
    """A claim asks for what no node has."""


@dataclass(frozen=True, slots=True, order=True)
class Request:
    """Devices that a request accepts, whatever their number."""

    device_class: str
    selectors: tuple[str, ...]
    """Its own expressions, beside those of the class."""
    tolerant: bool
    """Whether it tolerates any taint."""
    whole: bool = False
    """Whether it is for all devices of a node that it accepts (``allocationMode: All``)."""
    instead: tuple[Request, ...] = ()
    """What it accepts as well, each by its own class and expressions (``firstAvailable``)."""

    @property
    def alternatives(self) -> tuple[Request, ...]:
        """All that it accepts, one by one."""
        return (replace(self, instead=()), *self.instead)

    @property
    def plain(self) -> bool:
        """Whether it accepts just what its class does."""
        return not (self.selectors or self.instead)


class Alike(NamedTuple):
    """A constraint of a claim: devices for some of its requests have one value of an attribute."""

    attribute: Name
    requests: frozenset[Request]


class Asked(NamedTuple):
    """What claims ask for."""

    counts: Counter[Request]
    """Devices, of requests for all that there are 1 for each."""
    alike: tuple[Alike, ...]


class DeviceClasses:
    """Reads requests by the classes of a dump."""

    def __init__(self, classes: Mapping[tuple[str, str], View]) -> None:
        self._classes = {name: view.at("spec") for (_, name), view in classes.items()}

    def expressions(self, request: Request) -> tuple[str, ...]:
        """Return all that a device must be accepted by, in the order in which it is asked."""
        found = self._classes[request.device_class]
        return (*_selectors(found), *request.selectors)

    def requests(self, claim: View) -> Asked:
        """Count the devices that a claim asks for.

        Raises
        ------
        NowhereError
            If a class is not there: kube-scheduler refuses the pod on every node.
        UnreadError
            If it asks in a way that is not modelled, or for too many.
        """
        devices = claim.at("spec", "devices")
        bodies = [
            (item, item.at("exactly") if "exactly" in item else item)
            for item in devices.list("requests")
        ]
        for item, body in bodies:
            name = body.text("deviceClassName")
            if name and name not in self._classes and not item.raw.get("firstAvailable"):
                raise NowhereError
        if _others(claim.at("spec"), {"devices"}):
            raise UnreadError(_LATER)
        requests = {item.text("name"): self._devices(item, body) for item, body in bodies}
        if len(requests) < len(bodies):
            raise UnreadError(_LATER)
        alike = tuple(_constrained(requests, devices.list("constraints")))
        counts: Counter[Request] = Counter()
        for request, count in requests.values():
            counts[request] += count
        if counts.total() > MOST_DEVICES:
            raise UnreadError(f"more than {MOST_DEVICES} devices")
        return Asked(counts, alike)

    def _devices(self, item: View, body: View) -> tuple[Request, int]:
        if item.raw.get("firstAvailable"):
            return self._first_available(item), 1
        name, mode = body.text("deviceClassName"), body.text("allocationMode") or "ExactCount"
        count = 1 if "count" not in body else body.integer("count", 1, 2**63 - 1)
        if body.flag("adminAccess"):
            raise UnreadError("adminAccess")
        if item.raw.get("capacity") or body.raw.get("capacity"):
            raise UnreadError("capacity")
        whole = mode == "All"
        known = self._classes.get(name)
        if (
            not count
            or (mode != "ExactCount" and not whole)
            or known is None
            or _others(item, _REQUEST)
            or _others(body, _REQUEST)
            or _others(known, _CLASS)
        ):
            raise UnreadError(_LATER)
        tolerant = bool(body.raw.get("tolerations"))
        return Request(name, _selectors(body), tolerant, whole), 1 if whole else count

    def _first_available(self, item: View) -> Request:
        """Read alternatives for one device each: it suits if any of them accepts it.

        kube-scheduler tries all of them on a node, so which comes first decides which device it is,
        not whether there is one.
        """
        if _others(item, {"name", "firstAvailable"}):
            raise UnreadError(_LATER)
        found = [self._devices(each, each) for each in item.list("firstAvailable")]
        if any(count > 1 or request.whole for request, count in found):
            raise UnreadError("firstAvailable of several devices")
        first, *rest = dict.fromkeys(request for request, _ in found)
        return replace(first, instead=tuple(rest))


def _constrained(
    requests: dict[str, tuple[Request, int]], constraints: Iterable[View]
) -> Iterator[Alike]:
    """Read constraints; the requests that they are on accept devices with the attribute only."""
    groups = []
    for item in constraints:
        domain, slash, name = item.text("matchAttribute").partition("/")
        names = item.strings("requests") or list(requests)
        if not slash or _others(item, {"matchAttribute", "requests"}):
            raise UnreadError("constraints other than matchAttribute")
        if not requests.keys() >= set(names):
            raise UnreadError(_LATER)
        groups.append(((domain, name), names))
        has = f'"{name}" in device.attributes["{domain}"]'
        for each in names:
            request, count = requests[each]
            if request.whole:
                raise UnreadError("a constraint on allocationMode All")
            if request.instead:
                raise UnreadError("a constraint on firstAvailable")
            requests[each] = replace(request, selectors=(*request.selectors, has)), count
    for attribute, names in groups:
        if sum(requests[each][1] for each in names) > 1:
            yield Alike(attribute, frozenset(requests[each][0] for each in names))


def _selectors(view: View) -> tuple[str, ...]:
    """Expressions of a class or of a request; a selector of another kind is an empty one."""
    return tuple(item.at("cel").text("expression") for item in view.list("selectors"))


def _others(view: View, known: set[str]) -> bool:
    """Whether anything is said in fields that are not read."""
    return any(view.raw[key] for key in view.raw.keys() - known)
