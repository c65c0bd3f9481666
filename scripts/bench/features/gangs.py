"""Gangs of one pod, levels with one domain, slices of one: closeness that is always there."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kantopt.schema.jobs import Job, PodSet, TopologyRequest
from kantopt.schema.snapshot import Topology, TopologyLevel
from scripts.bench.features.stated import (
    LABEL,
    Stated,
    each_job,
    each_node,
    each_pod_set,
    metrics_of,
    only_if,
    single,
    waiting,
    with_snapshot,
)

SITE = "bench-site"
"""A level with one domain, above all others."""


def min_count_single(stated: Stated) -> Stated:
    """``minCount: 1`` of jobs of one pod."""
    return each_pod_set(stated, lambda job, _: {"min_count": 1} if single(job) else {})


def min_count_one(stated: Stated) -> Stated:
    """``minCount: 1`` of every job of which any number of pods may run."""
    # Those metrics count what gangs use, and such jobs become gangs.
    only_if(not metrics_of(stated.asked) & {"excess_nodes", "excess_groups"})
    return each_pod_set(stated, lambda _, podset: {"min_count": podset.min_count or 1})


def min_count_job(stated: Stated) -> Stated:
    """``minCount: 1`` of jobs of one pod, as the job's own."""
    return each_job(stated, lambda job: {"min_count": 1} if single(job) else {})


def disruption_mode_all(stated: Stated) -> Stated:
    """``disruptionMode: all`` of jobs of one pod."""
    return each_job(stated, lambda job: {"disruption_mode": "all"} if single(job) else {})


def topology_level(stated: Stated) -> Stated:
    """A level that nobody asks for: four domains where there are no levels, else one above all."""
    levels = stated.snapshot.topology.levels
    number = {node.name: n for n, node in enumerate(stated.snapshot.nodes)}
    return _levelled(
        stated, {name: f"d{n % 4}" if not levels else "d0" for name, n in number.items()}
    )


def topology_required(stated: Stated) -> Stated:
    """Every job without such a wish requires one domain of a level that has only one."""
    return _all_ask(_site(stated), TopologyRequest(required=SITE))


def topology_preferred(stated: Stated) -> Stated:
    """Every job without such a wish prefers one domain of a level that has only one."""
    return _all_ask(_site(stated), TopologyRequest(preferred=SITE))


def topology_of_job(stated: Stated) -> Stated:
    """The same as a requirement of the whole job, not of its roles."""
    request = TopologyRequest(required=SITE)
    return each_job(_site(stated), lambda job: {} if _close(job) else {"topology_request": request})


def slices(stated: Stated) -> Stated:
    """Slices of one pod, of every job without a wish to be close."""
    return _all_ask(
        _site(stated),
        TopologyRequest(pod_set_slice_required_topology=SITE, pod_set_slice_size=1),
    )


def gang_of_two(stated: Stated) -> Stated:
    """A gang of two waits that asks for nothing, and for one domain of a level."""
    request = TopologyRequest(required=SITE)
    made = waiting(stated, "bench-gang-of-two", 2, min_count=2, topology_request=request)
    return _site(made)


def _site(stated: Stated) -> Stated:
    return _levelled(stated, {node.name: "all" for node in stated.snapshot.nodes})


def _levelled(stated: Stated, domain: dict[str, str]) -> Stated:
    """Put a level above the others; domains of those stay whole, for they are in one of it."""
    made = each_node(stated, lambda node: {"labels": {**node.labels, LABEL: domain[node.name]}})
    level = TopologyLevel(name=SITE, node_label=LABEL)
    known = made.snapshot.topology.levels
    if level in known:
        return stated
    return with_snapshot(made, topology=Topology(levels=(level, *known)))


def _close(job: Job) -> bool:
    asked = [job.topology_request, *(podset.topology_request for podset in job.pod_sets)]
    return any(request is not None for request in asked)


def _all_ask(stated: Stated, request: TopologyRequest) -> Stated:
    def asks(job: Job, _: PodSet) -> dict[str, Any]:
        return {} if _close(job) else {"topology_request": request}

    return each_pod_set(replace(stated), asks)
