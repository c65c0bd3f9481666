"""Pods of one shape onto nodes: which nodes, how many on each."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.insertion.replicas import ReplicaQueue, replicas_on, spread_term
from kantopt.search.insertion.scores import WORST, Scores
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State, rooms
from kantopt.search.strategy import Strategy


def fill(
    scores: Scores, s: int, pods: int, within: Mask | None = None, nodes: Ints | None = None
) -> int:
    """Place up to ``pods`` pending pods of a pod set on some nodes; return how many are placed.

    Parameters
    ----------
    within
        Nodes to choose from; by default all.
    nodes
        A few of these, from which as few as possible are taken, whatever the strategy.
    """
    state = scores.state
    podset = state.instance.podsets[s]
    pods = min(pods, podset.count - state.placed[s])
    pods = state.admitted(s, pods)
    if pods <= 0:
        return 0
    mask = state.allowed(s)
    if nodes is not None and not state.neighbours.concern(s):
        nodes = nodes[mask[nodes] if within is None else mask[nodes] & within[nodes]]
        return _on_fewest(scores, s, pods, nodes)
    if within is not None:
        mask = mask & within
    if nodes is not None:
        mask = mask & np.isin(np.arange(state.size), nodes)
    if pods == 1 or state.neighbours.concern(s):
        placed = 0
        while placed < pods and not _late(scores, placed) and place_one(scores, s, mask):
            placed += 1
        return placed
    match scores.strategy:
        case Strategy.KUBE_DEFAULT:
            return _by_replicas(scores, s, pods, mask)
        case Strategy.LEAST_ALLOCATED:
            return _one_by_one(scores, [s] * pods, mask)
        case Strategy.E_BINPACK:
            return _on_fewest(scores, s, pods, np.flatnonzero(mask))
        case Strategy.SPREAD:
            return _one_by_one(scores, [s] * pods, mask, apart=True)
        case _:
            return _packed(scores, [s] * pods, mask)


def fill_alike(scores: Scores, podsets: Sequence[int]) -> int:
    """Place one pod each of pod sets that differ in nothing, as if one after the other.

    Returns how many are placed, the first ones.
    """
    state = scores.state
    first = state.instance.podsets[podsets[0]]
    queue = state.instance.jobs[first.job].queue
    podsets = podsets[: state.quotas.room(queue, first.demand, len(podsets))]
    if not podsets:
        return 0
    mask = state.allowed(first.index)
    if scores.fills_up:
        return _packed(scores, podsets, mask)
    return _one_by_one(scores, podsets, mask)


CLOCK = 256
"""Pods that are placed one by one between two looks at the clock."""


def _late(scores: Scores, placed: int) -> bool:
    return placed % CLOCK == CLOCK - 1 and scores.over()


def room_for(state: State, s: int, most: int, within: Mask | None = None) -> Ints:
    """Pods of a pod set that each node holds, by itself, as far as the pod set admits it."""
    mask = state.allowed(s)
    if within is not None:
        mask = mask & within
    room: Ints = np.zeros(state.size, dtype=np.int64)
    nodes = np.flatnonzero(mask)
    room[nodes] = rooms(state, state.shape[s], most, nodes)
    if state.neighbours.concern(s):
        admitted = state.neighbours.admits(s)
        if admitted is not None:
            room[~admitted] = 0
        for domains in state.neighbours.one_per_domain(s):
            holding = np.flatnonzero((room > 0) & (domains.of >= 0))
            first = np.unique(domains.of[holding], return_index=True)[1]
            room[holding] = 0
            room[holding[first]] = 1
    return room


def _place_on(scores: Scores, podsets: Sequence[int], n: int) -> int:
    """Place a pod of each pod set on one node that has the room; return how many are placed."""
    state = scores.state
    if not state.shape[podsets[0]].needs and podsets[0] == podsets[-1]:
        state.add(podsets[0], Spot(n), len(podsets))
        return len(podsets)
    for placed, s in enumerate(podsets):
        devices = scores.devices(s, n)
        if devices is None:
            return placed
        state.add(s, Spot(n, devices), 1)
    return len(podsets)


def place_one(scores: Scores, s: int, mask: Mask) -> bool:
    """Place a pod of a pod set on the best of some nodes; say whether any takes it."""
    state = scores.state
    fits, score = scores.of(s)
    mask = mask & fits
    admitted = state.neighbours.admits(s)
    if admitted is not None:
        mask &= admitted
    if not mask.any():
        return False
    if scores.strategy in (Strategy.KUBE_DEFAULT, Strategy.SPREAD):
        counts = np.zeros(state.size, dtype=np.int64)
        for n, replicas in replicas_on(state, s).items():
            counts[n] = replicas
        if scores.strategy is Strategy.SPREAD:
            mask &= counts == counts[mask].min()
        else:
            score = np.where(mask, score, 0) + spread_term(counts, mask)
    return _place_on(scores, [s], int(np.where(mask, score, WORST).argmax())) == 1


def _packed(scores: Scores, podsets: Sequence[int], mask: Mask) -> int:
    """Fill the best node, then the next."""
    shape = scores.state.shape[podsets[0]]
    fits, score = scores.of(podsets[0])
    nodes = np.flatnonzero(mask & fits)
    nodes = nodes[np.lexsort((nodes, -score[nodes]))]
    # Every node takes a pod at least: more nodes than pods are not needed.
    nodes = nodes[: len(podsets)]
    placed = 0
    for n, room in zip(
        nodes.tolist(), rooms(scores.state, shape, len(podsets), nodes).tolist(), strict=True
    ):
        if placed == len(podsets):
            break
        placed += _place_on(scores, podsets[placed : placed + room], n)
    return placed


def _on_fewest(scores: Scores, s: int, pods: int, nodes: Ints) -> int:
    """Use as few nodes as possible: the job's, the roomiest while needed whole, then the best."""
    state = scores.state
    room = rooms(state, state.shape[s], pods, nodes)
    nodes, room = nodes[room > 0], room[room > 0]
    if not len(nodes):
        return 0
    rank = scores.among(s, nodes)
    job = state.instance.job_of(s)
    there = {spot.node for own in job.podsets for spot in state.spots[own]}
    if pods == 1 and not there:
        return _place_on(scores, [s], int(nodes[rank.argmax()]))
    new = ~np.isin(nodes, sorted(there))
    left = pods
    order = np.lexsort((nodes, -rank, -room, new))
    for position, i in enumerate(order):
        if not left:
            break
        if room[i] >= left:
            rest = order[position:]
            enough = rest[room[rest] >= left]
            i = enough[np.lexsort((nodes[enough], -rank[enough], new[enough]))[0]]
            left -= _place_on(scores, [s] * left, int(nodes[i]))
            if left:  # devices ran out early: the others take the rest
                left -= _on_fewest(scores, s, left, np.delete(nodes, i))
            break
        left -= _place_on(scores, [s] * int(room[i]), int(nodes[i]))
    return pods - left


