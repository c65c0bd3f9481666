"""How much memory a pod takes with it."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet


def memory_of(instance: Instance, podset: PodSet) -> int:
    """Bytes that one pod requests, of its node and of its devices together."""
    demand = zip(instance.resources, podset.demand, strict=True)
    return sum(amount for name, amount in demand if name == "memory")
