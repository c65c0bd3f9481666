"""Nodes and queues of either moment of two dumps: what stood open to whoever chose."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kantopt.schema.eligibility import CORDONED, PASSING
from kantopt.schema.quantity import CAPACITY, CLAIMED, DISKS, FREE, SHARED_VOLUME, to_base
from kantopt.schema.snapshot import ClusterSnapshot, Node

if TYPE_CHECKING:
    from kantopt.formats.pair import TwoDumps

ANY_NUMBER = 1_000_000
"""More volumes than pods of a node can have."""


def careful_nodes(first: ClusterSnapshot, later: ClusterSnapshot) -> dict[str, Node]:
    """Nodes of the later dump, each as closed and as small as in either.

    Labels that it bears in one of them only ask nobody to come.
    """
    known = {(node.name, node.uid): node for node in first.nodes}
    nodes = {}
    for node in later.nodes:
        was = known.get((node.name, node.uid), node)
        taints = (*node.taints, *(taint for taint in was.taints if taint not in node.taints))
        offered = {
            name: least
            if to_base(name, least, up=False) <= to_base(name, amount, up=False)
            else amount
            for name, amount in node.allocatable.items()
            for least in (was.allocatable.get(name, amount),)
        }
        nodes[node.name] = node.model_copy(
            update={
                "unschedulable": node.unschedulable or was.unschedulable,
                "ready": node.ready and was.ready,
                "taints": taints,
                "allocatable": offered,
                "labels": {k: v for k, v in node.labels.items() if was.labels.get(k) == v},
            }
        )
    return nodes


def attachable(own: ClusterSnapshot, crowded: Collection[tuple[str, str]]) -> ClusterSnapshot:
    """A snapshot whose nodes can attach more volumes, but for those that have too many.

    The import may count a volume for each pod that uses it, and keep room for one elsewhere.
    """
    from kantopt.formats.kubernetes.volumes.attachments import VOLUMES

    def room(node: Node) -> Node:
        offered = {
            name: ANY_NUMBER
            if name.startswith((VOLUMES, SHARED_VOLUME)) and (node.name, name) not in crowded
            else amount
            for name, amount in node.allocatable.items()
        }
        return node.model_copy(update={"allocatable": offered})

    return own.model_copy(update={"nodes": tuple(map(room, own.nodes))})


def terms_at(
    own: ClusterSnapshot,
    of: ClusterSnapshot,
    dumps: TwoDumps,
    passing: Collection[tuple[str, str, str]],
) -> ClusterSnapshot:
    """A snapshot with the nodes and queues of another, as far as that has them.

    What nobody is to use now may have been fit for use when pods came, where that does not know it.
    """
    ready = {"ready": True} if dumps.taints_alone else {}
    nodes = {(node.name, node.uid): node for node in of.nodes}
    queues = {queue.name: queue for queue in of.queues}
    return own.model_copy(
        update={
            "nodes": tuple(
                counted(
                    _without(nodes.get((node.name, node.uid)) or _opened(node), passing), node
                ).model_copy(update=ready)
                for node in own.nodes
            ),
            "queues": tuple(queues.get(queue.name, queue) for queue in own.queues),
        }
    )


def _without(node: Node, passing: Collection[tuple[str, str, str]]) -> Node:
    """A node without the taints that were not there all the time, nor a cordon that was not."""
    taints = tuple(t for t in node.taints if (node.name, t.key, t.effect) not in passing)
    cordoned = node.unschedulable and (node.name, CORDONED, "NoSchedule") not in passing
    return node.model_copy(update={"taints": taints, "unschedulable": cordoned})


def _opened(node: Node) -> Node:
    """A node as it is in use, neither on its way out nor in trouble."""
    taints = tuple(taint for taint in node.taints if taint.key not in PASSING)
    return node.model_copy(update={"unschedulable": False, "taints": taints})


def counted(node: Node, own: Node) -> Node:
    """A node of another snapshot with what the import counts by the pods that it reads.

    Which of these resources there are, and what they are called, depends on all pods at once, so
    neither dump by itself tells what those of both ask for.
    """
    from kantopt.formats.kubernetes.volumes.attachments import VOLUMES
    from kantopt.formats.slurm.names import SHARED

    def plain(name: str) -> bool:
        return not name.startswith(
            (VOLUMES, SHARED_VOLUME, CLAIMED, FREE, CAPACITY, DISKS, *SHARED)
        )

    known = {name: amount for name, amount in node.allocatable.items() if plain(name)}
    told = {name: amount for name, amount in own.allocatable.items() if not plain(name)}
    return node.model_copy(update={"allocatable": known | told})
