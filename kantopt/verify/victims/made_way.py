"""Moves that made way for others, undone in thought."""

from __future__ import annotations

from functools import cached_property

from kantopt.problem.cluster import Spot
from kantopt.verify.rules.priority import Pods, in_the_way, named_in
from kantopt.verify.step import Loads, Step

Changes = list[tuple[int, Spot, int]]
"""Pods that come to spots; below 0 they leave."""


class MadeWay:
    """Undoes moves of a step, from the snapshot to a plan, for those who would not be there."""

    def __init__(self, step: Step) -> None:
        self._step = step

    @cached_property
    def mates(self) -> frozenset[int]:
        """Pod sets that anti-affinity names or spread counts."""
        return named_in(self._step)

    @cached_property
    def _left(self) -> dict[int, list[int]]:
        """Pod sets that moved and of which nobody is evicted, by the nodes that they left."""
        step, found = self._step, dict[int, list[int]]()
        for s in step.changed:
            if step.moved(s) and not step.evicted(s):
                for n in {spot.node for spot in step.departures[s]}:
                    found.setdefault(n, []).append(s)
        return found

    def shift(self, loads: Loads, named: Pods, pods: Changes, sign: int) -> None:
        """Count pods in or out, also of those that anti-affinity names."""
        for s, spot, k in pods:
            loads.add(s, spot, sign * k)
            if s in self.mates:
                named[s, spot] = named.get((s, spot), 0) + sign * k

    def undo(self, loads: Loads, named: Pods, freed: Changes) -> Changes:
        """Put pods back that left nodes where there is room again; return what that changes.

        With them go back those that left the nodes to which they had moved, and so on.

        Parameters
        ----------
        loads, named
            What there is, and the pods of it that anti-affinity names: both are changed.
        freed
            Pods that are gone, on whose nodes there may be room again.
        """
        step, changes = self._step, Changes()
        nodes = sorted({spot.node for _, spot, _ in freed})
        seen: set[int] = set()
        for n in nodes:  # grows
            for s in self._left.get(n, ()):
                if s in seen:
                    continue
                seen.add(s)
                came = [(s, spot, k) for spot, k in step.arrivals[s].items()]
                home = [(s, spot, k) for spot, k in step.departures[s].items()]
                self.shift(loads, named, came, -1)
                if in_the_way(step, (loads, named), {(s, spot): k for _, spot, k in home}):
                    self.shift(loads, named, came, 1)
                    continue
                self.shift(loads, named, home, 1)
                changes += [*home, *((s, spot, -k) for _, spot, k in came)]
                nodes += [spot.node for _, spot, _ in came]
        return changes
