"""Which running pods may move, where to, and how many of them: the rules that a move must keep."""

from __future__ import annotations

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.job import TopologyNeed
from kantopt.schema.model import Rule
from kantopt.search.preemption.kept_room import room_of_the_gone
from kantopt.search.shapes import Mask
from kantopt.search.state import State, best_devices


class Movers:
    """Moves of single pods in a state, as its pace allows.

    The room of those who are gone to begin with is kept for those who may evict them.
    What is said of topology and budgets is on the safe side: some moves that are legal are left
    out, and a placement is to be judged in the end.
    """

    def __init__(self, state: State) -> None:
        self.state = state
        instance = state.instance
        self._needs = instance.needs_of
        self._free = freedom_of(instance)
        self._kept = room_of_the_gone(state)
        sliced = {need.job for need in instance.topology_needs if need.slice_level is not None}
        rigid = sliced if instance.on(Rule.SLICES) else ()
        self.movable = [
            self._free.steps[podset.index] > 0 and not podset.daemon and podset.job not in rigid
            for podset in instance.podsets
        ]
        """Of each pod set, whether its pods may move one by one."""
        self.unsettled = [
            not podset.running and not podset.daemon and self.untied(podset.index)
            for podset in instance.podsets
        ]
        """Of each pod set, whether its pods are new and may as well be anywhere else."""

    def untied(self, s: int) -> bool:
        """Whether where pods of a pod set are is of no concern to topology and neighbours."""
        return s not in self._free.tied

    def left(self) -> int | None:
        """Pods that may still move; ``None`` if any number."""
        return self.state.pace.left()

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
        return mask & self.within_topology(s, source.node)

    def within_topology(self, s: int, n: int) -> Mask:
        """Nodes that a pod may move to from a node as far as required topology says."""
        instance = self.state.instance
        mask, podset = np.ones(self.state.size, dtype=np.bool_), instance.podsets[s]
        for need in self._needs.get(podset.job, ()):
            required = need.required is not None and instance.on(Rule.TOPOLOGY)
            if required and podset.role in need.roles:
                mask &= self._domain(need, n)
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

    def move(self, s: int, source: Spot, n: int) -> bool:
        """Move one pod to a node that has room for it, on the devices with least left there."""
        if not self.state.pace.allows(s, source.node, n):
            return False
        devices = best_devices(self.state, s, n) if self.state.shape[s].needs else ()
        if devices is None:
            return False
        mark = self.state.mark()
        self.state.add(s, source, -1)
        self.state.add(s, Spot(n, devices), 1)
        if not self._kept.holds():
            self.state.undo(mark)
            return False
        return True
