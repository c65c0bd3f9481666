"""R5 topology."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.placement import Placement
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def domains_used(
    instance: Instance, need: TopologyNeed, level: int, placement: Placement
) -> dict[int | None, int]:
    """Pods of a topology need by domain of a level; ``None`` is a node outside all domains."""
    used: dict[int | None, int] = {}
    job = instance.jobs[need.job]
    domain_of = instance.topology.domain_of[level]
    for role in need.roles:
        for s in job.roles[role].podsets:
            for spot, pods in placement.podsets[s].items():
                domain = domain_of[spot.node]
                used[domain] = used.get(domain, 0) + pods
    return used


def need_subject(instance: Instance, need: TopologyNeed) -> str:
    """Name the job, and the pod set if the need is one pod set's."""
    job = instance.jobs[need.job]
    if len(need.roles) == 1:
        return f"job {job.name} pod set {job.roles[need.roles[0]].name}"
    return f"job {job.name}"


def arrives_outside(step: Step, need: TopologyNeed, level: int) -> Iterator[str]:
    """Nodes without a domain at a level on which pods of the need arrive."""
    domain_of = step.instance.topology.domain_of[level]
    for role in need.roles:
        for s in step.instance.jobs[need.job].roles[role].podsets:
            for spot in sorted(step.arrivals[s]):
                if domain_of[spot.node] is None:
                    yield step.instance.nodes[spot.node].name


def check_topology(step: Step) -> Iterator[Violation]:
    """The pods share one domain of the required level; running members fix it unless all move."""
    instance = step.instance
    changed = {job.index for job in step.changed_jobs}
    for need in instance.topology_needs:
        if need.required is None or need.job not in changed:
            continue
        subject = need_subject(instance, need)
        level = instance.topology.levels[need.required]
        for node in arrives_outside(step, need, need.required):
            yield Violation(Rule.TOPOLOGY, subject, f"node {node} is in no {level}")
        before = domains_used(instance, need, need.required, step.before)
        after = domains_used(instance, need, need.required, step.after)
        limit = max(1, len(before))
        if len(after) > limit:
            yield Violation(Rule.TOPOLOGY, subject, f"{len(after)} of {limit} {level} domains")
