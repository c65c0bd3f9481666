"""GPUs that pods ask for by Koordinator's names or by their maker's: both are those of a node.

Koordinator's scheduler gives out the same devices for either, so what asks for whole ones by its
names asks for as many by the other name here, and a node that offers them by its names alone
offers as many. There a pod that asks by the maker's name has no place: no device plugin is behind
that, and the scheduler counts it as a resource of nodes like any other.
"""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.formats.kubernetes.nodes import narrowed
from kantopt.formats.kubernetes.nominated import Amounts
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.notes import Notes
from kantopt.schema.base import Expression
from kantopt.schema.hundredths import (
    BY_KOORDINATOR,
    HUNDREDTHS,
    is_gpu,
    offered_gpus,
    touched_gpus,
    whole_gpus,
)
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Node

_NVIDIA = "nvidia.com/gpu"
_ELSEWHERE = Expression(key=BY_KOORDINATOR[0], operator="NotIn", values=(BY_KOORDINATOR[1],))


class WholeGpus:
    """Counts GPUs by one name.

    Nodes whose GPUs stay apart are noted.
    """

    def __init__(self, nodes: Iterable[Node], notes: Notes) -> None:
        offering = [node for node in nodes if _hundredths(node)]
        makers = {name for node in offering for name in node.allocatable if is_gpu(name)}
        self._name = "" if not offering else min(makers, default=_NVIDIA)
        """What GPUs are called by their maker; empty: no node has any by Koordinator's names."""
        if len(makers) > 1:
            self._name = ""
            text = "nodes with GPUs of several makers: who asks for them by Koordinator's names"
            for node in offering:
                notes.add(f"{text} counts apart from who asks by a maker's", node.name)
        self._apart = False

    def onto(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes that offer GPUs by their maker's name wherever they have any."""
        return [self._offering(node) for node in nodes]

    def _offering(self, node: Node) -> Node:
        count = offered_gpus(_hundredths(node))
        # A device plugin that is gone leaves a 0 behind.
        told = self._name and to_base(self._name, node.allocatable.get(self._name, 0))
        if not self._name or not count or told:
            return node
        self._apart = True
        key, value = BY_KOORDINATOR
        return node.model_copy(
            update={
                "labels": {**node.labels, key: value},
                "allocatable": {**node.allocatable, self._name: count},
            }
        )

    def into(self, pod: Pod) -> Pod:
        """Return a pod that asks by the maker's name as well, or keeps to where that is offered."""
        # Amounts in bytes or thousandths are none of these; one that is too large is refused later.
        asks = {name: n for name, n in pod.shape["requests"].items() if isinstance(n, int)}
        if self._name and (count := whole_gpus(asks)) and self._name not in asks:
            requests = {**pod.shape["requests"], self._name: from_base(self._name, count)}
            return pod.shaped(requests=dict(sorted(requests.items())))
        if not (self._apart and asks.get(self._name)) or any(map(asks.get, HUNDREDTHS)):
            return pod
        return pod.shaped(node_affinity=narrowed(pod.shape["node_affinity"], (_ELSEWHERE,)))

    def beside(self, amounts: Amounts) -> Amounts:
        """Return what a reservation holds, or has given, with its GPUs by the maker's name."""
        count = touched_gpus(amounts)
        if not self._name or not count or self._name in amounts:
            return amounts
        return {**amounts, self._name: count}


def _hundredths(node: Node) -> Amounts:
    offered = node.allocatable
    return {name: to_base(name, offered[name]) for name in HUNDREDTHS if name in offered}
