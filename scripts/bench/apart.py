"""Pods by priority of which those of one service keep apart: a node holds one of each."""

from __future__ import annotations

import random
from dataclasses import replace

from kantopt.schema.base import LabelSelector
from kantopt.schema.jobs import Job, PodAntiAffinityTerm
from scripts.bench.case import Case, Documents

SUITE = "apart"
_SERVICES = 24
_SERVICE, _HOSTNAME = "bench.example/service", "kubernetes.io/hostname"


def apart(case: Case) -> Case:
    """Return an instance of pods by priority with services: on each node they differ already."""
    return replace(case, suite=SUITE, make=lambda: _with_services(case.make(), case.seed))


def _with_services(documents: Documents, seed: int) -> Documents:
    rng = random.Random(seed)
    taken: dict[str, set[str]] = {}

    def of_a_service(job: Job) -> Job:
        nodes = [place.node for podset in job.pod_sets for place in podset.assignments]
        used = set().union(*(taken.get(node, ()) for node in nodes))
        service = rng.choice([name for k in range(_SERVICES) if (name := f"s{k}") not in used])
        for node in nodes:
            taken.setdefault(node, set()).add(service)
        alike = LabelSelector(match_labels={_SERVICE: service})
        term = PodAntiAffinityTerm(topology_key=_HOSTNAME, label_selector=alike)
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
    nodes = tuple(
        node.model_copy(update={"labels": {**node.labels, _HOSTNAME: node.name}})
        for node in documents.snapshot.nodes
    )
    snapshot = documents.snapshot.model_copy(update={"jobs": running, "nodes": nodes})
    return Documents(snapshot, tuple(map(of_a_service, documents.pending)), documents.facts)
