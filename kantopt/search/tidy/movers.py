"""Which running pods may move, where to, and how many of them: the rules that a move must keep."""

from __future__ import annotations

from collections import Counter

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.job import TopologyNeed
from kantopt.problem.placement import Spots
from kantopt.schema.model import Rule
from kantopt.search.shapes import Mask
from kantopt.search.state import State, best_devices


class Movers:
    """Moves of single pods in a state, counted against the limits.

    What is said of topology and budgets is on the safe side: some moves that are legal are left
    out, and a placement is to be judged in the end.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        instance = state.instance
        self._limits = instance.model.limits
        self._needs: dict[int, list[TopologyNeed]] = {}
        for need in instance.topology_needs:
            self._needs.setdefault(need.job, []).append(need)
        self._total = 0
        self._counts: Counter[tuple[str, object]] = Counter()
        self._journal: list[tuple[int, Spot, Spot]] = []
        self._free = freedom_of(instance)
        sliced = {need.job for need in instance.topology_needs if need.slice_level is not None}
        rigid = sliced if instance.on(Rule.SLICES) else ()
        self.movable = [
            self._free.moves[podset.index] > 0 and not podset.daemon and podset.job not in rigid
            for podset in instance.podsets
        ]
        """Of each pod set, whether its pods may move one by one."""
        self._count_start()

    def _count_start(self) -> None:
        """Count what the state has moved already."""
        for podset in self.state.instance.podsets:
            now = self.state.spots[podset.index]
            if podset.running and now != podset.current:
                spots = zip(_more(podset.current, now), _more(now, podset.current), strict=False)
                for source, target in spots:
                    self._count(podset.index, source, target, 1)

    def untied(self, s: int) -> bool:
        """Whether where pods of a pod set are is of no concern to topology and neighbours."""
        return s not in self._free.tied

    def left(self) -> int | None:
        """Pods that may still move; ``None`` if any number."""
        return None if self._limits.moves is None else self._limits.moves - self._total

    def targets(self, s: int, source: Spot) -> Mask:
        """Nodes that a pod may move to, but for their room."""
        state, instance = self.state, self.state.instance
        mask = state.allowed(s).copy()
        mask[source.node] = False
        if source.node in instance.held:
            return np.zeros_like(mask)
        if state.neighbours.concern(s):
            # As if it had left: it is neither in its own way nor company to itself.
            state.neighbours.add(s, source.node, -1, arrival=False)
            admitted = state.neighbours.admits(s)
            state.neighbours.add(s, source.node, 1, arrival=False)
            if admitted is not None:
                mask &= admitted
        podset = instance.podsets[s]
        for need in self._needs.get(podset.job, ()):
            if need.required is None or not instance.on(Rule.TOPOLOGY):
                continue
            if podset.role in need.roles:
                mask &= self._domain(need, source.node)
        return mask

    def _domain(self, need: TopologyNeed, n: int) -> Mask:
        """Nodes of the domain that holds a node; of a single pod, of any domain."""
        instance = self.state.instance
        assert need.required is not None
        of = instance.topology.domain_of[need.required]
        job = instance.jobs[need.job]
        pods = sum(self.state.role_placed(job.index, i) for i in need.roles)
        if pods == 1:
            return np.array([domain is not None for domain in of])
        return np.array([domain is not None and domain == of[n] for domain in of])

    def allows(self, s: int, source: Spot, n: int) -> bool:
        """Whether the limits allow one more pod to move to a node."""
        job, limits, counts = self.state.instance.job_of(s), self._limits, self._counts
        left = self.left()
        if left is not None and left <= 0:
            return False
        return all(
            limit is None or counts[key] < limit
            for limit, key in (
                (job.most_moves, ("job", job.index)),
                (limits.moves_per_namespace, ("namespace", job.namespace)),
                (limits.arrivals_per_node, ("arrivals", n)),
                (limits.departures_per_node, ("departures", source.node)),
            )
        )

    def move(self, s: int, source: Spot, n: int) -> bool:
        """Move one pod to a node that has room for it, on the devices with least left there."""
        if not self.allows(s, source, n):
            return False
        devices = best_devices(self.state, s, n) if self.state.shape[s].needs else ()
        if devices is None:
            return False
        target = Spot(n, devices)
        self.state.add(s, source, -1)
        self.state.add(s, target, 1)
        self._count(s, source, target, 1)
        self._journal.append((s, source, target))
        return True

    def mark(self) -> int:
        """Return a point to come back to with :meth:`undo`."""
        return len(self._journal)

    def undo(self, mark: int) -> None:
        """Take back all moves since a mark; nothing else may have changed the state."""
        self.state.undo(self.state.mark() - 2 * (len(self._journal) - mark))
        while len(self._journal) > mark:
            self._count(*self._journal.pop(), -1)

    def _count(self, s: int, source: Spot, target: Spot, sign: int) -> None:
        job = self.state.instance.job_of(s)
        self._total += sign
        self._counts["job", job.index] += sign
        self._counts["namespace", job.namespace] += sign
        self._counts["arrivals", target.node] += sign
        self._counts["departures", source.node] += sign


def _more(one: Spots, other: Spots) -> list[Spot]:
    """Spots of which the first has more pods than the second, as often as it has more."""
    return [x for x, k in sorted(one.items()) for _ in range(k - other.get(x, 0))]
