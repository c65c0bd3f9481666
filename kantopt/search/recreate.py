"""Ruin and recreate (Schrimpf et al. 2000): loose pods of a few nodes are placed anew."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.job import DeviceNeed
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.search.loose import Kind, Loose, Place

_NODES = (1, 2, 2, 3)
_SHARES = (0.3, 0.6, 1.0)
"""How many of the pods on a node are lifted."""
_NOISES = (0.1, 0.3, 0.6, 1.0)
"""By how many GPUs the size that the order goes by may be off."""
_MOST_WAITING = 6
"""Pods of one kind among those that wait that are tried at a time."""
_MOST_KINDS = 40
_NOWHERE: Place = (-1, ())
_CLOCK = 32
"""Trials between two looks at the clock."""


def recreate(
    instance: Instance,
    placement: Placement,
    tiers: Sequence[Tier],
    deadline: Deadline,
    *,
    seed: int = 0,
) -> Placement:
    """Place more of the pending pods by placing others of them elsewhere.

    What runs stays where it is, and so do pods that rules tie to others. Again and again the loose
    pods of a few nodes are lifted, put together with some that wait, and placed in a random order
    that favours the large; what is no worse is kept (Schrimpf et al. 2000, J. Comput. Phys. 159).

    Parameters
    ----------
    placement
        A legal placement.
    deadline
        When to end; before that the search ends when it has long been in vain.
    seed
        Of the random choices.

    Returns
    -------
    Placement
        The placement itself if nothing more could be placed.
    """
    loose = Loose(instance, placement, tiers)
    search = _Search(loose, random.Random(seed))
    return loose.placed() if search.run(deadline) else placement


class _Search:
    def __init__(self, loose: Loose, rng: random.Random) -> None:
        self.loose = loose
        self.kinds = loose.kinds
        self.rng = rng
        self.holding = [n for n in loose.nodes if loose.on[n]]
        """Nodes with loose pods: on others nothing can be exchanged."""

    def run(self, deadline: Deadline) -> bool:
        """Search until the time is up or nothing is found any more; return if anything was."""
        pods = sum(map(len, self.loose.on)) + sum(self.loose.waiting.values())
        patience = min(20_000, 200 + 20 * pods)
        idle, found, trials = 0, False, 0
        while idle < patience and self.loose.waiting and self.holding:
            if trials % _CLOCK == 0 and deadline.cuts():
                break
            trials += 1
            idle += 1
            if self._try(self._draw()):
                idle, found = 0, True
        return found

    def _draw(self) -> list[int]:
        """Choose nodes: of two at random the one with more GPUs left, and any others."""
        rng, left = self.rng, self.loose.gpus_left
        first, second = rng.choice(self.holding), rng.choice(self.holding)
        nodes = [first if left(first) >= left(second) else second]
        for _ in range(rng.choice(_NODES) - 1):
            n = rng.choice(self.loose.nodes)
            if n not in nodes:
                nodes.append(n)
        return nodes

    def _try(self, nodes: list[int]) -> bool:
        """Place the pods of some nodes anew; return whether that is better, undo it if worse."""
        loose, kinds = self.loose, self.kinds
        before = [
            (n, loose.free[n][:], [left[:] for left in loose.devices[n]], loose.on[n])
            for n in nodes
        ]
        lifted = self._lift(nodes)
        pool = lifted + self._some_waiting()
        rank = self._ranks(pool)
        pool.sort(key=rank.__getitem__)
        placed: list[int] = []
        full: set[int] = set()
        for k in pool:
            if k in full:
                continue
            n, devices = self._best(kinds[k], nodes)
            if n < 0:
                full.add(k)
                continue
            loose.take(k, n, devices)
            loose.on[n].append((k, devices))
            placed.append(k)
        gain = sum(kinds[k].value for k in placed) - sum(kinds[k].value for k in lifted)
        if gain < 0:
            for n, free, devices_left, on in before:
                loose.free[n], loose.devices[n], loose.on[n] = free, devices_left, on
            return False
        self._count(lifted, 1)
        self._count(placed, -1)
        return gain > 0

    def _lift(self, nodes: Iterable[int]) -> list[int]:
        loose, random_, share = self.loose, self.rng.random, self.rng.choice(_SHARES)
        lifted = []
        for n in nodes:
            stay: list[Place] = []
            for place in loose.on[n]:
                if random_() < share:
                    loose.give(place[0], n, place[1])
                    lifted.append(place[0])
                else:
                    stay.append(place)
            loose.on[n] = stay
        return lifted

    def _some_waiting(self) -> list[int]:
        waiting = self.loose.waiting
        chosen: Iterable[int] = waiting
        if len(waiting) > _MOST_KINDS:
            chosen = self.rng.sample(sorted(waiting), _MOST_KINDS)
        return [k for k in chosen for _ in range(min(waiting[k], _MOST_WAITING))]

    def _ranks(self, pool: Iterable[int]) -> dict[int, tuple[int, float]]:
        """Return what to place first: the important, then the large, not quite strictly."""
        random_, noise = self.rng.random, self.rng.choice(_NOISES)
        return {
            k: (-self.kinds[k].priority, -self.kinds[k].size - noise * random_()) for k in set(pool)
        }

    def _best(self, kind: Kind, nodes: Iterable[int]) -> Place:
        """Node and devices for a pod: where fewest GPUs are left over, then where most else is."""
        loose, other = self.loose, kind.other
        best, chosen = None, _NOWHERE
        for n in nodes:
            free = loose.free[n]
            for r, amount in kind.asks:
                if free[r] < amount:
                    break
            else:
                if n not in kind.allowed:
                    continue
                devices: tuple[int, ...] = ()
                if kind.need is not None:
                    left, devices = self._devices(kind.need, kind.device_asks, n)
                    if not devices:
                        continue
                elif kind.tight is not None:
                    left = free[kind.tight]
                else:
                    left = loose.gpus_left(n)
                share = free[other] / loose.capacity[n][other] if other is not None else 0.0
                rank = (left, -share if kind.size > 0 else share)
                if best is None or rank < best:
                    best, chosen = rank, (n, devices)
        return chosen

    def _devices(
        self, need: DeviceNeed, asks: tuple[tuple[int, int], ...], n: int
    ) -> tuple[int, tuple[int, ...]]:
        """Devices with least left that take a pod, and what they have left; none if too few do."""
        able = []
        devices = self.loose.devices[n]
        for d in self.loose.of_class[n].get(need.device_class, ()):
            left, total = devices[d], 0
            for r, amount in asks:
                if left[r] < amount:
                    break
                total += left[r]
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

    def _count(self, pods: Iterable[int], sign: int) -> None:
        waiting = self.loose.waiting
        for k in pods:
            left = waiting.get(k, 0) + sign
            if left:
                waiting[k] = left
            else:
                waiting.pop(k, None)
