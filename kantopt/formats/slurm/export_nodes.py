"""Nodes, partitions, reservations and topology as ``scontrol show`` prints them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from kantopt.formats.slurm.names import FEATURE, PARTITION, is_counted
from kantopt.formats.slurm.records import MIB
from kantopt.formats.slurm.topology import BLOCK
from kantopt.formats.slurm.tres import types_of
from kantopt.schema.gangs import GPU
from kantopt.schema.hostlist import compress_hostlist
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import ClusterSnapshot, Node


def node_text(node: Node) -> str:
    """Write a node."""
    offered = node.allocatable.items()
    amounts = {k: to_base(k, v, up=False) for k, v in offered if not is_counted(k)}
    features = ",".join(marks(node.labels, FEATURE)) or "(null)"
    state = "IDLE" + ("+DRAIN" if node.unschedulable else "") if node.ready else "DOWN"
    if not node.ready and node.unschedulable:
        state = "DOWN+DRAIN"
    cpus = max(1, amounts.get("cpu", 0) // 1000)  # no node of Slurm has fewer
    lines = (
        f"NodeName={node.name} CoresPerSocket=1",
        f"CPUAlloc=0 CPUEfctv={cpus} CPUTot={cpus}",
        f"AvailableFeatures={features}",
        f"ActiveFeatures={features}",
        f"Gres={gres_text(amounts) or '(null)'}",
        f"RealMemory={amounts.get('memory', 0) // MIB} Sockets={cpus} Boards=1",
        f"State={state} ThreadsPerCore=1",
        f"Partitions={','.join(marks(node.labels, PARTITION))}",
    )
    return "\n   ".join(lines) + "\n\n"


def marks(labels: Mapping[str, str], prefix: str) -> list[str]:
    """Return what stands behind a prefix among labels, sorted."""
    return sorted(key.removeprefix(prefix) for key in labels if key.startswith(prefix))


def gres_text(amounts: Mapping[str, int], prefix: str = "") -> str:
    """Write generic resources; what of a total is of no type comes by itself."""
    items = []
    for name in sorted({_name(key) for key in amounts} - {""}):
        kinds = types_of(dict(amounts), name)
        total = amounts.get(GPU if name == "gpu" else f"gres/{name}", 0)
        items += [f"{prefix}{key.removeprefix('gres/')}:{amounts[key]}" for key in kinds]
        rest = total - sum(amounts[key] for key in kinds)
        if rest > 0:
            items.append(f"{prefix}{name}:{rest}")
    return ",".join(items)


def _name(key: str) -> str:
    if key == GPU:
        return "gpu"
    return key.removeprefix("gres/").partition(":")[0] if key.startswith("gres/") else ""


def topology_text(snapshot: ClusterSnapshot) -> str:
    """Write the levels as topology.conf: blocks if the finest is called so, else switches."""
    levels = snapshot.topology.labelled
    if not levels:
        return ""
    keys = [level.node_label for level in reversed(levels)]  # fine to coarse
    paths: dict[tuple[str, ...], list[str]] = {}
    for node in snapshot.nodes:
        if all(node.labels.get(key) for key in keys):
            path = tuple(node.labels[key] for key in keys)
            paths.setdefault(path, []).append(node.name)
    if levels[-1].name == BLOCK:
        lines = list(_blocks(paths, [level.name for level in reversed(levels[:-1])]))
    else:
        lines = list(_switches(paths))
    return "\n".join(lines) + "\n\n" if lines else ""


def _switches(paths: Mapping[tuple[str, ...], Sequence[str]]) -> Iterator[str]:
    """Write each domain as a switch; one that is called as the one below is the same switch."""
    above: dict[str, set[str]] = {}
    leaves: dict[str, list[str]] = {}
    for path, hosts in paths.items():
        leaves.setdefault(path[0], []).extend(hosts)
        for below, switch in pairwise(path):
            if below != switch:
                above.setdefault(switch, set()).add(below)
    for leaf, hosts in sorted(leaves.items()):
        yield f"SwitchName={leaf} Nodes={compress_hostlist(hosts)}"
    for switch, children in sorted(above.items()):
        yield f"SwitchName={switch} Switches={compress_hostlist(children)}"


def _blocks(paths: Mapping[tuple[str, ...], Sequence[str]], wider: Sequence[str]) -> Iterator[str]:
    """Write blocks so that those that are planned together follow each other, the first first."""
    counts = [int(name.removeprefix("blocks-")) for name in wider if name.startswith("blocks-")]
    sizes: dict[tuple[str, ...], int] = {}
    for path in paths:
        for k in range(1, len(path)):
            sizes[path[k:]] = sizes.get(path[k:], 0) + 1

    def place(path: tuple[str, ...]) -> list[tuple[int, str, bool]]:
        # A group that is not full is the last of its own.
        return [
            (-sizes.get(path[k:], 0), path[k], path[k - 1] != path[k])
            for k in range(len(path) - 1, 0, -1)
        ]

    for path in sorted(paths, key=lambda path: (place(path), path[0])):
        yield f"BlockName={path[0]} Nodes={compress_hostlist(paths[path])}"
    yield "BlockSizes=" + ",".join(str(count) for count in [1, *counts])
