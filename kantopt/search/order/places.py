"""Where pods could stop over: of places that are alike, no more than there are pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, islice, product

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.units import Key, Unit, taken

UNTOUCHED = 12
"""Of the nodes that a plan leaves alone, how many are looked at: the roomiest."""
CHOICES = 20
"""Sets of devices that are looked at on a node for one pod."""


def places(
    instance: Instance,
    podsets: Sequence[int],
    units: Sequence[Unit],
    before: Sequence[Unit],
    pods: int,
) -> dict[int, list[Spot]]:
    """Return the spots that pods of each pod set could ever be on while ``units`` are done.

    All nodes that units leave or go to, and of the others the roomiest; none of these is better
    than one that has room for all.

    Parameters
    ----------
    podsets
        Whose pods move one by one.
    units
        All that is to be done.
    before
        What has been done before.
    pods
        How many pods may stop over at the same time.
    """
    most = _Most(instance, units, before)
    touched = {
        spot.node
        for unit in units
        for change in unit.changes
        for spot in (change.source, change.target)
        if spot is not None
    }
    found: dict[int, list[Spot]] = {s: [] for s in podsets}
    others: dict[int, dict[int, list[Spot]]] = {}
    for n in range(len(instance.nodes)):
        for s in podsets:
            spots = list(most.spots(s, n))
            if spots and n in touched:
                found[s] += spots
            elif spots:
                others.setdefault(n, {})[s] = spots
    demand = {s: sum(instance.podsets[s].demand) for s in podsets}
    ranked = sorted(others, key=lambda n: (-sum(demand[s] for s in others[n]), -most.room(n), n))
    alone = [n for n in ranked if len(others[n]) == len(found) and most.holds(n, podsets, pods)]
    for n in alone[:1] or sorted(ranked[:UNTOUCHED]):
        for s, spots in others[n].items():
            found[s] += spots
    return found


class _Most:
    """The most that can be free of each thing, whichever of the units have been done."""

    def __init__(self, instance: Instance, units: Sequence[Unit], before: Sequence[Unit]) -> None:
        self.instance = instance
        self._ledger = Ledger(instance)
        self._left: dict[Key, int] = {}
        for change in (change for unit in (*units, *before) for change in unit.changes):
            self._note(change.podset, change.source, change.pods)
        for change in (change for unit in before for change in unit.changes):
            self._note(change.podset, change.target, -change.pods)

    def _note(self, s: int, spot: Spot | None, pods: int) -> None:
        if spot is not None:
            for key, amount in taken(self.instance, s, spot):
                self._left[key] = self._left.get(key, 0) + pods * amount

    def free(self, key: Key) -> int:
        return self._ledger.free(key) + self._left.get(key, 0)

    def room(self, n: int) -> int:
        node = self.instance.nodes[n]
        limited = [("node", n, 0, r) for r, limit in enumerate(node.capacity) if limit is not None]
        return sum(self.free(key) for key in limited)

    def holds(self, n: int, podsets: Sequence[int], pods: int) -> bool:
        """Whether a node has room for as many of the largest pods, none of which takes devices."""
        for s in podsets:
            if self.instance.podsets[s].devices or any(
                self.free(key) < pods * amount for key, amount in taken(self.instance, s, Spot(n))
            ):
                return False
        return not self.instance.named

    def spots(self, s: int, n: int) -> Iterator[Spot]:
        podset, node = self.instance.podsets[s], self.instance.nodes[n]
        if self.instance.on(Rule.ELIGIBILITY) and n not in podset.allowed:
            return
        choices = [
            combinations(node.devices_of(need.device_class), need.count) for need in podset.devices
        ]
        for chosen in islice(product(*choices), CHOICES):
            spot = Spot(n, tuple(sorted(device for part in chosen for device in part)))
            if all(self.free(key) >= amount for key, amount in taken(self.instance, s, spot)):
                yield spot
