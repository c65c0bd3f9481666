"""Nodes that are cordoned for a while: so that nobody takes the room that a wave makes."""

from __future__ import annotations

from typing import NamedTuple

from kantopt.render.kube.fates import Fates, controller
from kantopt.render.kube.steering import is_remade_at_once
from kantopt.schema.answers.actions import in_waves
from kantopt.schema.answers.plan import Binding, Eviction, Move, Plan


class Closing(NamedTuple):
    """Names of nodes by what becomes of them in a wave."""

    meanwhile: list[str]
    """Cordoned until the wave is over."""
    longer: list[str]
    """Cordoned until a later wave lets pods go that are to start there."""
    opened: list[str]
    """Opened again once this wave's pods are let go, which are to start there."""
    early: list[str]
    """Of these: opened before the pods are evicted that others replace there at once."""


def cordons(plan: Plan, fates: Fates) -> dict[int, Closing]:
    """Say which nodes each wave cordons and opens again.

    What is evicted or restarted must not come back to the room that it leaves, nor anybody else
    take it. A node that a wave leaves is cordoned unless the same wave sends pods there, until the
    next wave that does, or until its own wave is over.
    """
    leaves: dict[int, set[str]] = {wave.id: set() for wave in plan.waves}
    comes: dict[int, set[str]] = {wave.id: set() for wave in plan.waves}
    at_once: dict[int, set[str]] = {wave.id: set() for wave in plan.waves}
    for wave, item in in_waves(plan):
        if fates[item.id].does == "advise":
            continue
        if isinstance(item, Binding):
            comes[wave].add(item.node)
        elif isinstance(item, Move):
            leaves[wave].add(item.from_node)
            comes[wave].add(item.to_node)
            if any(is_remade_at_once(controller(pod)) for pod in item.pods):
                at_once[wave].add(item.to_node)
        elif isinstance(item, Eviction) and item.for_job is not None:
            leaves[wave].add(item.node)
    closings: dict[int, Closing] = {}
    order = [wave.id for wave in plan.waves]
    held: set[str] = set()
    for i, wave in enumerate(order):
        closed = leaves[wave] - comes[wave] - held
        longer = {node for node in closed if any(node in comes[later] for later in order[i + 1 :])}
        opened = comes[wave] & held
        held = (held - opened) | longer
        early = opened & at_once[wave]
        closings[wave] = Closing(*map(sorted, (closed - longer, longer, opened, early)))
    return closings
