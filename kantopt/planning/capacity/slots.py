"""Room for copies by free slots of what is scarcest: the planner proves these on large clusters.

A pod needs a slot of its size on some node, of each resource that it asks for. So there are at most
as many pods as slots of any one of them, and the fewest moves for all slots are no more than those
for as many pods.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.planning.capacity.copies import MOVES, Copies
from kantopt.planning.solving.run import Run
from kantopt.planning.solving.together import search_together
from kantopt.problem.counted import counted, counted_nodes
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Objective, Rule
from kantopt.schema.quantity import from_base
from kantopt.verify.metrics.fragment_rate import ideal_slots
from kantopt.verify.step import Step

Begin = Callable[[Instance, tuple[Tier, ...], Deadline], Run]
"""Begins a run of the planner."""


@dataclass(frozen=True, slots=True)
class Freed:
    """Where running pods are once slots are free, and what that says of copies."""

    placement: Placement
    most_pods: int | None
    """No plan places more pods of copies; ``None`` if slots do not say so."""
    fewest_moves: int | None
    """No plan that frees as many slots moves fewer pods; ``None`` if that is open."""
    slots: int


def free_slots(copies: Copies, moves: int | None, begin: Begin, deadline: Deadline) -> Freed | None:
    """Free as many slots as there can be; ``None`` if a pod asks for nothing that makes slots."""
    objective = _scarcest(copies)
    if objective is None:
        return None
    nothing = copies.counted(0)
    instance = copies.asked(nothing, moves, objective, Objective.model_validate("moves"))
    run = begin(instance, (tiers_of(instance)[0], MOVES), deadline)
    run.construct()
    search_together(run)
    placement, (rate, moved) = run.incumbent.placement, run.incumbent.values
    floors = run.incumbent.floors
    tier = run.tiers[0]
    ideal = ideal_slots(tier, Step(instance, instance.current, instance.current))
    # Nodes that do not count may take pods all the same: only where there are none is what is
    # free in all the same in every plan. And pods near which others come may need a copy there.
    whole = len(counted(instance, tier)) == len(instance.nodes) and instance.on(Rule.CAPACITY)
    probe = copies.asked(copies.counted(1), moves)
    alone = not probe.named & set(range(len(instance.podsets), len(probe.podsets)))
    return Freed(
        placement,
        ideal - floors[0] if whole and alone else None,
        moved if whole and alone and (rate, moved) == floors else None,
        ideal - rate,
    )


def _scarcest(copies: Copies) -> Objective | None:
    """Return the goal of free slots of that resource of a pod of which there are fewest now."""
    instance = copies.asked(copies.counted(1), None)
    podset = instance.podsets[-1]
    if podset.devices:
        return None
    loads = Step(instance, instance.current, instance.current).loads.node
    nodes = [instance.nodes[n] for n in sorted(counted_nodes(instance))]
    found: list[tuple[int, str, int]] = []
    for r, size in enumerate(podset.requests):
        name = instance.resources[r]
        if not size or name not in instance.offered or name == "pods":
            continue
        limits = [(node.capacity[r], loads[node.index][r]) for node in nodes]
        if all(limit is not None for limit, _ in limits):
            slots = sum(max(0, (limit or 0) - used) // size for limit, used in limits)
            found.append((slots, name, size))
    if not found:
        return None
    _, name, size = min(found)
    rate = {"resource": name, "size": str(from_base(name, size))}
    return Objective.model_validate({"fragment_rate": rate})
