"""Gangs of so many GPUs: whole nodes, and one pod for what is left."""

from __future__ import annotations

from functools import lru_cache

from kantopt.schema.eligibility import admitted_with
from kantopt.schema.jobs import DeviceRequest, PodSet

GPU = "nvidia.com/gpu"


@lru_cache(maxsize=4096)
def gang_of(
    gpus: int, per_node: int, resource: str = GPU, device_class: str = ""
) -> tuple[PodSet, ...]:
    """Return pods that hold exactly so many GPUs together.

    Parameters
    ----------
    gpus
        GPUs of all of them, at least one.
    per_node
        GPUs of a node, which no pod exceeds.
    resource
        What a GPU is called.
    device_class
        Class of the devices that GPUs are, each offering one ``resource``; none: they are an
        amount of the node.
    """
    # Remembered: long traces ask for few sizes, and documents do not change.
    whole, rest = divmod(gpus, per_node)
    wanted = (("worker", whole, per_node), ("rest" if whole else "worker", 1, rest))
    return tuple(
        pods_of(name, count, each, resource, device_class)
        for name, count, each in wanted
        if count and each
    )


def pods_of(
    name: str, count: int, gpus: int, resource: str = GPU, device_class: str = ""
) -> PodSet:
    """Return pods of so many GPUs each; parameters as of :func:`gang_of`."""
    tolerated = admitted_with((resource,))
    if device_class:
        one = DeviceRequest(device_class=device_class, count=gpus, requests={resource: 1})
        return PodSet(name=name, count=count, devices=(one,), tolerations=tolerated)
    return PodSet(name=name, count=count, requests={resource: gpus}, tolerations=tolerated)
