"""Weighted fair shares: what each queue is entitled to of the GPUs, before anybody is placed.

The GPUs are the resource that is shared, so the dominant share of a queue (Ghodsi et al., "Dominant
Resource Fairness", 2011) is taken to be that of the GPUs.
"""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.cluster import Node
from kantopt.problem.job import PodSet
from kantopt.schema.quantity import parse_quantity
from kantopt.schema.snapshot import Queue as QueueDocument


def entitlements(
    documents: Sequence[QueueDocument],
    owners: Sequence[int | None],
    nodes: Sequence[Node],
    podsets: Sequence[PodSet],
) -> tuple[int, ...]:
    """Return milli-GPU that each queue is entitled to, given the queue of each job.

    ``min(demand, floor(weight / weights x GPUs))``: demand is what the pods of its jobs ask for,
    running or not, ``weights`` the sum over queues with any demand, the GPUs those of nodes that
    can be used.
    """
    demand = [0] * len(documents)
    for podset in podsets:
        queue = owners[podset.job]
        if queue is not None:
            demand[queue] += podset.count * podset.gpu_milli
    weights = [int(1000 * parse_quantity(document.weight)) for document in documents]
    total = sum(weight for weight, wanted in zip(weights, demand, strict=True) if wanted)
    gpus = sum(node.gpu_milli for node in nodes if node.usable)
    return tuple(
        min(wanted, weight * gpus // total) if wanted and total else 0
        for weight, wanted in zip(weights, demand, strict=True)
    )
