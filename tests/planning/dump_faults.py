"""Dump pairs in which something is wrong."""

from __future__ import annotations

from tests.planning.dump_pairs import DumpPair, n, p

A, B = n("a"), n("b")

FAULTS = [
    DumpPair(
        "a pod on a node that its selector excludes",
        [n("a", labels={"pool": "x"}), B, p("w", owner="ReplicaSet/w", nodeSelector={"pool": "x"})],
        [
            n("a", labels={"pool": "x"}),
            B,
            p("w", "b", owner="ReplicaSet/w", nodeSelector={"pool": "x"}),
        ],
        verdict="ILLEGAL",
        faults=("eligibility",),
    ),
    DumpPair(
        "an overcommitted node",
        [A, p("w", "a", "3"), p("v", cpu="3", owner="ReplicaSet/v")],
        [A, p("w", "a", "3"), p("v", "a", "3", owner="ReplicaSet/v")],
        verdict="ILLEGAL",
        faults=("capacity",),
    ),
]
