"""Pods that have no node yet and whose node is decided: nominated to one, or being bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kantopt.formats.objects import Notes, Objects
from kantopt.formats.pods import Pod
from kantopt.formats.priorities import Priorities
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import Node

Amounts = dict[str, int]


def with_rooms(
    pods: Sequence[Pod], nodes: Iterable[Node], priorities: Priorities, notes: Notes
) -> Sequence[Pod]:
    """Put pods on the nodes they are nominated to (``status.nominatedNodeName``).

    That holds as long as they fit there once those that terminate are gone, the most important
    first, on a node that takes pods: then nobody has to be evicted for them a second time, and
    their room is not given away. Others wait like any pending pod.

    Parameters
    ----------
    pods
        All pods that hold a place or wait for one.
    nodes
        The nodes of the input.
    priorities
        What tells how important pods are.
    notes
        Takes who counts as placed.
    """
    wanted = {pod.nominated for pod in pods if pod.nominated and not pod.node}
    if not wanted:
        return pods
    free = {
        node.name: {name: to_base(name, value) for name, value in node.allocatable.items()}
        for node in nodes
        if node.name in wanted and node.ready and not node.unschedulable
    }
    for pod in pods:
        if pod.node in free and not pod.terminating:
            take(free[pod.node], requests_of(pod))
    placed: dict[int, Pod] = {}
    order = sorted(range(len(pods)), key=lambda i: (-priorities.of(pods[i]), i))
    for i in order:
        pod = pods[i]
        room = free.get(pod.nominated) if not pod.node else None
        asks = requests_of(pod) if room is not None else {}
        if room is not None and all(room.get(name, 0) >= n for name, n in asks.items() if n):
            take(room, asks)
            notes.add(
                "pods that are nominated to a node count as placed there",
                f"{pod.full_name} on {pod.nominated}",
            )
            placed[i] = replace(pod.shaped(nominated=True), node=pod.nominated)
    return [placed.get(i, pod) for i, pod in enumerate(pods)]


def requests_of(pod: Pod) -> Amounts:
    """Return what a pod asks for, in base units."""
    requests: Mapping[str, str | int] = pod.shape["requests"]
    return {name: to_base(name, value) for name, value in requests.items()}


def take(room: Amounts, amounts: Amounts) -> None:
    """Take amounts out of some room."""
    for name, amount in amounts.items():
        room[name] = room.get(name, 0) - amount


_PHASES = ("", "Pending", "Succeeded", "Failed")


class BindRequests:
    """Nodes that are decided on, by pod.

    Parameters
    ----------
    objects
        All objects of the input. Requests that have failed decide nothing: KAI makes new ones.
    """

    def __init__(self, objects: Objects) -> None:
        self._nodes = {}
        for view in objects.of("scheduling.run.ai", "BindRequest"):
            pod, node = view.at("spec").name("podName"), view.at("spec").name("selectedNode")
            if view.at("status").choice("phase", _PHASES, "") != "Failed":
                self._nodes[view.key[0], pod] = node

    def into(self, pod: Pod) -> Pod:
        """Put a pod that waits on the node that it is being bound to, where it will start."""
        node = self._nodes.get(pod.key, "")
        if pod.node or not node or pod.terminating:
            return pod
        return replace(pod.shaped(health="starting"), node=node)
