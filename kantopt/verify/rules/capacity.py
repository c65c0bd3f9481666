"""R1 capacity."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation, beyond


def check_capacity(step: Step) -> Iterator[Violation]:
    """No node takes pods that ask for more of a resource than the node has left."""
    instance = step.instance
    for n, arrived in step.arrived_on.items():
        node, load = instance.nodes[n], step.loads.node[n]
        for r, resource in enumerate(instance.resources):
            limit = node.capacity[r]
            if limit is None or load[r] <= limit:
                continue
            if any(instance.podsets[s].requests[r] for s, _, _ in arrived):
                yield Violation(
                    Rule.CAPACITY, f"node {node.name}", beyond(load[r], limit, resource)
                )
