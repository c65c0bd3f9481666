"""From contents of nodes to a placement: which pods go where."""

from __future__ import annotations

from collections.abc import Sequence

from kantopt.problem.cluster import Spot
from kantopt.problem.placement import Placement
from kantopt.verify.slots.pricing import Content
from kantopt.verify.slots.program import Program
from kantopt.verify.slots.rooms import Rooms


def placement_of(
    program: Program, rooms: Rooms, chosen: Sequence[tuple[Content, int]], base: Placement
) -> Placement | None:
    """Return the placement of contents, each taken by a number of nodes of its class.

    Pods that a content keeps stay; those that must leave, and then pending ones, take the spots
    where pods arrive, in order. Pods that take nothing of the pieces are where ``base`` has them.
    ``None`` if pods need devices beside the pieces: those are not chosen here.
    """
    instance = program.instance
    also = 0 if program.tier.device_class is None else 1
    if any(len(instance.podsets[s].devices) != also for s in program.pieces.asks):
        return None
    stay: list[dict[Spot, int]] = [{} for _ in program.kinds]
    free: list[list[Spot]] = [[] for _ in program.kinds]
    used = [0] * len(rooms.nodes)
    for content, count in chosen:
        i = content.node_class
        nodes = rooms.nodes[i].nodes[used[i] : used[i] + count]
        used[i] += count
        for n, order in nodes:
            everywhere = _spot(program, n, range(len(order)))
            parts = [(everywhere, content.kept, content.new)]
            parts += [
                (_spot(program, n, (position,)), *pods)
                for position, pods in zip(order, content.pieces, strict=True)
            ]
            for spot, kept, new in parts:
                for k, pods in kept:
                    stay[k][spot] = pods
                for k, pods in new:
                    free[k] += [spot] * pods
    changes: dict[int, dict[Spot, int]] = {}
    for kind, room, spots in zip(program.kinds, stay, free, strict=True):
        away = []
        for s in kind.podsets:
            podset = instance.podsets[s]
            here: dict[Spot, int] = {}
            for spot, pods in podset.current.items():
                here[spot] = min(pods, room.get(spot, 0))
                room[spot] = room.get(spot, 0) - here[spot]
            changes[s] = here
            away += [s] * (podset.count - sum(here.values()))
        for s, spot in zip(away, spots, strict=False):
            changes[s][spot] = changes[s].get(spot, 0) + 1
    return base.replace({s: dict(sorted(spots.items())) for s, spots in changes.items()})


def _spot(program: Program, n: int, positions: Sequence[int]) -> Spot:
    """The spot on some of a node's pieces."""
    devices = (program.pieces.of_node[n][position].device for position in positions)
    return Spot(n, tuple(sorted(d for d in devices if d is not None)))
