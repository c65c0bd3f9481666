"""Pods by priority that are replicas of services: kept apart, spread over zones, or together."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import (
    Job,
    PodAffinityTerm,
    PodAntiAffinityTerm,
    TopologySpreadConstraint,
)
from scripts.bench.case import Case, Documents

NODES, RACKS, ZONES, NEAR = "apart", "apart-racks", "spread-zones", "near-racks"
SUITES = (NODES, RACKS, ZONES, NEAR)
_SERVICES, _RACK_NODES, _ZONES, _SKEW = 24, 2, 4, 1
_SERVICE, _HOSTNAME = "bench.example/service", "kubernetes.io/hostname"
_RACK, _ZONE = "bench.example/rack", "topology.kubernetes.io/zone"
_KEYS = {NODES: _HOSTNAME, RACKS: _RACK, ZONES: _ZONE, NEAR: _RACK}


def apart(case: Case, suite: str) -> Case:
    """Return an instance of pods by priority with services: where they run most is well."""
    return replace(case, suite=suite, make=lambda: _with_services(case.make(), case.seed, suite))


def _with_services(documents: Documents, seed: int, suite: str) -> Documents:
    rng, key = random.Random(seed), _KEYS[suite]
    nodes = tuple(
        node.model_copy(
            update={
                "labels": {
                    **node.labels,
                    _HOSTNAME: node.name,
                    _RACK: f"r{i // _RACK_NODES}",
                    _ZONE: f"z{i % _ZONES}",
                }
            }
        )
        for i, node in enumerate(documents.snapshot.nodes)
    )
    domain = {node.name: node.labels[key] for node in nodes}
    domains = sorted(set(domain.values()))
    there = {f"s{k}": Counter[str]() for k in range(_SERVICES)}
    """Pods of each service that run, by domain."""

    def over(service: str, places: Sequence[str]) -> int:
        """By how many pods a service would exceed what it asks for, or be above the emptiest."""
        if suite == NEAR:
            return 0
        if suite != ZONES:
            return sum(there[service][place] for place in places)
        after = there[service] + Counter(places)
        counts = [after[each] for each in domains]
        return max(0, max(counts) - min(counts) - _SKEW)

    def of_a_service(job: Job) -> Job:
        places = [domain[place.node] for podset in job.pod_sets for place in podset.assignments]
        excess = {service: over(service, places) for service in there}
        least = min(excess.values())
        service = rng.choice([service for service in there if excess[service] == least])
        there[service] += Counter(places)
        asked = _asked(suite, key, LabelSelector(match_labels={_SERVICE: service}))
        podsets = tuple(
            podset.model_copy(
                update={"labels": {**podset.labels, _SERVICE: service}}
                | {name: (*getattr(podset, name), term) for name, term in asked.items()}
            )
            for podset in job.pod_sets
        )
        return job.model_copy(update={"pod_sets": podsets})

    running = tuple(map(of_a_service, documents.snapshot.jobs))
    snapshot = documents.snapshot.model_copy(update={"jobs": running, "nodes": nodes})
    return Documents(snapshot, tuple(map(of_a_service, documents.pending)), documents.facts)


def _asked(suite: str, key: str, alike: LabelSelector) -> dict[str, Any]:
    """What pods of a service ask for, by field of their pod set."""
    if suite == ZONES:
        constraint = TopologySpreadConstraint(
            topology_key=key, max_skew=_SKEW, label_selector=alike
        )
        return {"topology_spread_constraints": constraint}
    if suite == NEAR:
        return {"pod_affinity": PodAffinityTerm(topology_key=key, label_selector=alike)}
    return {"pod_anti_affinity": PodAntiAffinityTerm(topology_key=key, label_selector=alike)}
