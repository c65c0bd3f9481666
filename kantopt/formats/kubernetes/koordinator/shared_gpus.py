"""GPUs that Koordinator gives out in parts: pods that have a part of one hold all of it.

Amounts of a node say nothing of its GPUs: two halves that are free may be those of two GPUs. Pods
that ask for parts are left alone, and no GPU that such a pod has a part of is anybody else's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from kantopt.formats.kubernetes.nominated import requests_of, take
from kantopt.formats.kubernetes.pods import Pod
from kantopt.formats.notes import Notes
from kantopt.formats.view import json_of
from kantopt.schema.hundredths import HUNDREDTHS, asks_for_part, is_gpu, touched_gpus
from kantopt.schema.quantity import from_base, to_base
from kantopt.schema.snapshot import Node

ALLOCATED = "scheduling.koordinator.sh/device-allocated"
"""Annotation in which its scheduler says which GPUs a pod has."""


def with_shared_gpus(pods: Sequence[Pod], nodes: Iterable[Node], notes: Notes) -> list[Pod]:
    """Have pods that have parts of GPUs hold all of these, as far as their nodes have them free.

    What several of them leave of their GPUs one of them holds; they stay, for no single one's end
    gives it back.
    """
    found = [*pods]
    gpus = {i: _gpus(pod) for i, pod in enumerate(pods) if pod.node and _has_part(pod)}
    users = Counter((pods[i].node, gpu) for i, own in gpus.items() for gpu in own)
    at = {pods[i].node for i in gpus}
    free = {
        node.name: {
            name: to_base(name, amount)
            for name, amount in node.allocatable.items()
            if name in HUNDREDTHS or is_gpu(name)
        }
        for node in nodes
        if node.name in at
    }
    for pod in pods:
        if pod.node in free:
            take(free[pod.node], requests_of(pod))
    groups: dict[tuple[str, int], list[int]] = {}
    for i, own in gpus.items():
        shares = any(users[pods[i].node, gpu] > 1 for gpu in own)
        groups.setdefault((pods[i].node, -1 if shares else i), []).append(i)
    for (node, _), group in groups.items():
        count = len({gpu for i in group for gpu in gpus[i]})
        notes.add("GPUs of which pods have parts are not offered to others", node, count)
        held = Counter[str]()
        for i in group:
            held.update(requests_of(pods[i]))
            if len(group) > 1:
                found[i] = replace(pods[i], stays=("reserved", *pods[i].stays))
        more = {
            name: max(0, min(left, (100 if name in HUNDREDTHS else 1) * count - held[name]))
            for name, left in free[node].items()
        }
        take(free[node], more)
        first = min(group, key=lambda i: pods[i].terminating)
        asks = requests_of(pods[first])
        for name, amount in more.items():
            asks[name] = asks.get(name, 0) + amount
        requests = {name: from_base(name, amount) for name, amount in sorted(asks.items())}
        found[first] = found[first].shaped(requests=requests)
    return found


def _has_part(pod: Pod) -> bool:
    return "gpu-shares" in pod.shape["not_modelled"] and asks_for_part(requests_of(pod))


def _gpus(pod: Pod) -> list[str]:
    """Return the GPUs of a node that a pod has parts of, by their numbers if it says so."""
    # Who does not say which GPUs it has shares them with nobody, as far as this knows.
    most = touched_gpus(requests_of(pod)) or 1
    return _minors(pod) or [f"{pod.ref.uid}/{i}" for i in range(most)]


def _minors(pod: Pod) -> list[str]:
    """Return the numbers of the GPUs that a pod was given; empty: nobody says."""
    told = json_of(pod.annotations.get(ALLOCATED, ""))
    gpus = told.get("gpu") if isinstance(told, dict) else None
    listed = gpus if isinstance(gpus, list) else []
    return [str(gpu["minor"]) for gpu in listed if isinstance(gpu, dict) and "minor" in gpu]
