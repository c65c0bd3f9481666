"""Is there any order at all? Every place that each pod could be at, the fewest moves first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, count, islice, product

from kantopt.problem.cluster import Spot
from kantopt.problem.difference import Change
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.order.ledger import Ledger
from kantopt.search.order.steps import Configuration, Hop, Rooms, Step, units_in_order
from kantopt.search.order.units import Key, Unit, may_step_aside, taken

CHECKS = 100_000
"""Steps looked at before the search gives up: about a second's work."""
TOGETHER = 200
"""Ways in which restarts could go round together that are tried in one state."""


@dataclass
class Checks:
    """Steps that may still be looked at, in one search or several."""

    left: int = CHECKS


def way_round(
    instance: Instance,
    units: Sequence[Unit],
    before: Sequence[Unit] = (),
    over: Callable[[], bool] = lambda: False,
    checks: Checks | None = None,
) -> list[Unit] | None:
    """Return the units in an order in which each has room, stop-overs inserted, or ``None``.

    With the fewest stop-overs that there can be (A*): where a state of the cluster is reached twice
    the better way counts. Equal pods are told apart only in the end, so who goes where is open too.
    If it ends before all of ``checks`` have been made, no order of single steps exists, nor
    one with restarts that go round together to where they end.

    Parameters
    ----------
    units
        What is to be done.
    before
        What has been done before.
    over
        Asked now and then; true ends the search.
    checks
        How much may be looked at; shared by searches of which each has what the others left.
    """
    search = _Search(instance, units, before, checks or Checks())
    steps = search.run(over)
    return None if steps is None else units_in_order(instance, steps, search.atoms, search.podsets)


class _Search:
    def __init__(
        self, instance: Instance, units: Sequence[Unit], before: Sequence[Unit], checks: Checks
    ) -> None:
        self.instance, self.checks = instance, checks
        movers = [unit.changes[0] for unit in units if may_step_aside(unit)]
        self.atoms = [unit for unit in units if not may_step_aside(unit)]
        self.podsets = sorted({change.podset for change in movers})
        self.goals = [self._spots(movers, s, "target") for s in self.podsets]
        found = places(instance, self.podsets, units, before, len(movers))
        self.places = [found[s] for s in self.podsets]
        start = tuple(tuple(sorted(self._spots(movers, s, "source"))) for s in self.podsets)
        self.start = Configuration(start, 0)
        self.rooms = Rooms(instance, self.podsets, self.start, self.atoms, before)
        limit = instance.model.limits.moves
        self.spare = None if limit is None else limit - sum(u.moves for u in (*units, *before))

    @staticmethod
    def _spots(movers: Sequence[Change], s: int, end: str) -> list[Spot]:
        return [getattr(change, end) for change in movers if change.podset == s]

    def _away(self, state: Configuration) -> int:
        """Pods that are not where they should end."""
        return sum(
            (Counter(goal) - Counter(at)).total()
            for goal, at in zip(self.goals, state.at, strict=True)
        )

    def run(self, over: Callable[[], bool]) -> list[Step] | None:
        """Return the steps that lead to the goal."""
        number = count()
        key = (self.start, self.rooms.counted.none)
        best = {key: 0}
        came: dict[_Key, tuple[_Key, Step]] = {}
        heap = [(0, self._away(self.start) + len(self.atoms), next(number), key)]
        while heap and self.checks.left > 0 and not over():
            extra, left, _, key = heapq.heappop(heap)
            if extra > best[key]:
                continue
            if left == 0:
                return _back(came, key)
            state, counts = key
            away = self._away(state)
            for step, then in self._steps(state):
                after = self.rooms.counted.after(counts, step)
                if after is None:
                    continue
                still = self._away(then)
                more = extra + len(step.hops) + still - away
                if self.spare is not None and more > self.spare:
                    continue
                other = (then, after)
                if more < best.get(other, more + 1):
                    best[other] = more
                    came[other] = key, step
                    undone = len(self.atoms) - then.done.bit_count()
                    heapq.heappush(heap, (more, still + undone, next(number), other))
        return None

    def _steps(self, state: Configuration) -> Iterator[tuple[Step, Configuration]]:
        """All that can be done next."""
        view = self.rooms.view(state)
        self.checks.left -= len(self.atoms)
        for i in range(len(self.atoms)):
            if not state.done >> i & 1 and view.admits_atom(i):
                yield Step((), i), Configuration(state.at, state.done | 1 << i)
        for k, at in enumerate(state.at):
            for source in dict.fromkeys(at):
                self.checks.left -= len(self.places[k])
                for target in self.places[k]:
                    hop = Hop(k, source, target)
                    if target != source and view.admits((hop,)):
                        yield Step((hop,)), state.moved((hop,))
        for hops in self._joint(state):
            self.checks.left -= len(hops)
            if view.admits(hops):
                yield Step(hops), state.moved(hops)

    def _joint(self, state: Configuration) -> Iterator[tuple[Hop, ...]]:
        """Sets of restarts that could go to where they end all at once."""
        options: list[list[Hop | None]] = []
        for k, at in enumerate(state.at):
            job = self.instance.job_of(self.podsets[k])
            if job.move_mode != "restart":
                continue
            wanted = list(Counter(self.goals[k]) - Counter(at))
            for source in (Counter(at) - Counter(self.goals[k])).elements():
                options.append([None, *(Hop(k, source, target) for target in wanted)])
        most = self.instance.model.limits.moves_per_wave
        tried = set()
        for chosen in product(*options):
            hops = tuple(sorted(hop for hop in chosen if hop is not None))
            if len(hops) < 2 or hops in tried or (most is not None and len(hops) > most):
                continue
            tried.add(hops)
            if all(
                Counter(h.target for h in hops if h.k == k)[spot] <= self.goals[k].count(spot)
                for k, _, spot in hops
            ):
                yield hops
            if len(tried) == TOGETHER:
                return


_Key = tuple[Configuration, tuple[int, ...]]


def _back(came: dict[_Key, tuple[_Key, Step]], key: _Key) -> list[Step]:
    steps = []
    while key in came:
        key, step = came[key]
        steps.append(step)
    return steps[::-1]


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
    most = Most(instance, units, before)
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


class Most:
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
