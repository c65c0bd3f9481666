"""Nodes that a scheduler keeps its pods to: KAI's shards, node groups of Volcano's queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kantopt.formats.kubernetes.gangs import Dialect, GangRef
from kantopt.formats.kubernetes.nodes import PREFERRED, REQUIRED, narrowed
from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.view import View
from kantopt.schema.base import Expression
from kantopt.schema.snapshot import Node

SHARD = "kai.scheduler/node-pool"
"""Label of the nodes, queues and PodGroups of a shard; what has none of it is in the default's."""
_NODE_GROUP = "volcano.sh/nodegroup-name"


class NodeGroups:
    """Keeps pods to the nodes of their shard, or of the groups that their queue asks for."""

    def __init__(self, objects: Objects, nodes: Iterable[Node]) -> None:
        self._sharded = any(SHARD in node.labels for node in nodes)
        self._kai = objects.by_name(Dialect.KAI, "PodGroup")
        self._volcano = objects.by_name(Dialect.VOLCANO, "PodGroup")
        self._jobs = objects.by_name("batch.volcano.sh", "Job")
        self._queues = {}
        for name, view in objects.named(Dialect.VOLCANO, "Queue").items():
            told = view.at("spec", "affinity")
            self._queues[name] = tuple(_wanted(told))
            if any(PREFERRED in told.at(key) for key in (_NEAR, _FAR)):
                objects.notes.add("which of their node groups queues prefer is left out", name)

    def into(self, pod: Pod, gang: GangRef | None) -> Pod:
        """Return a pod with what keeps it to its nodes."""
        dialect = None if gang is None else gang.dialect
        if dialect is Dialect.KAI or pod.scheduler == "kai-scheduler":
            return self._into_shard(pod, gang)
        if dialect is Dialect.VOLCANO or pod.scheduler == "volcano":
            wanted = self._queues.get(self._queue(pod, gang), ())
            return _kept(pod, wanted) if wanted else pod
        return pod

    def _into_shard(self, pod: Pod, gang: GangRef | None) -> Pod:
        group = None if gang is None else self._kai.get((gang.namespace, gang.name))
        told = {} if group is None else group.labels
        shard = told.get(SHARD, pod.labels.get(SHARD, ""))
        if not shard:
            if not self._sharded:
                return pod
            return _kept(pod, (Expression(key=SHARD, operator="DoesNotExist"),))
        pod = replace(pod, labels={**pod.labels, SHARD: shard})
        return _kept(pod, (Expression(key=SHARD, operator="In", values=(shard,)),))

    def _queue(self, pod: Pod, gang: GangRef | None) -> str:
        key = ("", "") if gang is None else (gang.namespace, gang.name)
        for view in (self._volcano.get(key), self._jobs.get(key)):
            if view is not None and view.at("spec").text("queue"):
                return view.at("spec").text("queue")
        return pod.annotations.get("scheduling.volcano.sh/queue-name", "default")


_NEAR, _FAR = "nodeGroupAffinity", "nodeGroupAntiAffinity"


def _wanted(affinity: View) -> Iterator[Expression]:
    """Yield what nodes are to be labelled with: Volcano takes those that are preferred as well.

    Groups to be far from count less than those that it would only rather be far from.
    """
    far, rather_not = (affinity.at(_FAR).strings(kind) for kind in (REQUIRED, PREFERRED))
    near = [name for kind in (REQUIRED, PREFERRED) for name in affinity.at(_NEAR).strings(kind)]
    names = [name for name in near if name not in far] + [*rather_not]
    if near or rather_not:
        yield Expression(key=_NODE_GROUP, operator="In", values=tuple(dict.fromkeys(names)))
    elif far:
        yield Expression(key=_NODE_GROUP, operator="Exists")
        yield Expression(key=_NODE_GROUP, operator="NotIn", values=tuple(far))


def _kept(pod: Pod, wanted: tuple[Expression, ...]) -> Pod:
    return pod.shaped(node_affinity=narrowed(pod.shape["node_affinity"], wanted))
