"""The pods of the openb traces as they came and went, each a job of its own."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.errors import BadDataError, Problem
from kantopt.formats.imported import cluster_of
from kantopt.formats.notes import Notes
from kantopt.formats.traces.openb import POD_COLUMNS, by_kind, job_of, nodes_of
from kantopt.formats.traces.rows import MOST_SECONDS, check_columns, rows_of, trace_of
from kantopt.schema.snapshot import ClusterSnapshot, Node
from kantopt.schema.trace import Trace, TraceJob

_TIMES = ("creation_time", "deletion_time", "scheduled_time")
_NOTES = (
    "openb pods of an Alibaba GPU cluster, as hkust-adsl/kubernetes-scheduler-simulator has them",
    "duration: from being scheduled to being deleted, whatever the pod's phase",
    "unknown: estimates (taken to be exact), users, priorities, which pods belong together",
)


def read_openb_trace(files: Sequence[tuple[str, str]]) -> tuple[ClusterSnapshot | None, Trace]:
    """Read a pod list and, if there is one, a node list: the cluster without pods.

    Parameters
    ----------
    files
        Name and text of each file; the header tells which is which.

    Raises
    ------
    BadDataError
        For other files, and with file, line and column of all that is wrong.
    """
    problems: list[Problem] = []
    expected = "an openb pod list and perhaps a node list, each once"
    texts = by_kind(files, ("nodes", "pods"), expected, problems)
    if not problems and "pods" not in texts:
        problems.append(Problem(files[0][0], "", "only a node list", "a pod list as well"))
    if problems:
        raise BadDataError(problems)
    check_columns(*texts["pods"], (*POD_COLUMNS, *_TIMES), "a pod list")
    nodes: dict[str, Node] = {}
    if "nodes" in texts:
        nodes = nodes_of(rows_of(*texts["nodes"], problems))
    trace = _trace(*texts["pods"], problems)
    if problems:
        raise BadDataError(problems)
    return cluster_of("openb", nodes.values())[0] if nodes else None, trace


def _trace(file: str, text: str, problems: list[Problem]) -> Trace:
    notes = Notes()
    found: list[tuple[int, TraceJob]] = []
    seen: set[str] = set()
    for row in rows_of(file, text, problems):
        name = row.name("name")
        if name in seen:
            row.report("name", "each pod once")
        seen.add(name)
        if row.text("qos"):
            notes.add("pods whose QoS class is left out")
        if not row.text("scheduled_time"):
            notes.add("pods that were never scheduled have no duration and are left out", name)
            continue
        arrival, begin, end = (
            row.number(column, MOST_SECONDS)
            for column in ("creation_time", "scheduled_time", "deletion_time")
        )
        if end < begin:
            row.report("deletion_time", f"no time before it was scheduled, {begin}")
            continue
        if end == begin:
            notes.add("pods that ended in the second that they began are taken to run for 1s", name)
        job = TraceJob(
            name=name,
            arrival=f"{arrival}s",
            duration=f"{max(1, end - begin)}s",
            pod_sets=job_of(row, name, row.text("gpu_spec"), {}).pod_sets,
        )
        found.append((arrival, job))
    return trace_of("openb", _NOTES, notes, found)
