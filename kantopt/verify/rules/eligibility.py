"""R3 eligibility."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def check_eligibility(step: Step) -> Iterator[Violation]:
    """Pods arrive only on ready, uncordoned nodes that their selectors and tolerations admit."""
    instance = step.instance
    for n, arrived in step.arrived_on.items():
        for s, _, pods in arrived:
            podset = instance.podsets[s]
            if n not in podset.allowed:
                node = instance.nodes[n]
                why = (
                    "cordoned"
                    if node.unschedulable
                    else "not ready"
                    if not node.ready
                    else "taint"
                    if n in podset.spread_over
                    else "node selector or affinity"
                )
                job = instance.jobs[podset.job].name
                yield Violation(
                    Rule.ELIGIBILITY,
                    f"job {job} pod set {podset.name}",
                    f"{pods} of 0 pods allowed on node {node.name} ({why})",
                )
