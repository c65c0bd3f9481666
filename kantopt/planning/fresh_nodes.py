"""Nodes that are not there yet: copies of one that is, with its daemons, under fresh names."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.schema.eligibility import PASSING
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.snapshot import Node

_HOST = "kubernetes.io/hostname"


def fresh_nodes(nodes: Sequence[Node], like: Node, count: int) -> list[Node]:
    """Return copies of a node, ready and not cordoned, with names that none of some nodes has."""
    known = {node.name for node in nodes}
    added: list[Node] = []
    number = 0
    while len(added) < count:
        number += 1
        name = f"{like.name}-new-{number}"
        if name in known:
            continue
        labels = {**like.labels, **({_HOST: name} if _HOST in like.labels else {})}
        fresh = {
            "name": name,
            "uid": "",
            "labels": labels,
            "unschedulable": False,
            "ready": True,
            "taints": tuple(taint for taint in like.taints if taint.key not in PASSING),
        }
        added.append(like.model_copy(update=fresh))
    return added


def with_daemons(jobs: Sequence[Job], like: Node, fresh: Sequence[Node]) -> list[Job]:
    """Return jobs with the daemons of a node on copies of it too, where they come by themselves."""

    def extended(podset: PodSet) -> PodSet:
        own = [place for place in podset.assignments if place.node == like.name]
        added = tuple(
            place.model_copy(update={"node": node.name, "pods": ()})
            for node in fresh
            for place in own
        )
        update = {
            "count": podset.count + sum(place.count for place in added),
            "assignments": (*podset.assignments, *added),
        }
        return podset.model_copy(update=update) if added else podset

    return [
        job.model_copy(update={"pod_sets": tuple(map(extended, job.pod_sets))})
        if job.daemon
        else job
        for job in jobs
    ]
