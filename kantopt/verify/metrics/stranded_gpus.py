"""M7 stranded GPUs: what the job mix cannot be expected to use (FGD, ATC'23)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from kantopt.problem.amounts import gpu_milli_of
from kantopt.problem.cluster import Node
from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.mix import Shape
from kantopt.problem.node_room import alike_nodes
from kantopt.problem.tiers import Tier
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.bounds.whole_nodes import rest_of
from kantopt.verify.step import Loads, Step, standing_loads


class Stranding:
    """What is free on a node and of no use to a mix of pods: F_n(m) of FGD, one node at a time.

    All that is free if the node cannot take one more pod of a shape; else, of GPUs that are
    devices, those with less free than the pod takes of each. Summed over the shapes by weight.

    Parameters
    ----------
    resources
        Names of all resources.
    mix
        Shapes with their weights.
    """

    def __init__(self, resources: Sequence[str], mix: Sequence[Shape]) -> None:
        self._weights = tuple(gpu_milli(name, 1) for name in resources)
        self._mix = mix
        self._many = _Many(self._weights, mix) if len(mix) > _FEW else None

    def on(self, node: Node, load: Sequence[int], device_load: Sequence[Sequence[int]]) -> int:
        """Milli-GPU stranded on a node of which this much is taken, base units."""
        weights = self._weights
        free = [
            None if limit is None else max(0, limit - used)
            for limit, used in zip(node.capacity, load, strict=True)
        ]
        left = [
            [max(0, have - used) for have, used in zip(device.capacity, taken, strict=True)]
            for device, taken in zip(node.devices, device_load, strict=True)
        ]
        counted = sum(w * have for w, have in zip(weights, free, strict=True) if w and have)
        shares = [sum(w * have for w, have in zip(weights, row, strict=True) if w) for row in left]
        everything = counted + sum(shares)
        if not everything:
            return 0
        if self._many is not None:
            return everything * self._many.weight - self._many.used(
                node, free, left, counted, shares
            )
        total = 0
        for shape in self._mix:
            fitting = _fitting(node, free, left, shape)
            if fitting is None:
                total += shape.weight * everything
                continue
            usable = any(w and ask for w, ask in zip(weights, shape.requests, strict=True))
            unfit = sum(share for d, share in enumerate(shares) if d not in fitting)
            total += shape.weight * (unfit + (0 if usable else counted))
        return total


def _fitting(
    node: Node, free: list[int | None], left: list[list[int]], shape: Shape
) -> set[int] | None:
    """Devices with room for their part of a pod; ``None`` if the node cannot take the pod."""
    for ask, have in zip(shape.requests, free, strict=True):
        if ask and have is not None and ask > have:
            return None
    fitting: set[int] = set()
    for need in shape.devices:
        asks = [(r, ask) for r, ask in enumerate(need.request) if ask]
        able = [
            d
            for d in node.devices_of(need.device_class)
            if all(ask <= left[d][r] for r, ask in asks)
        ]
        if len(able) < need.count:
            return None
        fitting.update(able)
    return fitting


_FEW = 32
"""Shapes that are looked at one by one; more are looked at all at once."""


class _Many:
    """Many shapes as arrays: of a mix in which no two pods are alike."""

    def __init__(self, weights: Sequence[int], mix: Sequence[Shape]) -> None:
        import numpy as np

        self._weights = np.array([shape.weight for shape in mix], dtype=np.int64)
        self._asks = np.array([shape.requests for shape in mix], dtype=np.int64).T
        self._usable = (self._asks.T @ np.array(weights, dtype=np.int64)) > 0
        self.weight = sum(shape.weight for shape in mix)
        self._needs: list[tuple[str, Any, Any]] = []
        """Needs of devices, one of each shape at most: class, devices and amounts of each."""
        needs: dict[tuple[str, int], dict[int, DeviceNeed]] = {}
        for t, shape in enumerate(mix):
            seen: Counter[str] = Counter()
            for need in shape.devices:
                needs.setdefault((need.device_class, seen[need.device_class]), {})[t] = need
                seen[need.device_class] += 1
        for (name, _), of in needs.items():
            counts = np.array([of[t].count if t in of else 0 for t in range(len(mix))])
            none = (0,) * len(weights)
            asks = np.array([of[t].request if t in of else none for t in range(len(mix))])
            self._needs.append((name, counts, asks.astype(np.int64).T))

    def used(
        self,
        node: Node,
        free: Sequence[int | None],
        left: Sequence[Sequence[int]],
        counted: int,
        shares: Sequence[int],
    ) -> int:
        """Milli-GPU that shapes can use on a node, summed by their weights."""
        import numpy as np

        fit = np.ones(len(self._weights), dtype=np.bool_)
        for ask, have in zip(self._asks, free, strict=True):
            if have is not None:
                fit &= ask <= have
        able = np.zeros((len(shares), len(fit)), dtype=np.bool_)
        for name, counts, asks in self._needs:
            found = np.zeros(len(fit), dtype=np.int64)
            for d in node.devices_of(name):
                room = (asks <= np.array(left[d], dtype=np.int64)[:, None]).all(axis=0)
                room &= counts > 0
                found += room
                able[d] |= room
            fit &= found >= counts
        useful = np.where(self._usable, counted, 0) + np.array(shares, dtype=np.int64) @ able
        return int((self._weights * np.where(fit, useful, 0)).sum())


def measure_stranded_gpus(tier: Tier, step: Step) -> int:
    """Free GPUs of nodes that count, unusable for the job mix, summed over it by weight."""
    instance, loads = step.instance, step.loads
    standing, now = standing_loads(instance), _stranded_now(instance, tier)
    changed = [n for n in now if loads.node[n] is not standing.node[n]]
    total = sum(now.values()) - sum(now[n] for n in changed)
    return total + sum(_stranded(instance, tier, loads, changed).values())


@lru_cache(maxsize=4)
def _stranded_now(instance: Instance, tier: Tier) -> dict[int, int]:
    """What is stranded on each node with GPUs that counts, beside the pods that run."""
    nodes = [n for n in counted(instance, tier) if instance.nodes[n].gpu_milli]
    return _stranded(instance, tier, standing_loads(instance), nodes)


def _stranded(instance: Instance, tier: Tier, loads: Loads, nodes: Iterable[int]) -> dict[int, int]:
    """What is stranded on each of some nodes."""
    alike, stranding = alike_nodes(instance), Stranding(instance.resources, tier.mix)
    states: dict[tuple[object, ...], int] = {}  # most nodes hold what many others hold
    found = {}
    for n in nodes:
        state = (alike[n], tuple(loads.node[n]), *map(tuple, loads.device[n]))
        if state not in states:
            states[state] = stranding.on(instance.nodes[n], loads.node[n], loads.device[n])
        found[n] = states[state]
    return found


def bound_stranded_gpus(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """What a rest of free GPUs that makes no whole nodes strands at least, split as one likes.

    Shortest paths over remainders: a step is a node with so much free, which is of no use to
    shapes that ask for more.
    """
    rest = rest_of(instance, tier, above)
    if rest is None or rest.most // rest.grain > _STEPS:
        return 0
    asks = [(shape.weight, _asked(shape, instance.resources)) for shape in tier.mix]
    size = rest.unit // rest.grain
    steps: dict[int, int] = {}
    for free in range(rest.grain, rest.most + 1, rest.grain):
        stranded = free * sum(weight for weight, ask in asks if ask > free)
        step = free // rest.grain % size
        steps[step] = min(stranded, steps.get(step, stranded))
    least, open_ends = {0: 0}, {0}
    while open_ends:
        here = min(open_ends, key=lambda end: least[end])
        open_ends.remove(here)
        for step, stranded in steps.items():
            there, cost = (here + step) % size, least[here] + stranded
            if there not in least or cost < least[there]:
                least[there] = cost
                open_ends.add(there)
    return least[rest.free // rest.grain]


_STEPS = 64
"""Most amounts free on a node that are looked at one by one."""


def _asked(shape: Shape, resources: tuple[str, ...]) -> int:
    """Milli-GPU below which no node has room for a shape; its needs may share devices."""
    needs = [need.count * gpu_milli_of(resources, need.request) for need in shape.devices]
    return gpu_milli_of(resources, shape.requests) + max(needs, default=0)
