"""Which nodes one would buy more of for a job: one of each kind, the roomiest first."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from kantopt.problem.instance import Instance
from kantopt.search.insertion.domains import Domains
from kantopt.search.insertion.fill import room_for
from kantopt.search.shapes import Ints
from kantopt.search.state import State, rooms

_MOST = 3
"""Kinds that are worth a try."""


def node_types(
    question: Instance, j: int, wanted: Mapping[int, int]
) -> tuple[tuple[int, int], ...]:
    """Return a node of each kind that a job's pods could use, best suited kinds first.

    With it comes how many of the kind are needed if every pod only needs room of its own.

    Nodes of a kind offer the same and are admitted alike. Where all pods of the job must share a
    domain, the node is one of the domain that has the most room for them now.
    """
    empty, now = State(question, question.bare), State(question)
    holds: Ints = np.zeros(empty.size, dtype=np.int64)
    room: Ints = np.zeros(empty.size, dtype=np.int64)
    for s, pods in wanted.items():
        holds += room_for(empty, s, pods)
        room += room_for(now, s, pods)
    needs = question.needs_of.get(j, ())
    levels = [need.required for need in needs if need.required is not None]
    nearby = room
    if levels:
        level, domains = levels[0], Domains(question)
        of = domains.of[level]
        nearby = np.where(of >= 0, np.append(domains.totals(level, room), 0)[of], -1)
    best: dict[tuple[object, ...], int] = {}
    for n in sorted(
        np.flatnonzero(holds).tolist(), key=lambda n: (-int(nearby[n]), -int(holds[n]), n)
    ):
        node = question.nodes[n]
        best.setdefault((node.capacity, node.devices), n)
    pods = sum(wanted.values())
    total = int(room.sum()) if not levels else int(nearby.max(initial=0))
    chosen = sorted(best.values(), key=lambda n: (-int(holds[n]), n))[:_MOST]
    return tuple((n, max(1, -(-(pods - total) // int(holds[n])))) for n in chosen)


def of_use(question: Instance, podsets: Iterable[int]) -> frozenset[int]:
    """Nodes that admit a pod of some pod sets and hold it where nobody else is."""
    empty, found = State(question, question.bare), set[int]()
    for s in podsets:
        nodes = np.flatnonzero(empty.allowed(s))
        found.update(nodes[rooms(empty, empty.shape[s], 1, nodes) > 0].tolist())
    return frozenset(found)
