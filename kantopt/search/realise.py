"""From counts per group of nodes to a placement: which pods go, which nodes the others take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.search.insertion.fill import fill, room_for
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.justify import drop, rightly
from kantopt.search.preemption.kept_room import KeptRoom, LeftForGood
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.shapes import Mask, mask_of
from kantopt.search.state import State
from kantopt.search.strategy import Strategy

_MOST_ROUNDS = 4
"""Times that all is placed anew for gangs that found no domain."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Pods of alike pod sets, all running or all pending, and how many of them go where.

    ``counts`` is by group of nodes. Running ones that are in none of the groups stay.
    """

    podsets: tuple[int, ...]
    counts: Mapping[int, int]
    movable: bool


def realise(
    instance: Instance, groups: Sequence[tuple[int, ...]], wanted: Sequence[Wanted]
) -> Placement | None:
    """Return a placement close to some counts; ``None`` if who is evicted could come back.

    Pods that run stay where they are as far as the counts and the new pods allow. New pods go on
    nodes from which the fewest have to leave, and one at least on a node of each lesser gang that
    goes, so that this cannot come back. What does not fit where it should be goes elsewhere.

    Parameters
    ----------
    groups
        Nodes of each group.
    wanted
        What should be where; pods that stay for certain may be left out.
    """
    best: Placement | None = None
    choosy: list[int] = []
    for _ in range(_MOST_ROUNDS):
        run = _Realisation(instance, groups, choosy)
        best = run.run(wanted) or best
        if not run.homeless:
            break
        # Counts say that there is the room, not that it is in one domain: those who had none have
        # the first choice the next time, with all who ask for as much, and whoever is in their way
        # goes.
        before, choosy = choosy, run.choosy_with(run.homeless)
        if choosy == before:
            break
    return best


class _Realisation:
    def __init__(
        self, instance: Instance, groups: Sequence[tuple[int, ...]], choosy: Sequence[int] = ()
    ) -> None:
        self.instance = instance
        self.state = State(instance)
        self.scores = Scores(self.state, Strategy.BEST_FIT)
        self.placer = Placer(self.scores)
        self.preemption = Preemption(self.placer)
        self._choosy = choosy
        self._wanting: list[int] = []
        self.homeless: list[int] = []
        """Gangs that must be close and found no place."""
        self._groups = groups
        self._group_of = {n: g for g, nodes in enumerate(groups) for n in nodes}
        level = max(instance.close_levels, default=-1)  # finer ones may be merged in a group
        finest = instance.topology.domain_of[level] if instance.topology.domain_of else ()
        self._merged = any(len({finest[n] for n in nodes}) > 1 for nodes in groups if finest)
        self._masks: dict[int, Mask] = {}
        self._lifted: dict[int, Counter[int]] = {}
        """Pods by node that are lifted and would come home, of what is wanted by its place."""
        self._awaited = mask_of(self.state.size, ())
        """Nodes of these."""
        self._leaving: Counter[tuple[int, int]] = Counter()
        """How many of them are to move, by what is wanted and group: one or another."""
        self._gone: dict[Hashable, tuple[int, set[int]]] = {}
        """Job and nodes of those that go together, until a more important one is on one."""
        self._tied = instance.close_jobs
        """Jobs whose pods must be close."""
        self._left = LeftForGood()
        self._owed: dict[int, int] = {}
        """Highest priority of those by node: whose room it is, the fewest others may use."""
        self._kept = KeptRoom(self.state, self._left)

    def run(self, wanted: Sequence[Wanted]) -> Placement | None:
        for j in self._choosy:
            self.preemption.make_room(j)
        homes: dict[int, list[tuple[int, Spot, int]]] = {}
        for i, w in enumerate(wanted):
            if self._runs(w):
                homes[i] = self._lift(i, w) if w.movable else self._evict(w)
        order = sorted(range(len(wanted)), key=lambda i: self._order(wanted[i]))
        for i in self._held(order, wanted):
            w = wanted[i]
            if not self._runs(w):
                self._bind(w)
            elif w.movable:
                self._return(i, w, homes[i])
        gangs = [i for i in order if self._is_gang(wanted[i]) and not self._runs(wanted[i])]
        for i in self._held(gangs, wanted):
            self._complete(wanted[i])
        self._wanting = [j for i in gangs for j in self._jobs(wanted[i]) if j in self._tied]
        self.homeless = [j for j in self._wanting if not self.placer.runs(j)]
        return rightly(self.placer, self.preemption)

    def _held(self, order: Sequence[int], wanted: Sequence[Wanted]) -> Iterator[int]:
        """Yield one after the other while room of victims that it may not use is held.

        Once for as many as come in a row and may evict the same: they do not change what that is.
        """

        def job(i: int) -> Job:
            return self.instance.job_of(wanted[i].podsets[0])

        for _, alike in groupby(order, key=lambda i: (job(i).priority, job(i).may_preempt)):
            several = list(alike)
            with self._kept.held(job(several[0]).index):
                yield from several

    def _runs(self, w: Wanted) -> bool:
        return self.instance.podsets[w.podsets[0]].running

    def _is_gang(self, w: Wanted) -> bool:
        return self.instance.podsets[w.podsets[0]].count > 1

    def _order(self, w: Wanted) -> tuple[int, ...]:
        """Large pods first: where sizes divide each other, what is left then fits the others."""
        podset = self.instance.podsets[w.podsets[0]]
        size = int(self.state.shape[podset.index].demand.sum())
        priority = self.instance.jobs[podset.job].priority
        tied = podset.job in self._tied and not podset.running
        pods = podset.count if tied else 0
        return (
            -podset.gpu_milli,
            -size,
            not tied,
            -priority * tied,
            -pods,
            not podset.running,
            -priority,
            podset.index,
        )

    def _mask(self, group: int) -> Mask:
        if group not in self._masks:
            self._masks[group] = mask_of(self.state.size, self._groups[group])
        return self._masks[group]

    def _evict(self, w: Wanted) -> list[tuple[int, Spot, int]]:
        """Evict pods that cannot move and are more than there should be in a group."""
        left = dict(w.counts)
        for s in w.podsets:
            for spot, pods in sorted(self.state.spots[s].items()):
                group = self._group_of[spot.node]
                stay = min(pods, left.get(group, 0))
                left[group] = left.get(group, 0) - stay
                if stay < pods:
                    self.state.add(s, spot, stay - pods)
                    j = self.instance.podsets[s].job
                    self._gone.setdefault(j, (j, set()))[1].add(spot.node)
                    self._leave(s, spot, pods - stay)
        return []

    def _leave(self, s: int, spot: Spot, pods: int) -> None:
        priority = self.instance.job_of(s).priority
        self._left.add(s, spot, pods)
        self._owed[spot.node] = max(priority, self._owed.get(spot.node, priority))

    def _lift(self, i: int, w: Wanted) -> list[tuple[int, Spot, int]]:
        """Take pods that may move off their nodes for the time being; some go for good."""
        spots = [
            (s, spot, pods) for s in w.podsets for spot, pods in sorted(self.state.spots[s].items())
        ]
        going = sum(pods for _, _, pods in spots) - sum(w.counts.values())
        excess: dict[int, int] = {}
        for _, spot, pods in spots:
            group = self._group_of[spot.node]
            excess[group] = excess.get(group, -w.counts.get(group, 0)) + pods
        found = []
        for s, spot, pods in spots:
            podset = self.instance.podsets[s]
            self.state.add(s, spot, -pods)
            gone = min(pods, going, max(0, excess[self._group_of[spot.node]]))
            if gone and podset.gpu_milli:
                going -= gone
                excess[self._group_of[spot.node]] -= gone
                self._gone[s, spot] = (podset.job, {spot.node})
                self._leave(s, spot, gone)
            if podset.gpu_milli and gone < pods:
                self._lifted.setdefault(spot.node, Counter())[i] += pods - gone
                self._awaited[spot.node] = True
            found.append((s, spot, pods - gone if podset.gpu_milli else pods))
        self._leaving.update({(i, group): pods for group, pods in excess.items() if pods > 0})
        return found

    def _bind(self, w: Wanted) -> None:
        """Place new pods, job by job, group by group."""
        left = {g: k for g, k in w.counts.items() if k > 0}
        # Some may have had the first choice.
        waiting = [s for s in w.podsets if not self.state.placed[s]]
        there = sum(self.state.placed[s] for s in w.podsets)
        for s, most in self._dealt(waiting, sum(left.values()) - there):
            if self._close(s, most):
                for g in sorted(left, key=lambda g: (-left[g], g)):
                    used = min(most, left[g])
                    left[g] -= used
                    most -= used
                continue
            for g in sorted(left, key=lambda g: (-left[g], g)):
                share = min(most, left[g])
                if share:
                    self._bind_in(s, share, g)
                    left[g] -= share
                    most -= share

    def _dealt(self, podsets: Sequence[int], pods: int) -> list[tuple[int, int]]:
        """Deal pods out to alike pod sets: minima first, to as many gangs as there are enough."""
        found = dict.fromkeys(podsets, 0)
        for least in (True, False):
            for s in podsets:
                podset = self.instance.podsets[s]
                most = podset.count
                if least:
                    job = self.instance.jobs[podset.job]
                    most = job.roles[podset.role].min_count if job.is_gang else 0
                more = max(0, most - found[s])
                if not least or more <= pods:
                    found[s] += min(more, pods)
                    pods -= min(more, pods)
        return [(s, dealt) for s, dealt in found.items() if dealt]

    def _close(self, s: int, pods: int) -> bool:
        """Place a whole gang close together where the groups say nothing of domains.

        In room of victims while there is any that it alone may use: if it takes more, and need not
        be close, it goes node by node.
        """
        j = self.instance.podsets[s].job
        whole = 1 < pods == self.instance.podsets[s].count
        if not (self._merged and whole and self.placer.is_gang(j)):
            return False
        within, room = None, 0
        owed = self._owed_to(self.instance.jobs[j])
        if owed:
            within = mask_of(self.state.size, owed)
            room = int(room_for(self.state, s, pods, within).sum())
        tied = j in self._tied
        if 0 < room < pods and not tied:
            return False
        # Who must be close is there or nowhere, for now.
        return self.placer.place(j, within=within if room >= pods else None) or tied

    def _owed_to(self, job: Job) -> dict[int, int]:
        """Nodes with room of victims that a job may evict, the fewest others first: as a rank."""
        if not job.may_preempt:
            return {}
        return {n: -priority for n, priority in self._owed.items() if priority < job.priority}

    def _bind_in(self, s: int, pods: int, group: int) -> None:
        state, job = self.state, self.instance.job_of(s)
        room = room_for(state, s, pods, self._mask(group))
        nodes = set(np.flatnonzero(room).tolist())
        fixed = {n for n in nodes if state.bound_on.get(n)}
        # Room of victims: where a reason is missing, then what the fewest others may use.
        owed = self._owed_to(job)
        while pods and nodes:
            held = {
                n: -state.instance.jobs[v].priority
                for v, places in self._gone.values()
                if state.instance.jobs[v].priority < job.priority
                for n in places & nodes
            }
            n = min(
                nodes,
                key=lambda n: (
                    n not in held,
                    held.get(n, 0),
                    n not in owed,
                    owed.get(n, 0),
                    n not in fixed,
                    self._disturbs(n, group),
                    n,
                ),
            )
            nodes.discard(n)
            got = self._place(s, min(pods, int(room[n])), n)
            pods -= got
            if got:
                if n not in fixed:  # the first new ones there: who was there leaves once
                    here = self._lifted.get(n, Counter[int]())
                    self._leaving.subtract({(i, group): k for i, k in here.items()})
                self._gone = {
                    key: (v, places)
                    for key, (v, places) in self._gone.items()
                    if n not in places or state.instance.jobs[v].priority >= job.priority
                }

    def _disturbs(self, n: int, group: int) -> tuple[int, int]:
        """Pods that would come home to a node of a group: those that are not to leave, and all."""
        here = self._lifted.get(n, Counter[int]())
        stay = sum(max(0, k - max(0, self._leaving[i, group])) for i, k in here.items())
        return stay, here.total()

    def _place(self, s: int, pods: int, n: int) -> int:
        return fill(self.scores, s, pods, mask_of(self.state.size, [n]))

    def _return(self, i: int, w: Wanted, spots: Sequence[tuple[int, Spot, int]]) -> None:
        """Bring lifted pods home, as many as should be in each group; others go elsewhere."""
        left = dict(w.counts)
        waiting: list[tuple[bool, int, int]] = []
        for s, spot, pods in spots:
            group = self._group_of[spot.node]
            back = 0
            while back < pods and left.get(group, 0) and self.state.has_room(s, spot):
                self.state.add(s, spot, 1)
                left[group] -= 1
                back += 1
            if back < pods:
                waiting.append((self._blocked(s, spot), s, pods - back))
        for n in {spot.node for _, spot, _ in spots} & self._lifted.keys():
            del self._lifted[n][i]
            self._awaited[n] = bool(self._lifted[n])
        # Last those that have a reason to be gone: somebody more important is where they were.
        for _, s, pods in sorted(waiting):
            for g in sorted((g for g, k in left.items() if k > 0), key=lambda g: (-left[g], g)):
                # Where nobody is to come home yet, if there is such room.
                for mask in (self._mask(g) & ~self._awaited, self._mask(g)):
                    got = fill(self.scores, s, min(pods, left[g]), mask)
                    left[g] -= got
                    pods -= got
            pods = min(pods, sum(left.values()))
            if pods > 0:  # there should be room, and it is not in its group
                fill(self.scores, s, pods)

    def _blocked(self, s: int, spot: Spot) -> bool:
        """Whether a new and more important pod is on a node."""
        instance = self.instance
        return any(
            instance.may_evict_for(instance.podsets[other].job, instance.podsets[s].job)
            for other, _ in self.state.bound_on.get(spot.node, {})
        )

    def _complete(self, w: Wanted) -> None:
        """Place gangs that are short of members anew, wherever they fit; else not at all."""
        if not sum(w.counts.values()):
            return
        for s in w.podsets:
            j = self.instance.podsets[s].job
            if self.placer.is_gang(j) and not self.placer.runs(j):
                drop(self.state, j)
                self.placer.place(j)

    def choosy_with(self, homeless: Sequence[int]) -> list[int]:
        """Return gangs that must be close and are as important and as large as some, at least."""
        jobs = self.instance.jobs
        pods = {j: jobs[j].count for j in self._wanting}
        priority = min(jobs[j].priority for j in homeless)
        least = min(pods[j] for j in homeless)
        chosen = [j for j in pods if jobs[j].priority >= priority and pods[j] >= least]
        return sorted(chosen, key=lambda j: (-jobs[j].priority, -pods[j], j))

    def _jobs(self, w: Wanted) -> list[int]:
        """Jobs that should be placed."""
        jobs = dict.fromkeys(self.instance.podsets[s].job for s in w.podsets)
        return list(jobs)[: sum(w.counts.values()) // self.instance.podsets[w.podsets[0]].count]
