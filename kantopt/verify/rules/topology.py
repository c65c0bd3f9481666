"""R5 topology."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kantopt.problem.instance import Instance
from kantopt.problem.job import TopologyNeed
from kantopt.problem.placement import Spots
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation


def domains_used(
    instance: Instance, need: TopologyNeed, level: int, spots: Sequence[Spots]
) -> dict[int | None, int]:
    """Pods of a topology need by domain of a level; ``None`` is a node outside all domains.

    ``spots`` says of each pod set where its pods are.
    """
    used: dict[int | None, int] = {}
    domain_of = instance.topology.domain_of[level]
    for s in instance.podsets_of(need):
        for spot, pods in spots[s].items():
            domain = domain_of[spot.node]
            used[domain] = used.get(domain, 0) + pods
    return used


def need_subject(instance: Instance, need: TopologyNeed) -> str:
    """Name the job, and the pod set if the need is one pod set's."""
    job = instance.jobs[need.job]
    if len(need.roles) == 1:
        return f"job {job.name} pod set {job.roles[need.roles[0]].name}"
    return f"job {job.name}"


def arrives_outside(step: Step, need: TopologyNeed, level: int, rule: Rule) -> Iterator[Violation]:
    """Find nodes without a domain at a level on which pods of the need arrive."""
    instance = step.instance
    subject, name = need_subject(instance, need), instance.topology.levels[level]
    domain_of = instance.topology.domain_of[level]
    for s in instance.podsets_of(need):
        for spot in sorted(step.arrivals[s]):
            if domain_of[spot.node] is None:
                node = instance.nodes[spot.node].name
                yield Violation(rule, subject, f"node {node} is in no {name}")


def changed_needs(
    step: Step, level_of: Callable[[TopologyNeed], int | None]
) -> Iterator[tuple[TopologyNeed, int]]:
    """Topology needs of jobs that a step changes, with the level that a rule asks of them."""
    changed = {job.index for job in step.changed_jobs}
    for need in step.instance.topology_needs:
        level = level_of(need)
        if level is not None and need.job in changed:
            yield need, level


def check_topology(step: Step) -> Iterator[Violation]:
    """The pods share one domain of the required level; running members fix it unless all move."""
    instance = step.instance
    for need, depth in changed_needs(step, lambda need: need.required):
        yield from arrives_outside(step, need, depth, Rule.TOPOLOGY)
        limit = max(1, len(domains_used(instance, need, depth, step.before.podsets)))
        used = len(domains_used(instance, need, depth, step.after.podsets))
        if used > limit:
            message = f"{used} of {limit} {instance.topology.levels[depth]} domains"
            yield Violation(Rule.TOPOLOGY, need_subject(instance, need), message)
