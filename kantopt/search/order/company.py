"""Pods that must be near others: whom their arrival waits for, and who must stay until then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity
from kantopt.search.order.units import Unit

_Place = tuple[int, str, str]
"""Affinity by its number, label and domain."""


class Company:
    """Who waits for whom because of pod affinity.

    Where a pod stays that others must be near nobody need wait for anybody. Elsewhere those who
    come wait for the first who has come, who leaves waits for those who have come, and the first
    of all waits for all who have left.
    """

    def __init__(self, instance: Instance, units: Sequence[Unit]) -> None:
        self._instance = instance
        changes = [change for unit in units for change in unit.changes]
        coming = {change.podset for change in changes if change.target is not None}
        self._nears = [near for near in instance.affinities if near.owner in coming]
        self._brought: dict[_Place, int] = {}
        """The first that brought a pod to be near."""
        self._came: dict[_Place, set[int]] = {}
        """Those that brought pods which must be near another."""
        self._left: dict[int, set[int]] = {}
        """Those that took pods to be near away, from wherever."""
        self._safe: set[_Place] = set()
        for i, near in enumerate(self._nears):
            stay: dict[_Place, int] = {}
            for s in near.anchors:
                for spot, pods in instance.podsets[s].current.items():
                    for place in self._places(i, near, spot):
                        stay[place] = stay.get(place, 0) + pods
            for change in changes:
                if change.podset in near.anchors and change.source is not None:
                    for place in self._places(i, near, change.source):
                        stay[place] = stay.get(place, 0) - change.pods
            self._safe |= {place for place, pods in stay.items() if pods > 0}

    def _places(self, i: int, near: Affinity, spot: Spot) -> Iterator[_Place]:
        for key in near.keys:
            domain = self._instance.label_domain(spot.node, key)
            if domain is not None:
                yield i, key, domain

    def waits(self, unit: Unit, v: int) -> set[int]:
        """Return whom a unit, number ``v`` to be done, waits for, and note it as done."""
        found: set[int] = set()
        for i, near in enumerate(self._nears):
            sides = {near.owner, *near.anchors}
            changes = [change for change in unit.changes if change.podset in sides]
            targets = [(c.podset, c.target) for c in changes if c.target is not None]
            for s, spot in targets:
                places = self._unsafe(self._places(i, near, spot))
                known = [self._brought[place] for place in places if place in self._brought]
                found.update(known)
                if s == near.owner and places and not known:
                    found |= self._left.get(i, set())
            for s, spot in targets:
                for place in self._unsafe(self._places(i, near, spot)):
                    if s in near.anchors:
                        self._brought.setdefault(place, v)
                    if s == near.owner:
                        self._came.setdefault(place, set()).add(v)
            for change in changes:
                if change.podset in near.anchors and change.source is not None:
                    self._left.setdefault(i, set()).add(v)
                    for place in self._unsafe(self._places(i, near, change.source)):
                        found |= self._came.get(place, set())
        return found

    def _unsafe(self, places: Iterable[_Place]) -> list[_Place]:
        return [place for place in places if place not in self._safe]
