"""Iterative pre-copy (Clark et al., "Live migration of virtual machines", NSDI 2005).

A pod that moves live runs on while its memory is copied, and what it has written meanwhile is
copied again, round after round, the last one while it is stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.cluster import Amounts
from kantopt.problem.instance import Instance
from kantopt.problem.job import PodSet
from kantopt.schema.windows import bytes_per_second

ROUNDS = 10
"""Rounds after the first, at most."""
MIB = 2**20


def memory_of(instance: Instance, podset: PodSet) -> int:
    """Bytes that one pod requests, of its node and of its devices together."""
    return memory_in(instance.resources, podset.demand)


def memory_in(resources: Sequence[str], demand: Amounts) -> int:
    """Bytes in amounts of some resources."""
    named = zip(resources, demand, strict=True)
    return sum(amount for name, amount in named if name == "memory")


def copied_bytes(instance: Instance, podset: PodSet) -> int:
    """Bytes that a live move of one pod copies, at the bandwidth of the model's schedule."""
    return pre_copied(
        memory_of(instance, podset), podset.dirty_rate, bytes_per_second(instance.model.schedule)
    )


def moved_bytes(instance: Instance, s: int, pods: int) -> int:
    """Bytes that some pods of a pod set copy when they move: none if they restart."""
    live = instance.job_of(s).move_mode == "live"
    return pods * copied_bytes(instance, instance.podsets[s]) if live else 0


def pre_copied(memory: int, dirty_rate: int, bandwidth: int | None) -> int:
    """Bytes that rounds of pre-copy send: ``memory (1 + d/B + (d/B)^2 + ...)``, rounded down.

    Each round copies what was written during the one before, at most all of the memory. The last
    one is the tenth after the first, or that which would be no smaller than the one before it: what
    is written as fast as it is sent is left for when the pod is stopped.

    Parameters
    ----------
    memory
        Bytes of the pod.
    dirty_rate
        Bytes that it writes in a second.
    bandwidth
        Bytes that can be sent in a second; where that is not known, nothing is copied twice.
    """
    total = last = memory
    for _ in range(ROUNDS if bandwidth else 0):
        assert bandwidth is not None, "there are rounds only with one"
        again = min(memory, last * dirty_rate // bandwidth)
        total += again
        if not 0 < again < last:
            break
        last = again
    return total


def migration_mib(memory: int, dirty_rate: int, bandwidth: int | None, *, live: bool) -> int:
    """MiB that a move of one pod copies, rounded up; a restart copies its memory once."""
    copied = pre_copied(memory, dirty_rate, bandwidth) if live else memory
    return -(-copied // MIB)
