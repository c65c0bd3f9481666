"""Who is on which node from which wave of a plan to which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from kantopt.problem.actions import Action, Wave
from kantopt.problem.instance import Instance
from kantopt.schema.picture import Fate, Pods, Stay

_LEAVING: dict[str, Fate] = {"evict": "evicted", "move": "moved"}
_ARRIVING: dict[str, Fate] = {"bind": "bound", "move": "moved"}


def stays_of(
    instance: Instance, waves: Sequence[Wave], pods: Sequence[Pods]
) -> dict[int, tuple[Stay, ...]]:
    """Follow the pods through the waves.

    Parameters
    ----------
    instance
        The question.
    waves
        The plan, in its order.
    pods
        What is shown of each pod set.

    Returns
    -------
    dict of int to tuple of Stay
        By node, the most important pods first. Of a plan that takes away more pods than are there
        only those are followed that are; moves between devices of a node are none.
    """
    here: dict[tuple[int, int], list[Stay]] = {}
    began: Counter[tuple[int, int]] = Counter()
    for s, spot, count in instance.current.items():
        began[s, spot.node] += count
    for (s, n), count in began.items():
        here[s, n] = [Stay(pods[s], count)]
    for number, wave in enumerate(waves, 1):
        actions = [action for action in wave.actions if not _stays_on_its_node(action)]
        for action in actions:
            if action.source is not None:
                key = action.podset, action.source.node
                here[key] = _left(here.get(key, []), action, number)
        for action in actions:
            if action.target is not None:
                came = Stay(pods[action.podset], action.pods, _ARRIVING[action.kind], since=number)
                here.setdefault((action.podset, action.target.node), []).append(came)
    found: dict[int, list[Stay]] = {}
    for (_, n), stays in sorted(
        here.items(), key=lambda item: (-pods[item[0][0]].priority, item[0])
    ):
        found.setdefault(n, []).extend(_together(stays))
    return {n: tuple(stays) for n, stays in found.items()}


def _stays_on_its_node(action: Action) -> bool:
    source, target = action.source, action.target
    return source is not None and target is not None and source.node == target.node


def _left(stays: Sequence[Stay], action: Action, number: int) -> list[Stay]:
    """End stays of as many pods as an action takes away, of those that came last first."""
    left, todo = [], action.pods
    for stay in reversed(stays):
        gone = min(todo, stay.count) if stay.until is None and stay.since < number else 0
        if gone:
            todo -= gone
            left.append(replace(stay, count=gone, goes=_LEAVING[action.kind], until=number))
        if gone < stay.count:
            left.append(replace(stay, count=stay.count - gone))
    return left[::-1]


def _together(stays: Sequence[Stay]) -> list[Stay]:
    """Stays of one pod set on one node, those that begin and end alike as one; the first first."""
    counts: Counter[Stay] = Counter()
    for stay in stays:
        counts[replace(stay, count=1)] += stay.count
    end = float("inf")
    ordered = sorted(counts, key=lambda stay: (stay.since, -(stay.until or end), stay.goes))
    return [replace(stay, count=counts[stay]) for stay in ordered]
