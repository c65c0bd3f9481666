"""Devices that drivers offer on nodes: ResourceSlices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from kantopt.formats.kubernetes.devices.cel_values import Facts, Name, Quantity, Unread, Value
from kantopt.formats.view import View
from kantopt.schema.quantity import parse_quantity

DeviceId = tuple[str, str, str]
"""Driver, pool and name."""
_READ = {"name", "basic", "attributes", "capacity", "taints"}
"""Fields of a device; any other may bind it to more than a node can tell."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device that one node has."""

    id: DeviceId
    node: str
    facts: Facts
    tainted: bool
    """Whether it is given only to requests that tolerate its taints."""
    partial: bool
    """Whether slices of its pool are missing."""
    odd: bool
    """Whether more than its node decides who may have it: several nodes reach it, it shares
    counters with others, can be allocated twice or is bound to conditions; or slices of its pool
    are missing or older than others."""


def read_devices(slices: Iterable[View]) -> tuple[Device, ...] | None:
    """Read the devices of all nodes; ``None`` where a pool has two devices of one name.

    Of a pool count the slices of its newest generation. Where a node has older ones only, versions
    of kube-scheduler differ, so their devices are odd.
    """
    parts = []
    newest: dict[tuple[str, ...], int] = {}
    for view in slices:
        spec = view.at("spec")
        pool = (spec.text("driver"), spec.at("pool").text("name"))
        age = spec.at("pool").integer("generation", -(2**63), 2**63 - 1) or 0
        node = "" if _shared(spec) else spec.text("nodeName")
        for key in (pool, (*pool, node)):
            newest[key] = max(newest.get(key, age), age)
        parts.append((spec, pool, age, node))
    seen = Counter((pool, age) for _, pool, age, _ in parts)
    found = list[Device]()
    for spec, pool, age, node in parts:
        if age == newest[*pool, node]:
            partial = seen[pool, age] < (spec.at("pool").integer("resourceSliceCount", 0) or 0)
            odd = partial or not node or age < newest[pool]
            found += _devices(spec, pool, node, partial=partial, odd=odd)
    names = {device.id for device in found}
    return tuple(found) if len(names) == len(found) else None


def _shared(spec: View) -> bool:
    return any(spec.raw.get(key) for key in ("allNodes", "nodeSelector", "perDeviceNodeSelection"))


def _devices(
    spec: View, pool: tuple[str, str], node: str, *, partial: bool, odd: bool
) -> Iterator[Device]:
    for item in spec.list("devices"):
        body = item.at("basic") if "basic" in item else item
        more = {*item.raw, *body.raw} - _READ
        effects = [taint.text("effect") for taint in body.list("taints")]
        yield Device(
            id=(*pool, item.text("name")),
            node=node,
            facts=Facts(pool[0], _attributes(body, pool[0]), _capacity(body, pool[0])),
            tainted=any(effect != "None" for effect in effects),
            partial=partial,
            odd=odd or any(item.raw.get(key) or body.raw.get(key) for key in more),
        )


def _name(name: str, driver: str) -> Name:
    """Domain and name; what has no domain belongs to the driver's."""
    domain, slash, rest = name.partition("/")
    return (domain, rest) if slash else (driver, name)


def _attributes(device: View, driver: str) -> dict[Name, Value]:
    found: dict[Name, Value] = {}
    attributes = device.at("attributes")
    for name in attributes.raw:
        view = attributes.at(name)
        value: Value | None = None
        if "bool" in view:
            value = view.flag("bool")
        elif "int" in view:
            value = view.integer("int", -(2**63), 2**63 - 1)
        elif "string" in view:
            value = view.text("string")
        found[_name(name, driver)] = Unread() if value is None else value
    return found


def _capacity(device: View, driver: str) -> dict[Name, Value]:
    found: dict[Name, Value] = {}
    capacity = device.at("capacity")
    for name, item in capacity.raw.items():
        plain = isinstance(item, str | int)
        view, key = (capacity, name) if plain else (capacity.at(name), "value")
        value = view.raw.get(key)
        try:
            if isinstance(value, bool) or not isinstance(value, str | int):
                raise ValueError
            found[_name(name, driver)] = Quantity(parse_quantity(value))
        except ValueError:
            view.problem(key, "a quantity such as 500m, 16Gi or 8")
    return found
