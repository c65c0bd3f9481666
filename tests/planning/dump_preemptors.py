"""Dump pairs about for whom a pod was preempted, and since when that was decided."""

from __future__ import annotations

from tests.formats.cluster_objects import Object
from tests.planning.dump_histories import MORE, PREEMPTED, WEB, A, B, on
from tests.planning.dump_pairs import DumpPair, ended, event, p, waits

OTHER = p("other", "b", "4", owner="Job/other", priority=100)


def marked(of: Object, when: str = "") -> Object:
    """A pod that is to be preempted and not deleted yet."""
    condition = {"type": "DisruptionTarget", "status": "True", "reason": PREEMPTED}
    condition |= {"lastTransitionTime": when} if when else {}
    return {**of, "status": {**of["status"], "conditions": [condition]}}


def made_at(of: Object, when: str) -> Object:
    """A pod that was made at a moment."""
    return {**of, "metadata": {**of["metadata"], "creationTimestamp": f"2026-09-01T{when}:00Z"}}


_LATE = made_at(p("late", "a", "4", owner="Job/late", priority=100), "03:00")
_FOR_MORE = event("Preempted", WEB, message="Preempted by pod uid-more on node a")
_BETTER = {"verdict": "BETTER", "tier": "unplaced[priority=0, CPU-only pods]"}

PREEMPTORS = [
    DumpPair(
        "marked and not deleted yet, it makes room for who is nominated there",
        [A, B, WEB, waits(MORE), OTHER],
        [A, B, marked(WEB), waits(MORE, for_room_on="a"), OTHER],
        became={"web-1": "preempted"},
    ),
    DumpPair(
        "marked in the first dump: nobody could spare it since",
        [A, B, marked(WEB), waits(MORE, for_room_on="a"), OTHER],
        [A, B, on(MORE, "a"), ended(OTHER)],
        became={"web-1": "preempted", "other": "finished"},
    ),
    DumpPair(
        "preempted by an event of the first dump: nobody could spare it since",
        [A, B, WEB, waits(MORE, for_room_on="a"), OTHER, _FOR_MORE],
        [A, B, on(MORE, "a"), ended(OTHER), _FOR_MORE],
        became={"web-1": "preempted", "other": "finished"},
    ),
    DumpPair(
        "whom the event names has ended, and another took its place",
        [A, B, WEB, OTHER],
        [A, B, ended(on(MORE, "a")), ended(OTHER), _LATE, _FOR_MORE],
        became={"web-1": "preempted", "other": "finished"},
    ),
    DumpPair(
        "whom the event names came to the node and is there",
        [A, B, WEB, OTHER],
        [A, B, on(MORE, "a"), ended(OTHER), event("Preempted", WEB, message=_FOR_MORE["message"])],
        became={"web-1": "preempted", "other": "finished"},
        **_BETTER,
    ),
    DumpPair(
        "who came to the node was made after the pod had to go",
        [A, B, WEB, OTHER],
        [A, B, marked(ended(WEB, "Failed"), "2026-09-01T02:00:00Z"), ended(OTHER), _LATE],
        became={"web-1": "preempted", "other": "finished"},
    ),
    DumpPair(
        "who came to the node was made before the pod had to go",
        [A, B, WEB, OTHER],
        [A, B, marked(ended(WEB, "Failed"), "2026-09-01T03:00:00Z"), ended(OTHER), _LATE],
        became={"web-1": "preempted", "other": "finished"},
        **_BETTER,
    ),
]
