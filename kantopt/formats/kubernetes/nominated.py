"""Pods that have no node yet and whose node is decided: nominated to one, assigned, being bound."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.kubernetes.priorities import Priorities
from kantopt.formats.notes import Notes
from kantopt.schema.base import HostPort
from kantopt.schema.eligibility import affinity_matches, barriers, tolerates
from kantopt.schema.jobs import NodeSelectorTerm
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import Node

Amounts = dict[str, int]


def with_rooms(
    pods: Sequence[Pod], nodes: Iterable[Node], priorities: Priorities, notes: Notes
) -> Sequence[Pod]:
    """Put pods on the nodes they are nominated to (``status.nominatedNodeName``).

    That holds as long as the node admits them and they fit there, ports included, once those that
    terminate are gone, the most important first: then nobody has to be evicted for them a second
    time, and their room is not given away. Others wait like any pending pod. kube-scheduler keeps
    that room from lesser pods only: it is not kept here where a more important one that evicts
    nobody (``preemptionPolicy: Never``) fits into it. From jobs that wait for Kueue that keeps what
    it has assigned itself, however important they are.
    """
    wanted = {pod.nominated for pod in pods if pod.nominated and not pod.node}
    if not wanted:
        return pods
    open_ = {node.name: node for node in nodes if node.name in wanted}
    free = {name: room_of(node) for name, node in open_.items()}
    held: dict[str, list[HostPort]] = {name: [] for name in free}
    for pod in pods:
        if pod.node in free and not pod.terminating:
            take(free[pod.node], requests_of(pod))
            held[pod.node] += pod.shape["host_ports"]
    placed: dict[int, Pod] = {}
    order = sorted(range(len(pods)), key=lambda i: (-priorities.of(pods[i]), i))
    rivals = [
        pod for pod in pods if not (pod.node or pod.nominated) and priorities.preempts_nobody(pod)
    ]

    def fits(pod: Pod, name: str) -> bool:
        return has_room(pod, open_[name], free[name], held[name])

    for i in order:
        pod = pods[i]
        if pod.node or pod.nominated not in free or not fits(pod, pod.nominated):
            continue
        rank = priorities.of(pod)
        if any(
            priorities.of(other) > rank
            and not (pod.assignment and other.local_queue and not other.quota_reserved)
            and fits(other, pod.nominated)
            for other in rivals
        ):
            notes.add(
                "pods that are nominated to a node, whose room a more important one may take: "
                "they count as waiting",
                pod.full_name,
            )
        else:
            take(free[pod.nominated], requests_of(pod))
            held[pod.nominated] += pod.shape["host_ports"]
            who = "nominated to a node" if pod.assignment is None else "assigned a node by Kueue"
            notes.add(
                f"pods that are {who} count as placed there unless a cordon sends them away",
                f"{pod.full_name} on {pod.nominated}",
            )
            placed[i] = replace(pod.shaped(nominated=True), node=pod.nominated)
    return [placed.get(i, pod) for i, pod in enumerate(pods)]


def may_enter(pod: Pod, node: Node) -> bool:
    """Whether what a pod itself says of nodes, and a node of pods, lets the pod arrive there."""
    shape = pod.shape
    lists: Sequence[Sequence[NodeSelectorTerm]] = shape.get("volume_node_affinity", ())
    return (
        all(node.labels.get(key) == value for key, value in shape["node_selector"].items())
        and all(affinity_matches(terms, node) for terms in (shape["node_affinity"], *lists))
        and all(tolerates(shape["tolerations"], taint) for taint in barriers(node))
    )


def has_room(pod: Pod, node: Node, room: Mapping[str, int], ports: Iterable[HostPort]) -> bool:
    """Whether a pod may arrive on a node where others leave so much room, and hold these ports."""
    return (
        may_enter(pod, node)
        and all(room.get(name, 0) >= n for name, n in requests_of(pod).items() if n)
        and not any(own.excludes(port) for port in ports for own in pod.shape["host_ports"])
    )


def requests_of(pod: Pod) -> Amounts:
    """Return what a pod asks for, in base units."""
    requests: Mapping[str, str | int] = pod.shape["requests"]
    return {name: to_base(name, value) for name, value in requests.items()}


def room_of(node: Node) -> Amounts:
    """Return what a node offers, in base units."""
    return {name: to_base(name, value) for name, value in node.allocatable.items()}


def take(room: Amounts, amounts: Amounts) -> None:
    """Take amounts out of some room."""
    for name, amount in amounts.items():
        room[name] = room.get(name, 0) - amount


_PHASES = ("", "Pending", "Succeeded", "Failed")


class BindRequests:
    """Nodes that are decided on, by pod.

    Requests that have failed decide nothing: KAI makes new ones.
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
