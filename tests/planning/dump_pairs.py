"""Pairs of dumps to certify: what happened in between, and what should be said of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.formats.cluster_objects import Object, node, pod

CORES_ONLY = {"nvidia.com/gpu": "0"}


def n(name: str, cpu: str = "4", labels: Object | None = None, **spec: Any) -> Object:
    """A node of 4 cores without GPUs."""
    found = node(name, labels, cpu=cpu, **CORES_ONLY)
    found["metadata"]["uid"] = f"node-{name}"
    return {**found, "spec": spec}


def p(name: str, on: str = "", cpu: str = "1", **options: Any) -> Object:
    """A pod of one core, of a ReplicaSet ``app``."""
    return pod(name, on=on, requests={"cpu": cpu}, **options)


def made(
    kind: str,
    name: str,
    *,
    by: str = "",
    true: Sequence[str] = (),
    generation: int = 1,
    status: Object | None = None,
    **spec: Any,
) -> Object:
    """An owner of pods; its uid is ``KIND/NAME``, and that of its own owner as well."""
    owner_kind, _, owner_name = by.partition("/")
    owner = {"kind": owner_kind, "name": owner_name, "uid": by, "controller": True}
    return {
        "apiVersion": {"Job": "batch/v1"}.get(kind, "apps/v1"),
        "kind": kind,
        "metadata": {
            "name": name,
            "namespace": "default",
            "uid": f"{kind}/{name}",
            "generation": generation,
            "ownerReferences": [owner] if by else [],
        },
        "spec": spec,
        "status": {"conditions": [{"type": t, "status": "True"} for t in true], **(status or {})},
    }


def replicas(count: int, name: str = "app", **options: Any) -> Object:
    """A ReplicaSet."""
    return made("ReplicaSet", name, replicas=count, **options)


def ended(of: Object, phase: str = "Succeeded", why: str = "", reason: str = "") -> Object:
    """A pod that has ended; ``why``: the reason of its DisruptionTarget, ``reason``: its own."""
    return {**of, "status": {"phase": phase, "reason": reason, "conditions": _target(why)}}


def going(of: Object, why: str = "") -> Object:
    """A pod that is terminating."""
    metadata = {**of["metadata"], "deletionTimestamp": "2026-09-01T03:00:00Z"}
    return {**of, "metadata": metadata, "status": {**of["status"], "conditions": _target(why)}}


def _target(why: str) -> list[Object]:
    return [{"type": "DisruptionTarget", "status": "True", "reason": why}] if why else []


def waits(of: Object, for_room_on: str = "") -> Object:
    """A pod without its node; ``for_room_on``: nominated there."""
    status = {"phase": "Pending", **({"nominatedNodeName": for_room_on} if for_room_on else {})}
    return {**of, "spec": {**of["spec"], "nodeName": ""}, "status": status}


def event(reason: str, of: Object, *moments: str, message: str = "said") -> Object:
    """An event about a pod; with moments one without a uid, seen from the first to the last."""
    about = {"kind": "Pod", **{key: of["metadata"][key] for key in ("namespace", "name", "uid")}}
    times = {}
    if moments:
        del about["uid"]
        times = {"firstTimestamp": moments[0], "lastTimestamp": moments[-1]}
    metadata = {"name": f"{of['metadata']['name']}.1", "namespace": "default", "uid": "event"}
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": metadata,
        "involvedObject": about,
        "reason": reason,
        "message": message,
        **times,
    }


def budget(allowed: int, **labels: str) -> Object:
    """A disruption budget over pods with some labels."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "kept", "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
        "status": {"disruptionsAllowed": allowed},
    }


@dataclass(frozen=True)
class DumpPair:
    """Two dumps and what should be said of them."""

    name: str
    first: Sequence[Object]
    later: Sequence[Object]
    verdict: str = "OPTIMAL"
    became: Mapping[str, str] = field(default_factory=dict)
    """What the pods of the first dump became that did not run on."""
    faults: tuple[str, ...] = ()
    """Rules broken."""
    tier: str = ""
    """Where a better plan first differs."""
    apart: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    freed: tuple[str, ...] = ()
