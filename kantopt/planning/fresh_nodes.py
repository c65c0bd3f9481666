"""Nodes that are not there yet: empty copies of one that is, under names of their own."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.schema.snapshot import Node

_HOST = "kubernetes.io/hostname"


def fresh_nodes(nodes: Sequence[Node], like: Node, count: int) -> list[Node]:
    """Return copies of a node, ready and not cordoned, with names that none of some nodes has."""
    known = {node.name for node in nodes}
    added: list[Node] = []
    number = 0
    while len(added) < count:
        number += 1
        name = f"{like.name}-new-{number}"
        if name in known:
            continue
        labels = {**like.labels, **({_HOST: name} if _HOST in like.labels else {})}
        fresh = {"name": name, "uid": "", "labels": labels, "unschedulable": False, "ready": True}
        added.append(like.model_copy(update=fresh))
    return added
