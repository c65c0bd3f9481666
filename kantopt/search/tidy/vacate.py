"""Bin emptying: nodes and domains, the cheapest first, their pods into the fullest others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.counted import counted
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.relocation.ejection import Ejection
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.restarts import Restarts
from kantopt.search.relocation.targets import Fullest
from kantopt.search.shapes import Mask
from kantopt.search.state import State
from kantopt.verify.in_use import fees_of, groups_of, members_in_use
from kantopt.verify.rules import is_legal

EMPTIED = (Metric.NODES_IN_USE, Metric.DOMAINS_IN_USE, Metric.COST, Metric.ENERGY)
"""Metrics that fall when a group of nodes is emptied."""
_PRICED = (Metric.COST, Metric.ENERGY)
"""Of these, those in which nodes count differently."""


@dataclass(frozen=True, slots=True)
class Group:
    """Nodes to be emptied together, used or not, and the pods that keep them in use."""

    nodes: tuple[int, ...]
    pods: tuple[tuple[int, Spot], ...]
    """Pod set and spot of each that moves by itself, the largest first."""
    jobs: tuple[int, ...]
    """Those that go together, with pods here."""
    moves: int
    """Pods that move if all leave."""


def compacted(
    instance: Instance, jobs: Iterable[Job], over: Callable[[], bool]
) -> Placement | None:
    """Return where pods are when so many nodes are empty as some jobs have pods, gangs the fewest.

    At most half of the pods may have moved that a limit lets move. ``None`` if none can be emptied.
    """
    state, limit = State(instance), instance.model.limits.moves
    most = sum(job.needed(role) for job in jobs for role in job.roles)
    vacation = Vacation(state, (Tier(Metric.NODES_IN_USE, "nodes"),))

    def enough() -> bool:
        moved = limit is not None and 2 * state.pace.moves >= limit
        return moved or len(vacation.marks) >= most or over()

    vacation.run(enough)
    placement = state.placement()
    return placement if vacation.marks and is_legal(instance, placement) else None


class Vacation:
    """Empties groups of nodes: all pods of a group find a place elsewhere, or none moves.

    Parameters
    ----------
    state
        Where pods are; changed.
    tiers
        Tiers of :data:`EMPTIED`, in their order. What is empty by an earlier one stays so.
    """

    def __init__(self, state: State, tiers: tuple[Tier, ...]) -> None:
        self.state, self.movers, self._tiers = state, Movers(state), tiers
        self._restarts = Restarts(state)
        self.marks: list[int] = []
        """Where the moves of each group that was emptied end."""
        instance = state.instance
        self._pods_on: list[list[tuple[int, Spot, int]]] = [[] for _ in instance.nodes]
        self._stuck = np.zeros(state.size, dtype=np.bool_)
        for podset in instance.podsets:
            if podset.daemon:
                continue
            for spot, pods in state.spots[podset.index].items():
                self._pods_on[spot.node].append((podset.index, spot, pods))
                held = spot.node in instance.held
                whole = podset.job in self._restarts.jobs
                if held or not (whole or self.movers.movable[podset.index]):
                    self._stuck[spot.node] = True
        self._used: Mask = np.array([bool(pods) for pods in self._pods_on], dtype=np.bool_)
        self._fullest = Fullest(state, self.movers)
        self._ejection, self._eject = Ejection(state, self.movers, self._fullest), False

    def run(
        self, over: Callable[[], bool], noise: Sequence[float] = (), *, eject: bool = False
    ) -> tuple[int, ...]:
        """Empty as many groups as the targets of the tiers ask for; say what is left beyond them.

        ``marks`` says which moves. ``noise`` of a group's first node is by how much its moves
        count more when it is said which group is next. With ``eject`` others make way on nodes
        that take a pod only then: more groups can be emptied, of which fewer may be left to be.
        """
        used, self._eject = self._used.copy(), eject
        self.marks, beyond = [], []
        arrived = np.zeros(self.state.size, dtype=np.bool_)
        for tier in self._tiers:
            group_of = groups_of(self.state.instance, tier)
            fees = fees_of(self.state.instance, tier)
            in_use = sum(fees[next(iter(nodes))] for nodes in self._members(group_of, used))
            enough = (tier.target or 0) - self._drawn_by_gpus(tier)
            order = [group for group in self._groups(group_of, used) if fees[group.nodes[0]]]
            worth = [
                (1 + noise[n] if noise else 1.0) / fee if fee else 0.0 for n, fee in enumerate(fees)
            ]
            order.sort(key=lambda group: group.moves * worth[group.nodes[0]])
            for group in order:
                if over() or in_use <= enough:
                    break
                nodes = list(group.nodes)
                if arrived[nodes].any() or not self._fits_limit(group.moves):
                    continue
                gain = fees[nodes[0]]
                taken = self._empty(group, self._open_to(tier, group_of, used))
                if taken is None and tier.metric in _PRICED:
                    taken, gain = self._exchange(group, tier, group_of, fees, used)
                if taken is not None:
                    arrived[taken] = True
                    self.marks.append(self.state.mark())
                    used[taken] = True
                    used[nodes] = False
                    in_use -= gain
            beyond.append(max(0, in_use - enough))
        return tuple(beyond)

    def _exchange(
        self,
        group: Group,
        tier: Tier,
        group_of: tuple[int | None, ...],
        fees: Sequence[int],
        used: Mask,
    ) -> tuple[list[int] | None, int]:
        """Empty a node though others come into use for it, cheaper ones; say what that gains."""
        (node,) = group.nodes
        mark, admitted = self.state.mark(), self._open_to(tier, group_of, used)
        admitted[[n for n, fee in enumerate(fees) if fee < fees[node]]] = True
        taken = self._empty(group, admitted)
        coming = {n for n in taken or () if not used[n] and group_of[n] is not None}
        gain = fees[node] - sum(fees[n] for n in coming)
        if taken is None or gain <= 0:
            self.state.undo(mark)
            return None, 0
        return taken, gain

    def _drawn_by_gpus(self, tier: Tier) -> int:
        """What a tier counts beside the fees of nodes in use."""
        if tier.metric is not Metric.ENERGY:
            return 0
        nodes = self.state.instance.nodes
        return sum(
            podset.gpu_milli * pods * nodes[spot.node].power_per_gpu
            for podset in self.state.instance.podsets
            if podset.gpu_milli and not podset.daemon
            for spot, pods in self.state.spots[podset.index].items()
            if spot.node in counted(self.state.instance, tier)
        )

    def _groups(self, group_of: tuple[int | None, ...], used: Mask) -> Iterator[Group]:
        for nodes in self._members(group_of, used):
            if self._stuck[nodes].any():
                continue
            on = (pod for n in nodes if used[n] for pod in self._pods_on[n])
            pods = [(s, spot) for s, spot, k in on for _ in range(k)]
            instance = self.state.instance
            jobs = {instance.podsets[s].job for s, _ in pods} & self._restarts.jobs
            pods = [pod for pod in pods if instance.podsets[pod[0]].job not in jobs]
            pods.sort(key=lambda pod: (-self._fullest.size(pod[0]), pod))
            moves = len(pods) + sum(map(instance.running_pods, jobs))
            yield Group(tuple(nodes), tuple(pods), tuple(sorted(jobs)), moves)

    @staticmethod
    def _members(group_of: tuple[int | None, ...], used: Mask) -> Iterable[list[int]]:
        return members_in_use(group_of, np.flatnonzero(used).tolist()).values()

    def _fits_limit(self, pods: int) -> bool:
        left = self.movers.left()
        return left is None or pods <= left

    def _open_to(self, tier: Tier, group_of: tuple[int | None, ...], used: Mask) -> Mask:
        """Nodes on which pods may arrive without anything coming into use."""
        busy = {group_of[n] for n in np.flatnonzero(used).tolist()}
        mask = np.array([group is None or group in busy for group in group_of])
        for other in self._tiers:
            if other.metric is not Metric.DOMAINS_IN_USE and other is not tier:
                nodes = sorted(counted(self.state.instance, other))
                mask[nodes] &= used[nodes]
        return mask

    def _empty(self, group: Group, admitted: Mask) -> list[int] | None:
        """Move all pods of a group elsewhere, and say where; if one finds no place, none moves.

        Where the other pods of a job that goes together were is among these nodes: nothing may
        be moved there for a second time.
        """
        mask = admitted.copy()
        mask[list(group.nodes)] = False
        mark, taken = self.state.mark(), list[int]()
        for j in group.jobs:
            others = self._restarts.nodes(j).difference(group.nodes)
            if not self._restarts.move(j, mask):
                self.state.undo(mark)
                return None
            taken += others | self._restarts.nodes(j)
        left = list[tuple[int, Spot]]()
        podsets = self.state.instance.podsets
        gone = set[int]()
        for pod in group.pods:
            j = podsets[pod[0]].job
            if j in gone or self._fullest.move(*pod, mask) is not None:
                continue
            if self._restarts.leave(j, mask):
                gone.add(j)
                left = [other for other in left if podsets[other[0]].job != j]
                continue
            left.append(pod)
            if not self._eject:
                break
        if not all(self._eject and self._ejection.move(*pod, mask) for pod in left):
            self.state.undo(mark)
            return None
        touched = {spot.node for _, spot, _ in self.state.journal[mark:]}
        return [*taken, *touched.difference(group.nodes)]
