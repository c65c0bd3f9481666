"""M7 stranded GPUs: what the job mix cannot be expected to use (FGD, ATC'23)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kantopt.problem.cluster import Node
from kantopt.problem.instance import Instance
from kantopt.problem.mix import Shape
from kantopt.problem.tiers import Tier
from kantopt.schema.quantity import gpu_milli
from kantopt.verify.step import Step


def stranded_on(
    resources: Sequence[str],
    node: Node,
    load: Sequence[int],
    device_load: Sequence[Sequence[int]],
    shape: Shape,
) -> int:
    """Milli-GPU free on a node that pods of a shape cannot use: F_n(m) of FGD.

    All that is free if the node cannot take one more such pod; else, of GPUs that are devices,
    those with less free than the pod takes of each.
    """
    free = [
        None if limit is None else max(0, limit - used)
        for limit, used in zip(node.capacity, load, strict=True)
    ]
    counted = sum(gpu_milli(name, have) for name, have in zip(resources, free, strict=True) if have)
    shares = [
        sum(
            gpu_milli(name, max(0, have - used))
            for name, have, used in zip(resources, device.capacity, taken, strict=True)
        )
        for device, taken in zip(node.devices, device_load, strict=True)
    ]
    hosts = all(
        have is None or ask <= have for ask, have in zip(shape.requests, free, strict=True) if ask
    )
    fitting: set[int] = set()
    for need in shape.devices:
        able = [
            d
            for d in node.devices_of(need.device_class)
            if all(
                ask <= have - used
                for ask, have, used in zip(
                    need.request, node.devices[d].capacity, device_load[d], strict=True
                )
                if ask
            )
        ]
        hosts = hosts and len(able) >= need.count
        fitting.update(able)
    if not hosts:
        return counted + sum(shares)
    usable = any(gpu_milli(name, ask) for name, ask in zip(resources, shape.requests, strict=True))
    return (0 if usable else counted) + sum(
        share for d, share in enumerate(shares) if d not in fitting
    )


def measure_stranded_gpus(tier: Tier, step: Step) -> int:
    """Free GPUs that pods of the job mix cannot use, summed over the mix by weight."""
    instance = step.instance
    total = 0
    for node in instance.nodes:
        if node.gpu_milli:
            load = step.loads.node[node.index]
            device_load = step.loads.device[node.index]
            for shape in tier.mix:
                stranded = stranded_on(instance.resources, node, load, device_load, shape)
                total += shape.weight * stranded
    return total


def bound_stranded_gpus(tier: Tier, instance: Instance, above: Mapping[Tier, int]) -> int:
    """Return 0: at best every free GPU is of use to every shape."""
    return 0
