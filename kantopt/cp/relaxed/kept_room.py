"""Room of victims, kept from those who may not evict them, on a relaxation: part of R10 priority.

What stays, victims of a priority and higher put back, and what arrives and may not evict that
priority fit together on each node, so also on all nodes of a class: with the rows of
:mod:`kantopt.cp.relaxed.rows`, as what is together on a node is what these are about. Whether
there are victims at all does not matter, for a pod that stays takes the room as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.relaxed.classes import NodeClass
from kantopt.cp.relaxed.kinds import PodKind
from kantopt.cp.variables import Terms, weighted
from kantopt.schema.model import Rule

if TYPE_CHECKING:
    from kantopt.cp.relaxed.model import Relaxation


def add_kept_room(m: Relaxation) -> None:
    """Add for each priority of possible victims what their room leaves to others."""
    instance = m.instance
    if not instance.strict or not instance.on(Rule.PRIORITY):
        return
    standing = {k.index: m.classes.standing(k) for k in m.kinds.pods if k.evictable}
    done: set[tuple[frozenset[int], frozenset[int]]] = set()
    for priority in sorted({instance.job_of(m.kinds.pods[k].one.index).priority for k in standing}):
        side = _Side(m, priority, standing)
        sides = frozenset(side.back), frozenset(side.lesser)
        if sides not in done:
            done.add(sides)
            for c in m.classes.classes:
                side.add(c)


class _Side:
    """Possible victims of a priority or a higher one, and arrivals that may not evict it.

    ``standing`` is how many pods of a kind that may be evicted are in each class now.
    """

    def __init__(self, m: Relaxation, priority: int, standing: Mapping[int, Mapping[int, int]]):
        self._m, self._standing = m, standing
        self.back: set[int] = set()
        self.lesser: set[int] = set()
        for kind in m.kinds.pods:
            job = m.instance.job_of(kind.one.index)
            if kind.evictable and job.priority >= priority:
                self.back.add(kind.index)
            if kind.arrives and not (job.may_preempt and job.priority > priority):
                self.lesser.add(kind.index)

    def add(self, c: NodeClass) -> None:
        """Add the rows of a class, those that victims who are back could break."""
        m = self._m
        counts: dict[int, LinearExprT] = {}
        for row in m.rows[c.index]:
            back = any(self._standing[k].get(c.index) for k in self.back & row.weights.keys())
            if not back or self.lesser.isdisjoint(row.weights):
                continue
            for k in row.weights:
                if k not in counts:
                    counts[k] = self._kept(m.kinds.pods[k], c)
            kept = [(counts[k], weight) for k, weight in row.weights.items()]
            stays = sum(pods * weight for pods, weight in kept if isinstance(pods, int))
            others: Terms = [(pods, weight) for pods, weight in kept if not isinstance(pods, int)]
            m.cp.add(weighted(others) <= row.limit - stays)

    def _kept(self, kind: PodKind, c: NodeClass) -> LinearExprT:
        """Pods of a kind in a class that leave no room to others, at least."""
        m, k, i = self._m, kind.index, c.index
        if not kind.movable and k in self.back:
            return self._standing[k].get(i, 0)
        if not kind.movable:
            return m.at[k][i] if k in self.lesser or not kind.arrives else 0
        kept = [m.stay[k]]
        if k in self.back:
            kept.append(m.lost[k])
        if k in self.lesser:
            kept.append(m.arrived[k])
        return weighted([(each[i], 1) for each in kept if i in each])
