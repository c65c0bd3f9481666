"""What a group of nodes can hold, as linear rows that use how a single node must be filled.

If pods of sizes ``a`` share a bin of size ``b``, then for every ``t`` the sum of ``a // t`` is at
most ``b // t``: a node of 8 GPUs holds one pod of 5, and no more than two of 3 (Chvatal-Gomory
rounding of each bin's capacity). Summed over bins that gives rows for the counts of pods on all
of them, exact in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from kantopt.cp.relaxed.kinds import PodKind
from kantopt.problem.cluster import Node
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.witness.capacity import steps


@dataclass(frozen=True, slots=True)
class Row:
    """``sum of weights[k] * pods of kind k`` on some nodes is at most ``limit``.

    ``largest`` is the most that a single one of the nodes holds, ``unit`` what is counted: the
    class of the devices or none, the resource, and how much of it counts as one.
    """

    weights: Mapping[int, int]
    limit: int
    largest: int
    unit: tuple[str, int, int]


def rows_of(
    instance: Instance, offers: Iterable[tuple[Node, int]], kinds: Iterable[PodKind]
) -> Iterator[Row]:
    """Yield what nodes of some offers can hold of some kinds of pods.

    Parameters
    ----------
    instance
        The question, for the rules that are on.
    offers
        Different nodes, each with what it offers in place of its capacity, and their numbers.
    kinds
        Kinds of pods that could be on these nodes, without those that stay for certain.
    """
    offers, kinds = list(offers), list(kinds)
    if instance.on(Rule.CAPACITY):
        for r in range(len(instance.resources)):
            yield from _resource_rows(offers, kinds, r)
    if instance.on(Rule.DEVICES):
        classes = {d.device_class for node, _ in offers for d in node.devices}
        for device_class in sorted(classes):
            for r in range(len(instance.resources)):
                yield from _device_rows(offers, kinds, device_class, r)


def _resource_rows(offers: list[tuple[Node, int]], kinds: list[PodKind], r: int) -> Iterator[Row]:
    sizes = {kind.index: kind.one.requests[r] for kind in kinds if kind.one.requests[r]}
    bins: dict[int, int] = {}
    for node, number in offers:
        offer = node.capacity[r]
        if offer is None:
            return
        bins[offer] = bins.get(offer, 0) + number
    yield from _rounded(sizes, bins, ("", r))


def _device_rows(
    offers: list[tuple[Node, int]], kinds: list[PodKind], device_class: str, r: int
) -> Iterator[Row]:
    """Rows for the devices as bins, and for nodes as bins of whole devices."""
    sizes: dict[int, int] = {}
    counts: dict[int, int] = {}
    for kind in kinds:
        for need in kind.one.devices:
            if need.device_class == device_class and need.request[r] and kind.on_devices:
                sizes[kind.index], counts[kind.index] = need.request[r], need.count
    slots: dict[int, int] = {}
    for node, number in offers:
        for d in node.devices_of(device_class):
            offer = node.devices[d].capacity[r]
            slots[offer] = slots.get(offer, 0) + number
    if not sizes or not slots:
        return
    for row in _rounded(sizes, slots, (device_class, r)):
        step = row.unit[2]
        weights = {k: w * counts[k] for k, w in row.weights.items()}
        largest = max(
            sum(node.devices[d].capacity[r] // step for d in node.devices_of(device_class))
            for node, _ in offers
        )
        yield replace(row, weights=weights, largest=largest)
    # Pods that take more than half of a device have it for themselves.
    half = max(slots) // 2 + 1
    whole = {k: counts[k] * (size // half) for k, size in sizes.items() if size >= half}
    devices: dict[int, int] = {}
    for node, number in offers:
        able = sum(node.devices[d].capacity[r] >= half for d in node.devices_of(device_class))
        devices[able] = devices.get(able, 0) + number
    yield from _rounded(whole, devices, (device_class, -1 - r))


def _rounded(
    sizes: Mapping[int, int], bins: Mapping[int, int], what: tuple[str, int]
) -> Iterator[Row]:
    """Yield rows for items in bins, which are given with their numbers."""
    if not sizes:
        return
    for step in steps(sizes.values(), bins):
        weights = {k: size // step for k, size in sizes.items() if size >= step}
        limit = sum(number * (size // step) for size, number in bins.items())
        if weights:
            yield Row(weights, limit, max(bins, default=0) // step, (*what, step))
