"""One wave in the making: what may still join it, given what it already brings and takes."""

from __future__ import annotations

from collections.abc import Iterable

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.difference import Change
from kantopt.search.state import State

Unit = tuple[Change, ...]
"""Changes that belong into one wave."""


class OpenWave:
    """Collects changes while the wave stays legal.

    Two states are kept: ``settled`` as it is when the wave is done, and ``held``, in which pods
    that are evicted or moved live still hold their places; room is judged by the latter.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.settled = State(instance)
        self.held = State(instance)
        self.changes: list[Change] = []
        self._leaving: list[Change] = []
        self._gone = [0] * len(instance.budgets)
        self._restarting = [0] * len(instance.budgets)

    def close(self) -> list[Change]:
        """End the wave: what leaves is gone, restarted pods are ready. Returns its changes."""
        for change in self._leaving:
            if change.source is not None:
                self.held.add(change.podset, change.source, -change.pods)
        changes, self.changes, self._leaving = self.changes, [], []
        self._restarting = [0] * len(self.instance.budgets)
        return changes

    def evict(self, changes: Iterable[Change]) -> None:
        """Add evictions; they are legal at any time."""
        for change in changes:
            self._depart(change)
            self.changes.append(change)
            for b in self.instance.podsets[change.podset].budgets:
                self._gone[b] += change.pods

    def add(self, unit: Unit) -> bool:
        """Add changes if the wave stays legal with them, else leave it as it is."""
        marks = self._mark()
        if self._budgets_allow(unit):
            for change in unit:
                self._depart(change)
            if all(self._arrive(change) for change in unit):
                self._accept([unit])
                return True
        self._undo(marks)
        return False

    def add_together(self, units: list[Unit]) -> list[Unit]:
        """Add units that fit only if others of them leave first; return those left over.

        Starts with all restarts at once and takes out those that do not fit until the rest does.
        """
        joint = [unit for unit in units if all(self._restarts(change) for change in unit)]
        joint = self._within_budgets(joint)
        while joint:
            marks = self._mark()
            for unit in joint:
                for change in unit:
                    self._depart(change)
            failing = None
            for unit in joint:
                if not all(self._arrive(change) for change in unit):
                    failing = unit
                    break
            if failing is None:
                self._accept(joint)
                return [unit for unit in units if unit not in joint]
            self._undo(marks)
            joint = [unit for unit in joint if unit is not failing]
        return units

    def _accept(self, units: list[Unit]) -> None:
        for unit in units:
            for change in unit:
                self.changes.append(change)
                if self._restarts(change):
                    for b in self.instance.podsets[change.podset].budgets:
                        self._restarting[b] += change.pods

    def _restarts(self, change: Change) -> bool:
        restart = self.instance.job_of(change.podset).move_mode == "restart"
        return change.kind == "move" and restart

    def _budgets_allow(self, unit: Unit) -> bool:
        if not self.instance.on(Rule.DISRUPTION):
            return True
        wanted: dict[int, int] = {}
        for change in unit:
            if self._restarts(change):
                for b in self.instance.podsets[change.podset].budgets:
                    wanted[b] = wanted.get(b, 0) + change.pods
        return all(
            self._gone[b] + self._restarting[b] + pods <= self.instance.budgets[b].allowed
            for b, pods in wanted.items()
        )

    def _within_budgets(self, units: list[Unit]) -> list[Unit]:
        """Leave out units beyond what the budgets bear in one wave."""
        kept: list[Unit] = []
        together: list[Change] = []
        for unit in units:
            if self._budgets_allow((*together, *unit)):
                kept.append(unit)
                together += unit
        return kept

    def _depart(self, change: Change) -> None:
        if change.source is None:
            return
        self.settled.add(change.podset, change.source, -change.pods)
        if self._restarts(change):
            self.held.add(change.podset, change.source, -change.pods)
        else:
            self._leaving.append(change)

    def _arrive(self, change: Change) -> bool:
        s, spot = change.podset, change.target
        if spot is None:
            return True
        for _ in range(change.pods if self.settled.neighbours.concern(s) else 1):
            pods = 1 if self.settled.neighbours.concern(s) else change.pods
            if not self._fits(s, spot, pods):
                return False
            self.settled.add(s, spot, pods)
            self.held.add(s, spot, pods)
        return True

    def _fits(self, s: int, spot: Spot, pods: int) -> bool:
        held, n, shape = self.held, spot.node, self.held.shape[s]
        if any(held.free[r, n] < pods * amount for r, amount in shape.asks):
            return False
        for need in shape.needs:
            for d in spot.devices:
                if held.device_class[n, d] == need.device_class and any(
                    held.devices[row, n, d] < pods * amount for row, amount in need.ask
                ):
                    return False
        if self.settled.neighbours.concern(s):
            admitted = self.settled.neighbours.admits(s)
            return admitted is None or bool(admitted[n])
        return True

    def _mark(self) -> tuple[int, int, int]:
        return self.settled.mark(), self.held.mark(), len(self._leaving)

    def _undo(self, marks: tuple[int, int, int]) -> None:
        self.settled.undo(marks[0])
        self.held.undo(marks[1])
        del self._leaving[marks[2] :]
