"""Dump pairs of StatefulSets, whose pods bear the names of those that are gone."""

from __future__ import annotations

from tests.planning.dump_histories import A, B
from tests.planning.dump_pairs import DumpPair, event, going, made, p


def at(clock: str) -> str:
    """A moment of the day of the dumps."""
    return f"2026-09-01T{clock}:00Z"


def born(name: str, node: str, clock: str, uid: str = "") -> dict[str, object]:
    """A pod of a StatefulSet that was made at some time."""
    metadata = {"creationTimestamp": at(clock), **({"uid": uid} if uid else {})}
    return p(name, node, owner="StatefulSet/db", metadata=metadata)


def revised(revision: str, partition: int = 0, way: str = "RollingUpdate") -> dict[str, object]:
    """A StatefulSet that makes its pods anew of a revision, those below a partition not."""
    strategy = {"type": way, "rollingUpdate": {"partition": partition}}
    status = {"updateRevision": f"db-{revision}"}
    return made("StatefulSet", "db", replicas=3, updateStrategy=strategy, status=status)


def of_revision(name: str, node: str, revision: str, uid: str = "") -> dict[str, object]:
    """A pod of that StatefulSet."""
    labels = {"controller-revision-hash": f"db-{revision}"}
    metadata = {"labels": labels, **({"uid": uid} if uid else {})}
    return p(name, node, owner="StatefulSet/db", metadata=metadata)


STATEFULSETS = [
    DumpPair(
        "gone, its StatefulSet goes on with a revision that it had before the first dump",
        [A, B, revised("new"), *(of_revision(f"db-{i}", "a", "old") for i in range(3))],
        [
            A,
            B,
            revised("new"),
            of_revision("db-0", "a", "old"),
            going(of_revision("db-1", "a", "old")),
            of_revision("db-2", "b", "new", uid="another"),
        ],
        became={"db-1": "rolled out", "db-2": "rolled out"},
    ),
    DumpPair(
        "made anew of the revision that it had: its StatefulSet did not roll it out",
        [A, B, revised("new", partition=1), of_revision("db-0", "a", "old")],
        [
            A,
            B,
            revised("new", partition=1),
            of_revision("db-0", "b", "old", uid="another"),
        ],
        became={"db-0": "disrupted"},
    ),
    DumpPair(
        "terminating, and its StatefulSet makes nobody anew by itself",
        [A, revised("new", way="OnDelete"), of_revision("db-0", "a", "old")],
        [A, revised("new", way="OnDelete"), going(of_revision("db-0", "a", "old"))],
        became={"db-0": "unknown"},
    ),
    DumpPair(
        "gone, an event that bears no uid says taint",
        [A, B, made("StatefulSet", "db", replicas=1), born("db-0", "a", "03:00")],
        [
            A,
            B,
            made("StatefulSet", "db", replicas=1),
            born("db-0", "b", "03:10", uid="another"),
            event("TaintManagerEviction", born("db-0", "a", ""), at("02:00"), at("03:09")),
        ],
        became={"db-0": "tainted"},
    ),
    DumpPair(
        "events that bear no uid are of pods that had the name before and since",
        [A, B, made("StatefulSet", "db", replicas=1), born("db-0", "a", "03:00")],
        [
            A,
            B,
            made("StatefulSet", "db", replicas=1),
            born("db-0", "b", "03:10", uid="another"),
            event("TaintManagerEviction", born("db-0", "a", ""), at("02:59"), at("03:11")),
        ],
        became={"db-0": "disrupted"},
    ),
]
