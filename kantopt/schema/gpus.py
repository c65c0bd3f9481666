"""GPUs that a pod of a document asks for, by requests and by devices."""

from __future__ import annotations

from kantopt.schema.jobs import PodSet
from kantopt.schema.quantity import gpu_milli, to_base


def gpu_milli_asked(podset: PodSet) -> int:
    """Milli-GPU that one pod of a document asks for in all."""
    parts = [(1, podset.requests), *((need.count, need.requests) for need in podset.devices)]
    return sum(
        count * gpu_milli(name, to_base(name, value, up=True))
        for count, requests in parts
        for name, value in requests.items()
    )
