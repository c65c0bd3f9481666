"""GPUs that Koordinator gives out in parts: who asks for a part, and what that leaves of a node.

Amounts of a node say nothing of its GPUs: two halves that are free may be those of two GPUs. Pods
that ask for parts are left alone, and no GPU that such a pod has a part of is anybody else's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from kantopt.formats.kubernetes.objects import Objects
from kantopt.formats.kubernetes.pod_requests import pod_requests
from kantopt.formats.notes import Notes
from kantopt.formats.view import View
from kantopt.schema.hundredths import HUNDREDTHS, asks_for_part, is_gpu, touched_gpus
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Node

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
"""Annotation in which its scheduler says which GPUs a pod has."""


class SharedGpus:
    """What is left of nodes for pods that ask for whole GPUs."""

    def __init__(self, objects: Objects, notes: Notes) -> None:
        self._notes = notes
        self._gpus: dict[str, set[str]] = {}
        self._given: dict[str, dict[str, int]] = {}
        for view in objects.pods():
            spec, at = view.at("spec"), view.at("spec").text("nodeName")
            requests = pod_requests(spec, view.at("status")) if at else {}
            if not asks_for_part(requests):
                continue
            metadata = view.at("metadata")
            given = self._given.setdefault(at, {})
            for name in HUNDREDTHS:
                given[name] = given.get(name, 0) + requests.get(name, 0)
            # Who does not say which GPUs it has shares them with nobody, as far as this knows.
            most = touched_gpus(requests) or 1
            unknown = [f"{metadata.text('uid')}/{i}" for i in range(most)]
            self._gpus.setdefault(at, set()).update(_minors(metadata) or unknown)

    def onto(self, nodes: Iterable[Node]) -> list[Node]:
        """Return nodes without the GPUs, and what is free of them, that pods have parts of."""
        return [self._rest(node) for node in nodes]

    def _rest(self, node: Node) -> Node:
        taken = len(self._gpus.get(node.name, ()))
        if not taken:
            return node
        text = "GPUs of which pods have parts are not offered to others"
        self._notes.add(text, node.name, taken)
        offered = {**node.allocatable}
        for name in node.allocatable:
            if name in HUNDREDTHS or is_gpu(name):
                held = self._given[node.name].get(name, 0)
                each = 100 if name in HUNDREDTHS else 1
                free = to_base(name, offered[name]) - max(0, each * taken - held)
                offered[name] = from_base(name, max(0, free))
        return node.model_copy(update={"allocatable": offered})


def _minors(metadata: View) -> list[str]:
    """Return the numbers of the GPUs that a pod was given; empty: nobody says."""
    text = metadata.words("annotations").get(ALLOCATED, "")
    try:
        told: Any = json.loads(text) if text else {}
    except ValueError:
        return []
    gpus = told.get("gpu") if isinstance(told, dict) else None
    listed = gpus if isinstance(gpus, list) else []
    return [str(gpu["minor"]) for gpu in listed if isinstance(gpu, dict) and "minor" in gpu]
