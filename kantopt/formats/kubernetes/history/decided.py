"""Pods whose node is decided and who do not have it yet, though its room has come free."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.formats.kubernetes.namespaces import NO_NAMESPACES
from kantopt.formats.kubernetes.nodes import read_node
from kantopt.formats.kubernetes.nominated import may_enter, requests_of, take
from kantopt.formats.kubernetes.pods import read_pod
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.quantity import to_base


def is_free_for(pod: View, node: View, others: Iterable[View]) -> bool:
    """Whether a node admits a pod and has room for it beside others: as far as requests tell.

    Others are those who have the node or are to have it.
    """
    notes = Notes()
    own, place = read_pod(pod, NO_NAMESPACES, notes), read_node(node, notes)
    beside = [read_pod(other, NO_NAMESPACES, notes) for other in others]
    room = {name: to_base(name, value) for name, value in place.allocatable.items()}
    for each in (own, *beside):
        take(room, requests_of(each))
    return (
        may_enter(own, place)
        and all(room[name] >= 0 for name, n in requests_of(own).items() if n)
        and not any(
            port.excludes(other)
            for port in own.shape["host_ports"]
            for each in beside
            for other in each.shape["host_ports"]
        )
    )
