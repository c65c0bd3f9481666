"""Gangs of so many GPUs: whole nodes, and one pod for what is left."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from kantopt.schema.jobs import PodSet

GPU = "nvidia.com/gpu"


def gang_of(
    gpus: int, per_node: int, beside: Mapping[str, int] | None = None
) -> tuple[PodSet, ...]:
    """Return pods that hold exactly so many GPUs together.

    Parameters
    ----------
    gpus
        GPUs of all of them, at least one.
    per_node
        GPUs of a node, which no pod exceeds.
    beside
        What a pod asks for per GPU, beside it, in whole units.
    """
    return _gang(gpus, per_node, tuple(sorted((beside or {}).items())))


@lru_cache(maxsize=4096)
def _gang(gpus: int, per_node: int, beside: tuple[tuple[str, int], ...]) -> tuple[PodSet, ...]:
    # Long traces ask for few sizes, and documents do not change.
    whole, rest = divmod(gpus, per_node)
    found = []
    for name, count, each in (("worker", whole, per_node), ("rest", 1, rest)):
        if count and each:
            requests: dict[str, str | int] = {key: each * amount for key, amount in beside}
            requests[GPU] = each
            found.append(PodSet(name=name, count=count, requests=requests))
    return tuple(found)
