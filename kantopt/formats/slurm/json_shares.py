"""What a job holds on each of its nodes, as JSON of 22.05 to 25.11 tells it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Share = dict[str, str]
"""Fields as in the details of ``scontrol -d show job``: Nodes, CPU_IDs, Mem, GRES."""


def shares_of(job: Mapping[str, Any]) -> Iterator[Share]:
    """Return a share for each node of an allocation; nothing where it is not told."""
    resources = job.get("job_resources")
    if not isinstance(resources, dict):
        return
    gres = job.get("gres_detail")
    details = gres if isinstance(gres, list) else []
    for index, node in enumerate(_nodes(resources)):
        name = node.get("nodename") or node.get("name")
        if not isinstance(name, str):
            continue
        share = {"Nodes": name, "GRES": str(details[index]) if index < len(details) else ""}
        cpus, memory = _cpus(node), _memory(node)
        if cpus is not None:
            share["CPUs"] = str(cpus)
        elif cores := sum(1 for _ in _cores(node)):
            share["Cores"] = str(cores)
        if memory is not None:
            share["Mem"] = str(memory)
        yield share


def _nodes(resources: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Find the nodes: a list or a mapping by number up to 23.02, an ``allocation`` later."""
    found: Any = resources.get("allocated_nodes")
    nodes = resources.get("nodes")
    if found is None and isinstance(nodes, dict):
        found = nodes.get("allocation")
    if isinstance(found, dict):
        found = list(found.values())
    yield from (item for item in found or () if isinstance(item, dict))


def _cpus(node: Mapping[str, Any]) -> int | None:
    cpus = node.get("cpus")
    if isinstance(cpus, dict) and isinstance(cpus.get("count"), int):
        return int(cpus["count"])
    return None  # up to 23.02 it lists cores only: its node says how many threads each has


def _cores(node: Mapping[str, Any]) -> Iterator[Any]:
    sockets = node.get("sockets")
    for socket in sockets.values() if isinstance(sockets, dict) else ():
        cores = socket.get("cores") if isinstance(socket, dict) else None
        if isinstance(cores, dict):
            yield from cores


def _memory(node: Mapping[str, Any]) -> int | None:
    memory = node.get("memory")
    value = memory.get("allocated") if isinstance(memory, dict) else node.get("memory_allocated")
    return value if isinstance(value, int) and not isinstance(value, bool) else None
