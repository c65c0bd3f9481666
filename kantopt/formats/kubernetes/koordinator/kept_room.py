"""Room of nodes that Koordinator gives to no pod: what an annotation keeps for the node itself."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.notes import Notes
from kantopt.formats.view import json_of
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Node

_KEPT = "node.koordinator.sh/reservation"
_CPUS = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def without_kept(objects: Objects, nodes: Iterable[Node]) -> list[Node]:
    """Return nodes without what is kept of them; named cores count for an amount of them.

    Where only the cores themselves are kept (``ReservedCPUsOnly``), no pod has less of the amount.
    """
    kept: dict[str, dict[str, int]] = {}
    for view in objects.of("", "Node"):
        name = view.at("metadata").name()
        if text := view.annotations.get(_KEPT, ""):
            try:
                kept[name] = _amounts(json_of(text))
            except ValueError:
                text = (
                    "nodes of which Koordinator keeps what nobody can read offer all that they have"
                )
                objects.notes.add(text, name)
    return [_rest(node, kept.get(node.name, {}), objects.notes) for node in nodes]


def _amounts(told: Any) -> dict[str, int]:
    if not isinstance(told, dict) or not isinstance(told.get("resources", {}), dict):
        raise ValueError
    if told.get("applyPolicy") == "ReservedCPUsOnly":
        return {}
    resources = told.get("resources", {})
    found = {name: to_base(name, str(value)) for name, value in resources.items()}
    if cores := told.get("reservedCPUs"):
        spans = [_CPUS.fullmatch(part) for part in str(cores).split(",")]
        listed = {
            core
            for span in spans
            if span is not None
            for core in range(int(span[1]), int(span[2] or span[1]) + 1)
        }
        if None in spans:
            raise ValueError
        found["cpu"] = to_base("cpu", len(listed))
    return found


def _rest(node: Node, kept: dict[str, int], notes: Notes) -> Node:
    if not kept:
        return node
    notes.add("nodes of which Koordinator keeps room for no pod offer the rest", node.name)
    offered = {
        name: from_base(name, max(0, to_base(name, value) - kept.get(name, 0)))
        for name, value in node.allocatable.items()
    }
    return node.model_copy(update={"allocatable": offered})
