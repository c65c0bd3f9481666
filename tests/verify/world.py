"""Small questions in a few words, for tests that tell a story."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import JobList
from kantopt.schema.model import Model, Rule
from kantopt.schema.raw import RawDocument
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.validation import validate
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check, check_standing

GPU = "nvidia.com/gpu"
HOST = "kubernetes.io/hostname"
Document = dict[str, Any]
Where = str | tuple[str, int] | tuple[str, int, int]
"""A node, and the devices on it if there are any."""


def node(name: str, cpu: int = 4, gpu: int = 0, rack: str = "", **more: Any) -> Document:
    """A node; ``rack`` is a path such as ``b1/r1``."""
    labels = dict(zip(("block", "rack"), rack.split("/"), strict=False)) if rack else {}
    labels |= more.pop("labels", {})
    offered = {"cpu": cpu, **({GPU: gpu} if gpu else {}), **more.pop("offers", {})}
    return {"name": name, "labels": labels, "allocatable": offered, **more}


def pods(name: str = "main", count: int = 1, cpu: int = 1, gpu: int = 0, **more: Any) -> Document:
    """A pod set; ``on`` says where its pods run."""
    requests = {"cpu": cpu, **({GPU: gpu} if gpu else {})}
    where = Counter(spot if isinstance(spot, tuple) else (spot,) for spot in more.pop("on", ()))
    assignments = [
        {"node": str(spot[0]), "count": k, "devices": list(spot[1:])}
        for spot, k in sorted(where.items())
    ]
    return {
        "name": name,
        "count": count,
        "requests": requests,
        "labels": {"app": name},
        "assignments": assignments,
        **more,
    }


def job(name: str, *podsets: Document, **more: Any) -> Document:
    """A job of some pod sets; without any, of one pod. The pods have the label ``job``."""
    podsets = podsets or (pods(),)
    for podset in podsets:
        podset["labels"] = {"job": name, **podset.get("labels", {})}
    return {"name": name, "podSets": list(podsets), **more}


def question(
    nodes: Sequence[Document],
    jobs: Sequence[Document],
    *,
    objectives: Sequence[Any] = ("unplaced",),
    rules: Document | None = None,
    limits: Document | None = None,
    required: Sequence[str] = (),
    zone: Document | None = None,
    last_plan: Sequence[Document] = (),
    drain: Sequence[str] = (),
    **snapshot: Any,
) -> Instance:
    """A question about some nodes and jobs; levels are block and rack."""
    head = {"apiVersion": API_VERSION}
    levels = [{"name": name, "nodeLabel": name} for name in ("block", "rack")]
    running = [item for item in jobs if any(p.get("assignments") for p in item["podSets"])]
    pending = [item for item in jobs if item not in running]
    parts: list[Document] = [
        {
            "kind": "ClusterSnapshot",
            "metadata": {"capturedAt": "2026-01-01T01:00:00Z"},
            "topology": {"levels": levels},
            "nodes": list(nodes),
            "jobs": running,
            **snapshot,
        },
        {"kind": "JobList", "jobs": pending},
        {
            "kind": "Model",
            "rules": rules or {},
            "objectives": list(objectives),
            "limits": limits or {},
            "required": list(required),
            "zone": zone,
            "lastPlan": list(last_plan),
            "drain": list(drain),
        },
    ]
    raw = [RawDocument("test", i, {**head, **part}) for i, part in enumerate(parts)]
    return build_instance(
        validate(raw[0], ClusterSnapshot),
        validate(raw[1], JobList).jobs,
        validate(raw[2], Model),
    )


def spot_of(instance: Instance, where: Where) -> Spot:
    """Spot on a node given by name."""
    if isinstance(where, str):
        return Spot(instance.node_index[where])
    return Spot(instance.node_index[where[0]], tuple(where[1:]))


def podset_of(instance: Instance, name: str) -> int:
    """Pod set by ``job`` or ``job/role``; a ``+`` at the end means the role's pending pods."""
    path, plus = name.removesuffix("+"), name.endswith("+")
    owner, _, role_name = path.partition("/")
    found = next(item for item in instance.jobs if item.name == f"default/{owner}")
    role = next(item for item in found.roles if role_name in ("", item.name))
    if plus:
        assert role.pending is not None
        return role.pending
    return role.podsets[0]


def placed(instance: Instance, **where: Iterable[Where]) -> Placement:
    """The current placement with some pod sets elsewhere; see :func:`put`."""
    return put(instance, where)


def put(instance: Instance, where: dict[str, Any]) -> Placement:
    """The current placement, except that the pods of some pod sets (by name) are elsewhere."""
    return instance.current.replace(
        {
            podset_of(instance, name): Counter(spot_of(instance, spot) for spot in spots)
            for name, spots in where.items()
        }
    )


def broken(instance: Instance, rule: Rule, **where: Iterable[Where]) -> list[str]:
    """What one rule says about going to a placement."""
    return [f"{v.subject}: {v.message}" for v in check(instance, placed(instance, **where), [rule])]


def standing(instance: Instance, rule: Rule) -> list[str]:
    """What one rule says about the cluster as it stands."""
    return [f"{v.subject}: {v.message}" for v in check_standing(instance) if v.rule == rule]


def values(instance: Instance, **where: Iterable[Where]) -> dict[str, int]:
    """Value of each tier at a placement, by the tier's name."""
    tiers = tiers_of(instance)
    found = measure(instance, placed(instance, **where), tiers)
    return {tier.name: value for tier, value in zip(tiers, found, strict=True)}
