"""R3 eligibility."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.eligibility import is_ahead
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_eligibility(step: Step) -> Iterator[Violation]:
    """Pods arrive only on nodes that selectors and tolerations admit, cordons tolerated as taints.

    A pod that runs on a node is no fault for the node having been cordoned since: cordoning keeps
    pods from coming and lets those that are there run on. So do a zone set apart for others, a
    taint for a time to come, and the wish to have the node emptied.
    """
    instance = step.instance
    for n, arrived in step.arrived_on.items():
        for s, _, pods in arrived:
            podset = instance.podsets[s]
            if n not in podset.allowed:
                node = instance.nodes[n]
                admitted = n in podset.spread_over
                if step.standing and n in podset.emptied:
                    continue
                if step.standing and node.unschedulable and node.ready and admitted:
                    continue
                if step.standing and n in podset.closed and is_ahead(podset.closed[n]) and admitted:
                    continue
                open_ = node.ready and admitted and n not in podset.closed
                if step.standing and open_ and instance.is_barred(s, n):
                    continue
                why = instance.refusal(s, n, standing=step.standing)
                yield Violation(
                    Rule.ELIGIBILITY,
                    instance.subject(s),
                    f"{pods} of 0 pods allowed on node {node.name} ({why})",
                )
