"""M7 stranded GPUs: what the job mix cannot be expected to use (FGD, ATC'23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.problem.cluster import Node
from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.mix import Shape
from kantopt.problem.tiers import Tier
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.step import Step


def gpu_weights(resources: Sequence[str]) -> tuple[int, ...]:
    """Milli-GPU in one base unit of each resource; 0 for what is no GPU."""
    return tuple(gpu_milli(name, 1) for name in resources)


def stranded_on(
    weights: Sequence[int],
    node: Node,
    load: Sequence[int],
    device_load: Sequence[Sequence[int]],
    mix: Sequence[Shape],
) -> int:
    """Milli-GPU free on a node that pods of a mix cannot use: sum of weight x F_n(m) of FGD.

    All that is free if the node cannot take one more pod of the shape; else, of GPUs that are
    devices, those with less free than the pod takes of each.

    Parameters
    ----------
    weights
        Of :func:`gpu_weights`.
    node, load, device_load
        The node and what is taken of it and of its devices, base units.
    mix
        Shapes with their weights.
    """
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
    total = 0
    for shape in mix:
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


def measure_stranded_gpus(tier: Tier, step: Step) -> int:
    """Free GPUs of nodes that count, unusable for the job mix, summed over it by weight."""
    weights, nodes = gpu_weights(step.instance.resources), step.instance.nodes
    return sum(
        stranded_on(weights, nodes[n], step.loads.node[n], step.loads.device[n], tier.mix)
        for n in counted(step.instance, tier)
        if nodes[n].gpu_milli
    )


def bound_stranded_gpus(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every free GPU is of use to every shape."""
    return 0
