"""How fragmented the GPUs of each pool are, node by node and domain by domain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kantopt.planning.report_metrics import POOL_LABELS
from kantopt.problem.counted import counted_nodes
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.verify.metrics.fragmented_nodes import node_gpus_used
from kantopt.verify.step import Step

NO_PRODUCT = "none"
"""Pool of the nodes that do not say which GPUs they have."""


@dataclass(frozen=True, slots=True)
class PoolShare:
    """Nodes (or domains of a level) of one pool that have GPUs, and how many are partly used."""

    pool: str
    level: str
    partly: int
    of: int
    free_milli: int
    """Milli-GPU that are free in those partly used."""

    @property
    def ratio(self) -> float:
        """Share of those partly used: GFR, for nodes."""
        return self.partly / self.of if self.of else 0.0


def fragmentation(instance: Instance, placement: Placement) -> list[PoolShare]:
    """Count, for each pool of GPU nodes and for ``node`` and each topology level."""
    used = node_gpus_used(Step(instance, instance.current, placement))
    shares = []
    for pool, nodes in _pools(instance):
        for level, groups in _levels(instance, nodes):
            partly = free = 0
            for group in groups:
                offered = sum(instance.nodes[n].gpu_milli for n in group)
                taken = sum(used[n] for n in group)
                if 0 < taken < offered:
                    partly += 1
                    free += offered - taken
            shares.append(PoolShare(pool, level, partly, len(groups), free))
    return shares


def _pools(instance: Instance) -> list[tuple[str, list[int]]]:
    """GPU nodes by product: the first of the usual labels that any of them has."""
    usable = counted_nodes(instance)
    nodes = [node for node in instance.nodes if node.gpu_milli and node.index in usable]
    label = next((key for key in POOL_LABELS if any(key in n.labels for n in nodes)), "")
    pools: dict[str, list[int]] = {}
    for node in nodes:
        pools.setdefault(node.labels.get(label) or NO_PRODUCT, []).append(node.index)
    return sorted(pools.items())


def _levels(
    instance: Instance, nodes: Sequence[int]
) -> Iterator[tuple[str, Sequence[Sequence[int]]]]:
    members = set(nodes)
    topology = instance.topology
    if "node" not in topology.levels:
        yield "node", [(n,) for n in nodes]
    for name, domains in zip(topology.levels, topology.domains, strict=True):
        groups = [[n for n in domain.nodes if n in members] for domain in domains]
        yield name, [group for group in groups if group]
