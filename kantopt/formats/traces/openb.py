"""The openb traces of a GPU cluster: node list, pod list and, if there is one, a placement.

Pods may ask for part of one GPU, so GPUs are devices of 1000 milli-GPU each.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from kantopt.errors import BadDataError, Problem
from kantopt.formats.imported import cluster_of
from kantopt.formats.notes import Notes
from kantopt.formats.traces.rows import Row, header_of, rows_of
from kantopt.schema.base import Expression
from kantopt.schema.hints import quote
from kantopt.schema.jobs import (
    Assignment,
    DeviceRequest,
    Job,
    JobList,
    NodeSelectorTerm,
    PodSet,
)
from kantopt.schema.quantity import from_base
from kantopt.schema.snapshot import ClusterSnapshot, Node, NodeDevices

MODEL_LABEL = "alibabacloud.com/gpu-card-model"
_NODE_COLUMNS = ("sn", "cpu_milli", "memory_mib", "gpu", "model")
POD_COLUMNS = ("name", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_PLACEMENT_COLUMNS = ("pod", "node", "gpu_index", "cpu_milli", "memory_mib", "num_gpu", "gpu_milli")
_CLONE = re.compile(r"-tuned-\d+$")
_MIB = 2**20


def kind_of(text: str) -> str | None:
    """Tell which of the three files this is by its header: nodes, pods or placement."""
    header = header_of(text)
    for kind, columns in (
        ("nodes", _NODE_COLUMNS),
        ("placement", _PLACEMENT_COLUMNS),
        ("pods", POD_COLUMNS),
    ):
        if set(columns) <= set(header):
            return kind
    return None


def by_kind(
    files: Sequence[tuple[str, str]],
    kinds: Collection[str],
    expected: str,
    problems: list[Problem],
) -> dict[str, tuple[str, str]]:
    """Return name and text of each file by its kind; others, and second ones, are reported."""
    found: dict[str, tuple[str, str]] = {}
    for file, text in files:
        kind = kind_of(text)
        if kind is None or kind not in kinds or kind in found:
            header = f"the header {quote(text.partition(chr(10))[0].strip())}"
            said = f"a second {kind} file" if kind in found else header
            problems.append(Problem(file, "", said, expected))
        else:
            found[kind] = file, text
    return found


def read_openb(
    files: Sequence[tuple[str, str]],
) -> tuple[ClusterSnapshot, JobList, tuple[str, ...]]:
    """Read a node list, a pod list and possibly a placement, in any order.

    With a placement its rows are the pods, those with a node running and the others pending; the
    pod list then only adds which models of GPU a pod accepts. Without one all pods are pending.

    Parameters
    ----------
    files
        Name and text of each file; the header tells which is which.

    Returns
    -------
    snapshot, pending, notes
        Every pod is a job of its own.

    Raises
    ------
    BadDataError
        For files that are none of the three, and with file and line of what is wrong in them.
    """
    problems: list[Problem] = []
    expected = "an openb node list, pod list or placement, each once"
    texts = by_kind(files, ("nodes", "pods", "placement"), expected, problems)
    tables = {kind: list(rows_of(*text, problems)) for kind, text in texts.items()}
    if not problems and ("nodes" not in tables or not tables.keys() & {"pods", "placement"}):
        expected = "a node list and a pod list or placement"
        problems.append(
            Problem(files[0][0] if files else "", "", "only " + "".join(tables), expected)
        )
    if problems:
        raise BadDataError(problems)
    notes = Notes()
    nodes = nodes_of(tables["nodes"])
    jobs = _jobs(tables, nodes, notes)
    if problems:
        raise BadDataError(problems)
    return (*cluster_of("openb", nodes.values(), jobs), notes.lines())


def nodes_of(rows: Iterable[Row]) -> dict[str, Node]:
    """Read the node list, by name; GPUs are devices."""
    nodes: dict[str, Node] = {}
    for row in rows:
        node = _node(row)
        if nodes.setdefault(node.name, node) is not node:
            row.report("sn", "each node once")
    return nodes


def _node(row: Row) -> Node:
    gpus, model = row.number("gpu"), row.text("model")
    one_gpu = NodeDevices(device_class="gpu", count=max(gpus, 1), capacity={"gpu": 1})
    return Node(
        name=row.name("sn"),
        labels={MODEL_LABEL: model} if model else {},
        allocatable={
            "cpu": from_base("cpu", row.number("cpu_milli")),
            "memory": from_base("memory", row.number("memory_mib") * _MIB),
        },
        devices=(one_gpu,) if gpus else (),
    )


def _jobs(tables: dict[str, list[Row]], nodes: dict[str, Node], notes: Notes) -> list[Job]:
    models: dict[str, str] = {}
    for row in tables.get("pods", ()):
        models[row.text("name")] = row.text("gpu_spec")
        if row.text("qos"):
            notes.add("pods whose QoS class is left out")
    placed = "placement" in tables
    jobs: dict[str, Job] = {}
    for row in tables["placement" if placed else "pods"]:
        name = row.name("pod" if placed else "name")
        models_wanted = models.get(_CLONE.sub("", name), "")
        job = job_of(row, name, models_wanted, nodes if placed else {})
        if jobs.setdefault(name, job) is not job:
            row.report("pod" if placed else "name", "each pod once")
    return list(jobs.values())


def job_of(row: Row, name: str, models: str, nodes: dict[str, Node]) -> Job:
    """Read a pod as a job of one; with nodes it may run there already."""
    gpus, milli = row.number("num_gpu"), row.number("gpu_milli")
    devices: tuple[DeviceRequest, ...] = ()
    if gpus:
        share = {"gpu": from_base("gpu", milli)}
        devices = (DeviceRequest(device_class="gpu", count=gpus, requests=share),)
    affinity: tuple[NodeSelectorTerm, ...] = ()
    if models:
        wanted = Expression(key=MODEL_LABEL, operator="In", values=tuple(models.split("|")))
        affinity = (NodeSelectorTerm(match_expressions=(wanted,)),)
    podset = PodSet(
        count=1,
        requests={
            "cpu": from_base("cpu", row.number("cpu_milli")),
            "memory": from_base("memory", row.number("memory_mib") * _MIB),
        },
        devices=devices,
        node_affinity=affinity,
        assignments=_assignment(row, gpus, nodes) if nodes and row.text("node") else (),
    )
    return Job(name=name, pod_sets=(podset,))


def _assignment(row: Row, gpus: int, nodes: dict[str, Node]) -> tuple[Assignment, ...]:
    """Read where a pod runs; its GPUs are listed as ``0-1-2`` or ``0|1|2``."""
    node = nodes.get(row.text("node"))
    if node is None:
        row.report("node", "a node of the node list")
        return ()
    texts = re.split(r"[-|]", row.text("gpu_index")) if row.text("gpu_index") else []
    indices = tuple(int(text) for text in texts if text.isdecimal() and len(text) < 7)
    offered = sum(group.count for group in node.devices)
    wrong = len(set(indices)) != gpus or len(indices) != len(texts)
    if wrong or any(index >= offered for index in indices):
        row.report("gpu_index", f"{gpus} different indices below {offered}, such as 0-1")
    return (Assignment(node=node.name, devices=indices),)
