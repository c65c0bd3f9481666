"""Dump pairs of several owners under one rule, and of domains that became eligible since."""

from __future__ import annotations

from typing import Any

from tests.formats.cluster_objects import Object
from tests.planning.dump_company import near
from tests.planning.dump_faults import EVEN, ZONES
from tests.planning.dump_pairs import DumpPair, n, p

THIRD = n("c", labels={"zone": "3"})


def spread(name: str, on: str, skew: int = 1, owner: str = "", **options: Any) -> Object:
    """A pod of its own owner of which zones differ by some pods at most."""
    labels, rule = {"app": "even"}, {**EVEN[0], "maxSkew": skew}
    owner = owner or f"Job/{name}"
    return p(name, on, owner=owner, labels=labels, topologySpreadConstraints=[rule], **options)


def alone(name: str, on: str, to: str = "g") -> Object:
    """A pod of its own owner that must share its zone with one of some label."""
    owner = p(name, owner=f"Job/{name}")["metadata"]["ownerReferences"]
    of = near(name, on, "g", to)
    return {**of, "metadata": {**of["metadata"], "ownerReferences": owner}}


def _pooled(name: str, zone: str, pool: str, **metadata: str) -> Object:
    node = n(name, labels={"zone": zone, "pool": pool})
    return {**node, "metadata": {**node["metadata"], **metadata}}


_PICKED = [spread(f"w-{i}", "a", owner="Job/w", nodeSelector={"pool": "x"}) for i in range(2)]
_TAINTED = n("y", labels={"zone": "2"}, taints=[{"key": "d", "effect": "NoSchedule"}])
_HONOURING = [
    p(
        f"w-{i}",
        "a",
        owner="Job/w",
        labels={"app": "even"},
        topologySpreadConstraints=[{**EVEN[0], "nodeTaintsPolicy": "Honor"}],
    )
    for i in range(2)
]
_POOLS = [_pooled("a", "1", "x"), _pooled("y", "2", "y")]

RIVALS = [
    DumpPair(
        "pods of two owners under the same spread: one of them came last",
        ZONES,
        [*ZONES, spread("x", "a"), spread("y", "a")],
        "ILLEGAL",
        faults=("spread", "spread"),
    ),
    DumpPair(
        "a pod under a looser spread came last",
        ZONES,
        [*ZONES, spread("x", "a"), spread("y", "a", skew=2)],
    ),
    DumpPair(
        "two pods under a looser spread, one more than may have come last",
        ZONES,
        [*ZONES, spread("x", "a"), spread("y", "a", skew=2), spread("z", "a", skew=2)],
        "ILLEGAL",
        faults=("spread", "spread"),
    ),
    DumpPair(
        "two that ask for their like, each in a zone of its own: one was not the first",
        ZONES,
        [*ZONES, alone("x", "a"), alone("y", "b")],
        "ILLEGAL",
        faults=("affinity", "affinity"),
    ),
    DumpPair(
        "one that asks for its like, and one that asks for others of which it is none",
        [*ZONES, THIRD, p("m", "c", owner="Job/m", labels={"app": "m"})],
        [
            *(*ZONES, THIRD, p("m", "c", owner="Job/m", labels={"app": "m"})),
            *(alone("x", "a"), alone("y", "c", to="m")),
        ],
    ),
    DumpPair(
        "the first node of a zone that a pod may go to came since",
        _POOLS,
        [*_POOLS, _pooled("b", "2", "x"), *_PICKED],
    ),
    DumpPair(
        "a node of a zone in which a pod may go to others came since",
        [*_POOLS, _pooled("b", "2", "x")],
        [*_POOLS, _pooled("b", "2", "x"), _pooled("c", "2", "x"), *_PICKED],
        "ILLEGAL",
        faults=("spread",),
    ),
    DumpPair(
        "the first node of a zone without a taint came since",
        [ZONES[0], _TAINTED],
        [ZONES[0], _TAINTED, ZONES[1], *_HONOURING],
    ),
    DumpPair(
        "the only node of a zone was made anew, and pods may go there since",
        _POOLS,
        [_POOLS[0], _pooled("y", "2", "x", uid="new"), *_PICKED],
    ),
]
