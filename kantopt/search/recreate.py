"""Ruin and recreate (Schrimpf et al. 2000): pending pods of a few nodes are placed anew.

Only pods that nobody asks to be near each other. Two of a kind are as good as each other.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

from kantopt.clock import Deadline
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.loose_kinds import LooseKind, kinds_of
from kantopt.search.shapes import ClassNeed
from kantopt.search.state import State

_NODES = (1, 2, 2, 3)
_SHARES = (0.3, 0.6, 1.0)
"""How many of the pods on a node are lifted."""
_NOISES = (0.1, 0.3, 0.6, 1.0)
"""By how many GPUs the size that the order goes by may be off."""
_MOST_WAITING = 6
"""Pods of one kind among those that wait that are tried at a time."""
_MOST_KINDS = 40
_CLOCK = 32
"""Trials between two looks at the clock."""

_Place = tuple[int, int, tuple[int, ...]]
"""Kind of a pod, its node, and the devices that it holds there."""


def recreate_loose_pods(
    instance: Instance,
    placement: Placement,
    tiers: Sequence[Tier],
    deadline: Deadline,
    *,
    seed: int = 0,
    ended: Callable[[], bool] = lambda: False,
) -> Placement:
    """Place more of the pending pods by placing others of them elsewhere.

    What runs stays where it is, and so do pods that are to be near others. Again and again the
    loose pods of a few nodes are lifted, put together with some that wait, and placed in a random
    order that favours the large; what is no worse is kept (Schrimpf et al. 2000, J. Comput. Phys.
    159).

    Parameters
    ----------
    placement
        A legal placement.
    deadline
        When to end; before that the search ends when it has long been in vain.
    seed
        Of the random choices.
    ended
        Asked with the clock: whether nobody waits for this any more.

    Returns
    -------
    Placement
        The placement itself if nothing more could be placed.
    """
    state = State(instance, placement)
    search = _Search(state, kinds_of(state, tiers), random.Random(seed))
    return search.placed() if search.run(deadline, ended) else placement


class _Room:
    """What a node has left within a trial.

    Plain lists, since a step of the state counts for all rules and a trial needs few of them. Only
    what is kept of a trial becomes steps.
    """

    __slots__ = ("devices", "free", "gpus", "n")

    def __init__(self, state: State, n: int, gpus: int) -> None:
        self.n = n
        self.free: list[int] = state.free[:, n].tolist()
        self.devices: list[list[int]] = state.devices[:, n].T.tolist()
        self.gpus = gpus
        """Milli-GPU."""

    def take(self, kind: LooseKind, devices: Iterable[int]) -> None:
        """Let a pod of a kind take what it asks for."""
        free = self.free
        for r, amount in kind.asks:
            free[r] -= amount
        for d in devices:
            left = self.devices[d]
            for row, amount in kind.device_asks:
                left[row] -= amount
        self.gpus -= kind.gpus

    def give(self, kind: LooseKind, devices: Iterable[int]) -> None:
        """Give back what a pod of a kind has taken."""
        free = self.free
        for r, amount in kind.asks:
            free[r] += amount
        for d in devices:
            left = self.devices[d]
            for row, amount in kind.device_asks:
                left[row] += amount
        self.gpus += kind.gpus


class _Search:
    def __init__(self, state: State, kinds: Sequence[LooseKind], rng: random.Random) -> None:
        self.state = state
        self.kinds = kinds
        self.rng = rng
        instance = state.instance
        self.kind_of = [-1] * len(instance.podsets)
        """Kind of each pod set; -1 of those that are not loose."""
        self.felt = any(state.neighbours.concern(kind.podsets[0]) for kind in kinds)
        """Whether neighbours have a say in where some of them go."""
        self.waiting: dict[int, list[int]] = {}
        """Pods of each kind that are not placed, by pod set; a kind without any is missing."""
        for k, kind in enumerate(kinds):
            for s in kind.podsets:
                self.kind_of[s] = k
                if pods := instance.podsets[s].count - state.placed[s]:
                    self.waiting.setdefault(k, []).extend([s] * pods)
        left = {
            spot.node
            for podset in instance.podsets
            for spot, pods in podset.current.items()
            if state.spots[podset.index].get(spot, 0) < pods
        }
        self.nodes = [n for n in range(state.size) if n not in left]
        """Nodes that pods may come to and go from: room that others were evicted for stays."""
        self.holding = [
            n for n in self.nodes if any(self.kind_of[s] >= 0 for s, _ in state.bound_on.get(n, ()))
        ]
        """Nodes with loose pods: on others nothing can be exchanged."""
        self.gpus: list[int] = state.gpus_left().tolist()
        self.offered: list[list[int]] = np.maximum(state.capacity, 1).T.tolist()
        self.of_class: list[dict[int, list[int]]] = [{} for _ in instance.nodes]
        """Devices of each node by class."""
        for n, d in np.argwhere(state.device_class >= 0).tolist():
            self.of_class[n].setdefault(int(state.device_class[n, d]), []).append(d)

    def run(self, deadline: Deadline, ended: Callable[[], bool]) -> bool:
        """Search until the time is up or nothing is found any more; return if anything was."""
        pods = sum(p.count for p in self.state.instance.podsets if self.kind_of[p.index] >= 0)
        patience = min(20_000, 200 + 20 * pods)
        idle, found, trials = 0, False, 0
        while idle < patience and self.waiting and self.holding:
            if trials % _CLOCK == 0 and (deadline.cuts() or ended()):
                break
            trials += 1
            idle += 1
            if self._try(self._draw()):
                idle, found = 0, True
        return found

    def _draw(self) -> list[_Room]:
        """Choose nodes: of two at random the one with more GPUs left, and any others."""
        rng, gpus = self.rng, self.gpus
        first, second = rng.choice(self.holding), rng.choice(self.holding)
        nodes = [first if gpus[first] >= gpus[second] else second]
        for _ in range(rng.choice(_NODES) - 1):
            n = rng.choice(self.nodes)
            if n not in nodes:
                nodes.append(n)
        return [_Room(self.state, n, gpus[n]) for n in nodes]

    def _try(self, rooms: list[_Room]) -> bool:
        """Place the pods of some nodes anew, unless that is worse; return whether it is better."""
        kinds = self.kinds
        lifted = self._lift(rooms)
        pool = [self.kind_of[s] for s, _ in lifted]
        gain = -sum(kinds[k].value for k in pool)
        pool += self._some_waiting()
        rank = self._ranks(pool)
        pool.sort(key=rank.__getitem__)
        placed: list[_Place] = []
        full: set[int] = set()
        for k in pool:
            if k in full:
                continue
            room, devices = self._best(kinds[k], self._bearing(kinds[k], rooms))
            if room is None:
                full.add(k)
                continue
            room.take(kinds[k], devices)
            placed.append((k, room.n, devices))
            gain += kinds[k].value
        if gain < 0 or not self._borne(lifted, placed):
            return False
        self._keep(lifted, placed)
        for room in rooms:
            self.gpus[room.n] = room.gpus
        return gain > 0

    def _lift(self, rooms: Iterable[_Room]) -> list[tuple[int, Spot]]:
        """Take pods away within a trial; return pod set and spot of each."""
        kinds, kind_of = self.kinds, self.kind_of
        random_, share = self.rng.random, self.rng.choice(_SHARES)
        lifted = []
        for room in rooms:
            for (s, spot), pods in self.state.bound_on.get(room.n, {}).items():
                k = kind_of[s]
                for _ in range(pods if k >= 0 else 0):
                    if random_() < share:
                        room.give(kinds[k], spot.devices)
                        lifted.append((s, spot))
        return lifted

    def _borne(self, lifted: Iterable[tuple[int, Spot]], placed: Iterable[_Place]) -> bool:
        """Whether neighbours bear what a trial has made of its nodes."""
        if not self.felt:
            return True
        state, mark = self.state, self.state.mark()
        for s, spot in lifted:
            state.add(s, spot, -1)
        borne = True
        for k, n, devices in placed:
            s = self.kinds[k].podsets[0]
            if not state.neighbours.bear(s, n):
                borne = False
                break
            state.add(s, Spot(n, devices), 1)
        borne = borne and state.neighbours.holds({s for s, _, _ in state.journal[mark:]})
        state.undo(mark)
        return borne

    def _keep(self, lifted: Iterable[tuple[int, Spot]], placed: Iterable[_Place]) -> None:
        """Change the state by what a trial has made of its nodes."""
        state, waiting = self.state, self.waiting
        come = Counter(placed)
        for s, spot in lifted:
            k = self.kind_of[s]
            place = (k, spot.node, spot.devices)
            if come[place]:
                come[place] -= 1
            else:
                state.add(s, spot, -1)
                waiting.setdefault(k, []).append(s)
        for (k, n, devices), pods in come.items():
            for _ in range(pods):
                state.add(waiting[k].pop(), Spot(n, devices), 1)
            if not waiting.get(k, True):
                del waiting[k]

    def _some_waiting(self) -> list[int]:
        waiting = self.waiting
        chosen: Iterable[int] = waiting
        if len(waiting) > _MOST_KINDS:
            chosen = self.rng.sample(sorted(waiting), _MOST_KINDS)
        return [k for k in chosen for _ in range(min(len(waiting[k]), _MOST_WAITING))]

    def _ranks(self, pool: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Return what to place first: the important, then the large, not quite strictly."""
        random_, noise = self.rng.random, self.rng.choice(_NOISES)
        return {
            k: (-self.kinds[k].priority, -self.kinds[k].size - noise * random_()) for k in set(pool)
        }

    def _best(
        self, kind: LooseKind, rooms: Iterable[_Room]
    ) -> tuple[_Room | None, tuple[int, ...]]:
        """Node and devices for a pod: where fewest GPUs are left over, then where most else is."""
        other = kind.other
        best, chosen = None, None
        where: tuple[int, ...] = ()
        for room in rooms:
            free = room.free
            for r, amount in kind.asks:
                if free[r] < amount:
                    break
            else:
                if room.n not in kind.allowed:
                    continue
                devices: tuple[int, ...] = ()
                left = room.gpus
                if kind.need is not None:
                    left, devices = self._devices(kind.need, room)
                    if not devices:
                        continue
                share = free[other] / self.offered[room.n][other] if other is not None else 0.0
                rank = (left, -share if kind.size > 0 else share)
                if best is None or rank < best:
                    best, chosen, where = rank, room, devices
        return chosen, where

    def _bearing(self, kind: LooseKind, rooms: list[_Room]) -> list[_Room]:
        """Rooms of nodes on which neighbours bear one more pod of a kind, before a trial."""
        admitted = self.state.neighbours.admits(kind.podsets[0]) if self.felt else None
        return rooms if admitted is None else [room for room in rooms if admitted[room.n]]

    def _devices(self, need: ClassNeed, room: _Room) -> tuple[int, tuple[int, ...]]:
        """Devices with least left that take a pod, and what they have left; none if too few do."""
        able, devices = [], room.devices
        for d in self.of_class[room.n].get(need.device_class, ()):
            left, total = devices[d], 0
            for row, amount in need.ask:
                if left[row] < amount:
                    break
                total += left[row]
            else:
                able.append((total, d))
        if len(able) < need.count:
            return 0, ()
        if need.count == 1:
            total, d = min(able)
            return total, (d,)
        able.sort()
        able = able[: need.count]
        return sum(total for total, _ in able), tuple(sorted(d for _, d in able))

    def placed(self) -> Placement:
        """Return the placement as it stands; of a kind the first pods have the places."""
        state = self.state
        changes: dict[int, dict[Spot, int]] = {}
        for kind in self.kinds:
            spots = [
                spot for s in kind.podsets for spot, k in state.spots[s].items() for _ in range(k)
            ]
            rest = iter(sorted(spots))
            for s in kind.podsets:
                changes[s] = Counter(islice(rest, state.instance.podsets[s].count))
        return state.placement().replace(changes)
