"""From contents of nodes to a placement near the one there is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kantopt.cp.assignment import assign
from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.bins.packing import Filled
from kantopt.search.bins.question import Question
from kantopt.search.filled.placing import place_alone
from kantopt.search.state import State


def placed(instance: Instance, asked: Question, filled: Sequence[Filled]) -> Placement | None:
    """Return a placement in which nodes have the given contents; ``None`` if pods refuse a node.

    Each content goes to a node on which many pods of its kinds run already. Pods that the question
    does not count stay if there is room, or go where there is some; whether the rules allow it all
    is for others to judge.
    """
    state = State(instance)
    for podset in instance.podsets:
        for spot, pods in podset.current.items():
            state.add(podset.index, spot, -pods)
    contents = _on_nodes(instance, asked, filled)
    for k, podsets in enumerate(asked.podsets):
        room = {n: pods[k] for n, pods in contents.items() if pods[k]}
        if not _place_kind(state, podsets, room):
            return None
    counted = {s for podsets in asked.podsets for s in podsets}
    others = [podset for podset in instance.podsets if podset.index not in counted]
    may = freedom_of(instance)
    for podset in others:
        for spot, pods in podset.current.items():
            for _ in range(pods):
                if state.has_room(podset.index, spot):
                    state.add(podset.index, spot, 1)
    for podset in others:
        for _ in range(podset.count - sum(state.spots[podset.index].values())):
            if not (may.arrives(podset.index) and place_alone(state, podset.index)):
                break
    return state.placement()


def _on_nodes(
    instance: Instance, asked: Question, filled: Sequence[Filled]
) -> dict[int, tuple[int, ...]]:
    """Contents by node, so that as many pods as possible stay."""
    runs = np.zeros((len(instance.nodes), len(asked.podsets)), dtype=np.int64)
    for k, podsets in enumerate(asked.podsets):
        for s in podsets:
            for spot, pods in instance.podsets[s].current.items():
                runs[spot.node, k] += pods
    found: dict[int, tuple[int, ...]] = {}
    for c, nodes in enumerate(asked.nodes):
        contents = [content.pods for content in filled if content.node_class == c]
        contents += [(0,) * len(asked.podsets)] * (len(nodes) - len(contents))
        table = np.array(contents)
        stay = [np.minimum(runs[n], table).sum(axis=1).tolist() for n in nodes]
        found |= {n: contents[j] for n, j in zip(nodes, assign(stay), strict=True)}
    return found


def _place_kind(state: State, podsets: Sequence[int], room: dict[int, int]) -> bool:
    """Place pods of one kind, those that run first, at home as far as there is room for them."""
    instance, may = state.instance, freedom_of(state.instance)
    away: list[int] = []
    for s in podsets:
        podset = instance.podsets[s]
        home = 0
        for spot, pods in sorted(podset.current.items()):
            stay = min(pods, room.get(spot.node, 0))
            if stay:
                state.add(s, spot, stay)
                room[spot.node] -= stay
                home += stay
        if may.arrives(s):
            away += [s] * (podset.count - home)
    for n, pods in sorted(room.items()):
        for _ in range(pods):
            able = [s for s in away if n in instance.podsets[s].allowed]
            if not able:
                return False
            away.remove(able[0])
            state.add(able[0], Spot(n), 1)
    return True