def _one_by_one(scores: Scores, podsets: Sequence[int], mask: Mask, *, apart: bool = False) -> int:
    """Always the best node as it stands then; only the node that changed is scored anew.

    ``apart``: of the nodes with the fewest replicas.
    """
    fits, score = scores.of(podsets[0])
    nodes = np.flatnonzero(mask & fits)
    there = replicas_on(scores.state, podsets[0]) if apart else {}
    found = nodes.tolist()
    heap = list(zip((there.get(n, 0) for n in found), (-score[nodes]).tolist(), found, strict=True))
    heapq.heapify(heap)
    placed = 0
    while heap and placed < len(podsets) and not _late(scores, placed):
        replicas, _, n = heapq.heappop(heap)
        if _place_on(scores, podsets[placed : placed + 1], n):
            placed += 1
            again = _again(scores, podsets[0], n)
            if again is not None:
                heapq.heappush(heap, (replicas + apart, -again, n))
    return placed


def _by_replicas(scores: Scores, s: int, pods: int, mask: Mask) -> int:
    state = scores.state
    fits, score = scores.of(s)
    there = replicas_on(state, s)
    queue = ReplicaQueue()
    for n in np.flatnonzero(mask & fits).tolist():
        queue.push(there.get(n, 0), int(score[n]), n)
    placed = 0
    while placed < pods and not _late(scores, placed) and (best := queue.pop()) is not None:
        n, replicas = best
        if _place_on(scores, [s], n):
            placed += 1
            again = _again(scores, s, n)
            if again is not None:
                queue.push(replicas + 1, again, n)
    return placed


def _again(scores: Scores, s: int, n: int) -> int | None:
    """Score of a node for the next pod; ``None`` if it is full."""
    fits, score = scores.of(s)
    return int(score[n]) if fits[n] else None
