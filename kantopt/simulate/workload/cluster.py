"""Clusters to draw a load for: an empty one of equal nodes, and what GPUs a given one has."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from kantopt.errors import UsageError
from kantopt.schema.base import API_VERSION
from kantopt.schema.gangs import GPU
from kantopt.schema.quantity import gpu_milli, to_base
from kantopt.schema.snapshot import (
    ClusterSnapshot,
    Node,
    SnapshotMetadata,
    Topology,
    TopologyLevel,
)


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of a cluster as jobs ask for them."""

    total: int
    per_node: int
    """Of most nodes that have any."""
    resource: str = GPU
    device_class: str = ""
    """Class of the devices that they are; empty: an amount of the node."""


def empty_cluster(
    nodes: int, gpus_per_node: int, nodes_per_leaf: int, leaves_per_block: int
) -> ClusterSnapshot:
    """Make equal nodes under two levels of topology, blocks of leaves; the last may be smaller."""
    width = len(str(nodes - 1))
    leaves = -(-nodes // nodes_per_leaf)
    leaf_width, block_width = len(str(leaves - 1)), len(str((leaves - 1) // leaves_per_block))
    found = []
    for n in range(nodes):
        leaf = n // nodes_per_leaf
        labels = {
            "block": f"block-{leaf // leaves_per_block:0{block_width}d}",
            "leaf": f"leaf-{leaf:0{leaf_width}d}",
        }
        found.append(
            Node(name=f"node-{n:0{width}d}", labels=labels, allocatable={GPU: gpus_per_node})
        )
    levels = (
        TopologyLevel(name="block", node_label="block"),
        TopologyLevel(name="leaf", node_label="leaf"),
    )
    return ClusterSnapshot(
        api_version=API_VERSION,
        kind="ClusterSnapshot",
        metadata=SnapshotMetadata(name=f"{nodes}x{gpus_per_node}"),
        topology=Topology(levels=levels),
        nodes=tuple(found),
    )


def gpus_of(snapshot: ClusterSnapshot) -> Gpus:
    """Count the whole GPUs of a cluster, by the name under which most of them are.

    Raises
    ------
    UsageError
        If it has none.
    """
    by_name: Counter[tuple[str, str]] = Counter()
    per_node: dict[tuple[str, str], Counter[int]] = {}
    for node in snapshot.nodes:
        offers = [("", 1, node.allocatable)]
        offers += [(group.device_class, group.count, group.capacity) for group in node.devices]
        for device_class, count, amounts in offers:
            for resource, value in amounts.items():
                milli = gpu_milli(resource, to_base(resource, value, up=False))
                # Devices that are parts of a GPU are none that a job of whole GPUs can ask for.
                if milli >= 1000:
                    gpus = count if device_class else milli // 1000
                    by_name[resource, device_class] += gpus
                    per_node.setdefault((resource, device_class), Counter())[gpus] += 1
    if not by_name:
        raise UsageError("the snapshot: found no GPUs, expected some to draw a load for")
    best = min(by_name, key=lambda name: (-by_name[name], name))
    most = min(per_node[best].items(), key=lambda pair: (-pair[1], -pair[0]))[0]
    return Gpus(by_name[best], most, *best)
