"""Repacking: running pods move out of the way of a job that does not fit, each to another place.

Where the pods of a job restart together it moves as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import islice

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.search.as_if_gone import as_if_gone
from kantopt.search.insertion.fill import fill, room_for
from kantopt.search.insertion.placer import Placer, Want
from kantopt.search.least_harm import LeastHarm
from kantopt.search.relocation.ejection import Ejection
from kantopt.search.relocation.movers import Movers
from kantopt.search.relocation.restarts import Restarts
from kantopt.search.relocation.slice_rooms import Rooms, nodes_for_slices
from kantopt.search.relocation.targets import Fullest
from kantopt.search.shapes import Ints, Mask, mask_of
from kantopt.search.state import UNLIMITED, Change, rooms

_MOST_REGIONS, _ALL_REGIONS = 6, 60
"""Domains, or single nodes, that are tried for one job, and where it is worth more time."""
_MOST_CHOICES = 3
"""Sets of nodes to clear that are tried in one region."""
_PATIENCE = 300
"""Sets of nodes tried in vain, one after the other, after which no more are tried at all."""

Push = Callable[[int, int, Mask], bool]
"""Finds places for so many pods of a pod set, on some nodes; returns whether there were."""


class Relocation:
    """Finds pods to move for jobs; what cannot move stays.

    Nobody is evicted.

    Pods leave for nodes that are not being cleared, so that the moves of one job can always be
    ordered: all of them first, then the job. Those that must be close stay in their domain, or all
    of them leave it.
    """

    def __init__(self, placer: Placer) -> None:
        self.placer, self.over = placer, placer.scores.over
        self.state = placer.state
        instance = self.state.instance
        self.movers, self.restarts = Movers(self.state), Restarts(self.state)
        self._singly = [
            m or n for m, n in zip(self.movers.movable, self.movers.unsettled, strict=True)
        ]
        """Of each pod set, whether its pods may go elsewhere one by one."""
        self._on_node: list[list[tuple[int, Spot]]] = [[] for _ in instance.nodes]
        """Where running pods are that may move, by node."""
        for podset in instance.podsets:
            if self.movers.movable[podset.index] or podset.job in self.restarts.jobs:
                for spot in sorted(podset.current):
                    if spot.node not in instance.held:
                        self._on_node[spot.node].append((podset.index, spot))
        self._free = np.zeros_like(self.state.free)
        self._devices = np.zeros_like(self.state.devices)
        self.toll: Ints = np.zeros(self.state.size, dtype=np.int64)
        """Pods that would move were a node cleared, with all that restart with them."""
        self.gpus: Ints = np.zeros(self.state.size, dtype=np.int64)
        """Milli-GPU of these pods, and of new ones that would go elsewhere."""
        self._failed, self._ejects, self.thorough = 0, True, False
        self._stuck: int | None = None
        """Node from which a pod could not leave when the last set of nodes was cleared."""
        self._regions_tried, self._new_as_well = _MOST_REGIONS, False
        self._seen = len(self.state.touched)
        self._weigh(range(self.state.size))

    def make_room(self, j: int) -> bool:
        """Place a job whole by moving other pods; a job that does not fit leaves no trace."""
        wants = self.placer.wants(j)
        if not self.placer.is_gang(j):
            wants = [Want(want.s, want.role, want.most, want.most) for want in wants]
        self.refresh()
        need = max(sum(want.least for want in wants), self.placer.missing(j))
        some = need and self._failed < _PATIENCE and (self._free.any() or self._devices.any())
        if not (some and self._enough(wants)):
            return False
        now = np.sum([room_for(self.state, want.s, want.most) for want in wants], axis=0)
        with self.without():
            could = [room_for(self.state, want.s, want.most) for want in wants]
        # Ejections take longer, and more pods move.
        ways = (False, True) if self.thorough else (False,)
        return any(self._cleared(j, wants, now, could) for self._ejects in ways)

    def _cleared(self, j: int, wants: list[Want], now: Ints, could: list[Ints]) -> bool:
        """Clear the first nodes that can be; of jobs that restart as a whole the fewest pods.

        ``now`` and ``could``: pods of the job that each node holds, and would without pods that may
        move, of each role.
        """
        least = LeastHarm(self.state)
        sets = (
            (region, nodes)
            for region in self._regions(j, wants, now, could, self._regions_tried)
            for nodes in self._choices(wants, j, region, now, np.sum(could, axis=0))
        )
        for region, nodes in sets:
            if self.over():
                break
            mark, moves = self.state.mark(), self.state.pace.moves
            cleared = self._clear(j, region, nodes)
            self._failed = 0 if cleared else self._failed + 1
            if cleared and not self._restarts_since(mark):
                return True
            if cleared:
                least.note([self.state.pace.moves - moves], mark)
            self.state.undo(mark)
        return least.carry_out()

    def _restarts_since(self, mark: int) -> bool:
        """Whether jobs that restart as a whole were touched: others may have fewer pods to move."""
        instance, jobs = self.state.instance, self.restarts.jobs
        return bool(jobs) and any(
            instance.podsets[s].running and instance.podsets[s].job in jobs
            for s, _, _ in self.state.journal[mark:]
        )

    def look_everywhere(self, *, unsettled: bool = False) -> None:
        """Try many more places from now on, however long it has been in vain.

        With ``unsettled`` new pods make way as well.
        """
        self._failed, self._regions_tried, self.thorough = 0, _ALL_REGIONS, True
        if unsettled and not self._new_as_well:
            self._new_as_well = True
            self._weigh(range(self.state.size))

    def _enough(self, wants: list[Want]) -> bool:
        """Whether as much is free, wherever it is, as is asked for: moves bring no more."""
        state = self.state
        asked = sum((want.least * state.shape[want.s].demand for want in wants), start=0)
        free = np.minimum(np.maximum(state.free, 0), UNLIMITED // max(1, state.size)).sum(axis=1)
        for row, r in enumerate(state.device_resources):
            free[r] += np.maximum(state.devices[row], 0).sum()
        return bool((free >= asked).all())

    # -- what could leave

    def refresh(self) -> None:
        """Weigh the nodes anew that have changed."""
        self._weigh(self.state.changed_since(self._seen).tolist())
        self._seen = len(self.state.touched)

    def here(self, n: int) -> Iterator[Change]:
        """Yield pods that may leave a node: running ones that may move, and new ones."""
        spots, unsettled = self.state.spots, self.movers.unsettled
        for s, spot in self._on_node[n]:
            if pods := spots[s].get(spot, 0):
                yield s, spot, pods
        for (s, spot), pods in self.state.bound_on.get(n, {}).items():
            if self._new_as_well and unsettled[s]:
                yield s, spot, pods

    def _weigh(self, nodes: Sequence[int]) -> None:
        state = self.state
        self._free[:, nodes], self._devices[:, nodes] = 0, 0
        self.toll[nodes], self.gpus[nodes] = 0, 0
        pods = [change for n in nodes for change in self.here(n)]
        whole = set[tuple[int, int]]()
        for s, spot, number in pods:
            podset = state.instance.podsets[s]
            j = podset.job
            if not podset.running or j not in self.restarts.jobs:
                self.toll[spot.node] += number * podset.running
                self.gpus[spot.node] += number * podset.gpu_milli
            elif (j, spot.node) not in whole:
                whole.add((j, spot.node))
                self.toll[spot.node] += state.instance.running_pods(j)
                together = (state.instance.podsets[o] for o in state.instance.running_of(j))
                self.gpus[spot.node] += sum(o.count * o.gpu_milli for o in together)
        state.give(pods, self._free, self._devices)

    def without(self) -> AbstractContextManager[None]:
        """Pretend that all pods that may move are gone from their nodes."""
        return as_if_gone(self.state, self._free, self._devices)

    def _regions(
        self, j: int, wants: list[Want], now: Ints, could: list[Ints], most: int
    ) -> Iterator[Mask]:
        """Domains of the required level in which all could fit, the roomiest first; or all."""
        domains = self.placer.domains
        level = self.placer.required_level(j)
        if level is None or any(self.state.placed[s] for s in self.state.instance.jobs[j].podsets):
            if all(int(c.sum()) >= w.least for c, w in zip(could, wants, strict=True)):
                yield np.ones(self.state.size, dtype=np.bool_)
            return
        fits = np.all(
            [domains.totals(level, c) >= w.least for c, w in zip(could, wants, strict=True)],
            axis=0,
        )
        room, toll = domains.totals(level, now), domains.totals(level, self.toll)
        for d in np.lexsort((np.arange(len(room)), toll, -room)).tolist()[: 2 * most]:
            if fits[d]:
                yield domains.mask(level, d)

    def _choices(
        self, wants: list[Want], j: int, region: Mask, now: Ints, could: Ints
    ) -> Iterator[list[int]]:
        """Nodes to clear: those that cost the fewest moves per pod of the job, or per slice."""
        need = max(sum(want.least for want in wants), self.placer.missing(j))
        could = np.where(region, could, now)
        known: dict[tuple[int, int], bool] = {}
        slices = self.placer.slices(j, wants[0].role)
        if len(wants) == 1 and slices is not None:
            level, size = slices
            domain = np.where(region, self.placer.domains.of[level], -1)
            rooms = Rooms(now, could, self._prices(could > now), domain)
            found = nodes_for_slices(rooms, need, size, lambda n: self._frees(n, known))
            yield from islice(found, _MOST_CHOICES)
            return
        gain = could - now
        nodes = np.flatnonzero(gain > 0)
        cost = self.toll[nodes] * 1000 // np.minimum(gain[nodes], need)
        order = (n for n in nodes[np.lexsort((nodes, cost))].tolist() if self._frees(n, known))
        if need == 1:
            yield from ([n] for n in islice(order, self._regions_tried))
            return
        missing = need - int(now[region].sum())
        chosen: list[int] = []
        tried = 0
        for n in order:
            chosen.append(n)
            missing -= int(gain[n])
            if missing <= 0:
                yield list(chosen)
                tried += 1
                if tried == _MOST_CHOICES:
                    return
                if self._stuck in chosen:  # another node in its stead, instead of one more
                    chosen.remove(self._stuck)
                    missing += int(gain[self._stuck])

    def _prices(self, nodes: Mask) -> Ints:
        """What it costs to clear each of some nodes."""
        return self.toll

    def _frees(self, n: int, known: dict[tuple[int, int], bool]) -> bool:
        """Whether each pod that would have to leave a node by itself fits on some node now.

        ``known`` remembers by shape, and by pod set where others have a say in its place. Those
        that restart together may take the room of each other.
        """
        for s, spot, _ in self.here(n):
            if not self._singly[s] or self.state.instance.podsets[s].job in self.restarts.close:
                continue
            untied = self.movers.untied(s)
            key = (self.state.shape[s].index, -1) if untied else (s, n)
            if key not in known:
                within = self.state.allowed(s) if untied else self.movers.targets(s, spot)
                nodes = np.flatnonzero(within)
                known[key] = bool(rooms(self.state, self.state.shape[s], 1, nodes).any())
            if not known[key]:
                return False
        return True

    # -- doing it

    def empty_for(self, j: int, nodes: list[int], push: Push) -> bool:
        """Place a job on some nodes; pods that must leave and have no free place push lesser ones.

        Whatever fails leaves traces.
        """
        region = np.isin(np.arange(self.state.size), nodes)
        return self._clear(j, region, nodes, push)

    def _clear(self, j: int, region: Mask, nodes: list[int], push: Push | None = None) -> bool:
        """Lift the pods off some nodes, place the job, put back what fits, move the rest."""
        state, podsets, gang = self.state, self.state.instance.podsets, self.placer.is_gang(j)
        wants = [(want.s, want.least if gang else want.most) for want in self.placer.wants(j)]
        if not state.admits(j, wants):  # what is lifted uses its quota again
            return False
        mark, self._stuck = state.mark(), None
        elsewhere = ~mask_of(state.size, nodes)
        singly, movers, mine = self._singly, self.movers, state.instance.jobs[j].podsets
        own = {s for s in mine if not (movers.untied(s) and movers.movable[s])}
        # The job's own pods stay: new ones, and where they say in which domain the others must be.
        lifted = [change for n in nodes for change in self.here(n) if change[0] not in own]
        close = {
            (s, spot.node): elsewhere & self.movers.within_topology(s, spot.node)
            for s, spot, _ in lifted
            if not self.movers.untied(s)
        }
        for s, spot, pods in lifted:
            state.add(s, spot, -pods)
        if not self.placer.place(j, within=region):
            return False
        # The largest first: they are the hardest to place elsewhere.
        lifted.sort(key=lambda item: (-int(state.shape[item[0]].demand.sum()), item[0], item[1]))
        if not self._restart([item for item in lifted if not singly[item[0]]], elsewhere):
            return False
        gone = set[int]()
        for s, spot, pods in lifted:
            if not singly[s] or ((whole := podsets[s].job) in gone and podsets[s].running):
                continue
            back = self._put_back(s, spot, pods)
            within = close.get((s, spot.node), elsewhere)
            left = pods - back
            if left and not self._send(s, spot, left, within, elsewhere, push):
                if not self.restarts.leave(whole, elsewhere):
                    self._stuck = spot.node
                    return False
                gone.add(whole)
        return state.pace.kept() and self._neighbours_hold(mark)

    def _send(
        self, s: int, spot: Spot, pods: int, within: Mask, elsewhere: Mask, push: Push | None
    ) -> bool:
        """Place pods where it is free, where others move out of the way, or by a push."""
        left = pods - fill(self.placer.scores, s, pods, within)
        if left and (push or self._ejects) and not self.over():
            left -= self._ejection.fill(s, spot, left, within, elsewhere)
        return not left or (push is not None and push(s, left, within))

    @cached_property
    def _ejection(self) -> Ejection:
        return Ejection(self.state, self.movers, Fullest(self.state, self.movers))

    def _restart(self, lifted: Sequence[Change], elsewhere: Mask) -> bool:
        """Put back whole jobs of which pods were lifted, or move them, the largest pods first."""
        podsets, apart = self.state.instance.podsets, dict[int, list[Change]]()
        for change in lifted:
            apart.setdefault(podsets[change[0]].job, []).append(change)
        moving = list[int]()
        for j, changes in apart.items():
            mark = self.state.mark()
            if not all(self._put_back(*change) == change[2] for change in changes):
                self.state.undo(mark)
                moving.append(j)
        for j in moving:
            if not self.restarts.move(j, elsewhere):
                self._stuck = apart[j][0][1].node
                return False
        return True

    def _put_back(self, s: int, spot: Spot, pods: int) -> int:
        """Put as many lifted pods back where they were as fit."""
        state, back = self.state, 0
        while back < pods and state.has_room(s, spot) and state.neighbours.bear(s, spot.node):
            state.add(s, spot, 1)
            back += 1
        return back

    def _neighbours_hold(self, mark: int) -> bool:
        """Whether spreads and affinities hold for all that has changed since a mark."""
        instance = self.state.instance
        if not (instance.spreads or instance.affinities):
            return True
        return self.state.neighbours.holds(sorted({s for s, _, _ in self.state.journal[mark:]}))
