"""Pods that wait, and the loads of whole devices that they are put together to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from kantopt.cp.masters.fillings import Fillings
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.problem.tiers import Tier
from kantopt.search.repair.board import restless
from kantopt.search.shapes import Ints
from kantopt.verify.bounds.stock import Cut, Group, Stock


@dataclass(frozen=True, slots=True)
class Waiting:
    """Pods that wait: of each its pod set, the heaviest first."""

    groups: Mapping[Group, Sequence[int]]
    others: Sequence[int]
    """Those that ask for no device."""


@dataclass(slots=True)
class Load:
    """Pods that share one device, or one pod on some whole devices or on none."""

    room: int
    """Index of the kind of device."""
    devices: int
    request: Ints
    """What is asked of the node."""
    podsets: list[int] = field(default_factory=list)
    """Of each pod."""

    def take(self, podset: PodSet) -> None:
        """Add a pod."""
        self.request = self.request + np.array(podset.requests, dtype=np.int64)
        self.podsets.append(podset.index)


def waiting(
    instance: Instance, tiers: Sequence[Tier], cut: Cut, stock: Stock, weighs: Sequence[float]
) -> Waiting | None:
    """Return the pods that a stock counts, and those that ask for no device.

    Parameters
    ----------
    tiers
        Those of the stock.
    weighs
        How heavy a pod of each pod set is for its node.

    Returns
    -------
    Waiting or None
        ``None`` where there is more to it than filling devices: some are in use, pods with devices
        are bound to others, or ask for several that others could share with them.
    """
    loose, tied = restless(instance), freedom_of(instance).tied
    groups: dict[Group, list[int]] = {group: [] for group, _ in stock.groups}
    others: list[int] = []
    for podset in sorted(instance.podsets, key=lambda p: (-weighs[p.index], p.index)):
        free = loose[podset.index] and not (podset.running or podset.index in tied)
        if podset.devices:
            group = _group(instance, tiers, cut, stock, podset) if free else None
            if group not in groups:
                return None
            groups[group] += [podset.index] * podset.count
        elif free:
            others += [podset.index] * podset.count
    return Waiting(groups, others)


def _group(
    instance: Instance, tiers: Sequence[Tier], cut: Cut, stock: Stock, podset: PodSet
) -> Group | None:
    """Return the group that counts the pods of a pod set, if devices are as simple as that."""
    need = podset.devices[0]
    size = need.request[cut.resource] // stock.unit
    whole = [size <= room.size < size + stock.sizes[0] for room, _ in stock.rooms] == [True]
    others = any(amount for r, amount in enumerate(need.request) if r != cut.resource)
    simple = len(podset.devices) == 1 and not others and (need.count == 1 or whole)
    if not simple or need.device_class != cut.device_class:
        return None
    for t, tier in enumerate(tiers):
        each = tier.weight(podset)
        if each and tier.concerns(instance.job_of(podset.index)):
            return Group(t, each, ((size, need.count),))
    return None


def loads(
    instance: Instance, stock: Stock, found: Fillings, pods: Waiting, weighs: Sequence[float]
) -> tuple[list[Load], list[int]]:
    """Put pods together as the fillings say, heavy ones to light ones.

    Of a group the lightest pods are placed.

    Returns
    -------
    list of Load, list of int
        The loads, and the pods that are left out.
    """
    nothing = np.zeros(len(instance.resources), dtype=np.int64)
    made: list[Load] = []
    parts: dict[int, list[Load]] = {size: [] for size in stock.sizes}
    for room, shares, rooms in found.rooms:
        for _ in range(rooms):
            load = Load(room, 1, nothing)
            made.append(load)
            for size, times in shares:
                parts[size] += [load] * times
    coming: dict[int, list[tuple[int, int]]] = {size: [] for size in stock.sizes}
    out: list[int] = []
    for (group, count), placed in zip(stock.groups, found.placed, strict=True):
        mine = pods.groups[group]
        out += mine[: count - placed]
        for size, devices in group.shares:
            coming[size] += [(devices, s) for s in mine[count - placed :]]
    for size in sorted(stock.sizes, reverse=True):
        # On several devices first: those are filled by one share each, so they are alike.
        free = sorted(parts[size], key=lambda load: -sum(weighs[s] for s in load.podsets))
        for devices, s in sorted(coming[size], key=lambda pod: (-pod[0], -weighs[pod[1]], pod[1])):
            load = free.pop()
            del free[len(free) - devices + 1 :]
            load.devices = devices
            load.take(instance.podsets[s])
    # Of those that one pod takes together only one has the pod.
    return [load for load in made if load.podsets], out
