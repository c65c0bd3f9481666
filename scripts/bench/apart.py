"""Pods by priority of which those of a service keep apart: a node, or a rack, holds one of each."""

from __future__ import annotations

import random
from dataclasses import replace

from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import Job, PodAntiAffinityTerm
from scripts.bench.case import Case, Documents

NODES, RACKS = "apart", "apart-racks"
_SERVICES, _RACK_NODES = 24, 2
_SERVICE, _RACK, _HOSTNAME = "bench.example/service", "bench.example/rack", "kubernetes.io/hostname"


def apart(case: Case, suite: str) -> Case:
    """Return an instance of pods by priority with services: where they run they differ already."""
    key = _HOSTNAME if suite == NODES else _RACK
    return replace(case, suite=suite, make=lambda: _with_services(case.make(), case.seed, key))


def _with_services(documents: Documents, seed: int, key: str) -> Documents:
    rng = random.Random(seed)
    nodes = tuple(
        node.model_copy(
            update={"labels": {**node.labels, _HOSTNAME: node.name, _RACK: f"r{i // _RACK_NODES}"}}
        )
        for i, node in enumerate(documents.snapshot.nodes)
    )
    domain = {node.name: node.labels[key] for node in nodes}
    taken: dict[str, set[str]] = {}

    def of_a_service(job: Job) -> Job:
        places = [place.node for podset in job.pod_sets for place in podset.assignments]
        used = set().union(*(taken.get(domain[node], ()) for node in places))
        service = rng.choice([name for k in range(_SERVICES) if (name := f"s{k}") not in used])
        for node in places:
            taken.setdefault(domain[node], set()).add(service)
        alike = LabelSelector(match_labels={_SERVICE: service})
        term = PodAntiAffinityTerm(topology_key=key, label_selector=alike)
        podsets = tuple(
            podset.model_copy(
                update={
                    "labels": {**podset.labels, _SERVICE: service},
                    "pod_anti_affinity": (*podset.pod_anti_affinity, term),
                }
            )
            for podset in job.pod_sets
        )
        return job.model_copy(update={"pod_sets": podsets})

    running = tuple(map(of_a_service, documents.snapshot.jobs))
    snapshot = documents.snapshot.model_copy(update={"jobs": running, "nodes": nodes})
    return Documents(snapshot, tuple(map(of_a_service, documents.pending)), documents.facts)
