"""Two-level selection (Kant): a group of nodes is chosen by sums, and only then nodes in it.

For each number of GPUs that pods ask for, and each pool of nodes that they may use, there is a
table of what every group holds, were GPUs all that counts: no group holds more. A pod that comes or
goes renews one group of it. Groups are looked into in the order of what they cost at least, until
the cheapest one is known.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from kantopt.search.insertion.domains import Domains, Share
from kantopt.search.insertion.fill import room_for
from kantopt.search.shapes import MANY, Ints, Mask, PodShape
from kantopt.search.state import State, rooms

_FEW = 16
"""Groups that are renewed one by one; of more of them all are renewed at once."""
_LOOKS = 8
"""Groups that are looked into before it is worked out of all what they hold."""
_NEVER = np.iinfo(np.int64).max
_WHOLE, _LOOSE, _BREAKS, _NODE = 2**40, 2**41, 2**42, 2**43
"""What a whole group, a node that is not filled up, a whole node that is broken into, and each node
more weigh, beside the milli-GPU left in a group."""
_GPU = 2**20
"""What a milli-GPU weighs for pods without GPUs: more than anything but those above, in steps."""


@dataclass(slots=True)
class Table:
    """What groups hold of one shape, arrays over nodes in the order of their groups.

    Attributes
    ----------
    room
        Pods that each node holds.
    total
        Pods that each group holds.
    broached
        Pods that the roomiest node holds of those that are not whole any more, by group.
    sums
        Of each group: the room of its roomiest node, of its two roomiest, and so on, but for
        groups that are ``stale``; for jobs of several pods only.
    """

    seen: int
    room: Ints
    total: Ints
    broached: Ints
    sums: Ints
    stale: set[int]


class Groups:
    """The domains of one topology level as groups, and who of them is to hold some pods."""

    def __init__(self, state: State, domains: Domains, level: int) -> None:
        self.state, self.domains, self.level = state, domains, level
        of = domains.of[level]
        inside = np.flatnonzero(of >= 0)
        self._order: Ints = inside[np.argsort(of[inside], kind="stable")]
        self._group: Ints = of[self._order]
        self._starts: Ints = np.flatnonzero(np.diff(self._group, prepend=-1))
        self._ends: Ints = np.append(self._starts[1:], len(self._order))
        self._at: Ints = np.full(state.size, -1, dtype=np.int64)
        self._at[self._order] = np.arange(len(self._order))
        self._tables: dict[tuple[int, frozenset[int]], Table] = {}
        weight = state.gpu_weight
        self._mains: dict[int, PodShape] = {}
        self._gpu_rows: Ints = np.flatnonzero(weight)
        self._offered: Ints = (weight @ state.offered)[self._order]
        self._left: Ints = (weight @ state.left)[self._order]
        self._seen = len(state.touched)
        self._gpus: Ints = domains.totals(level, state.gpus_left())
        """Milli-GPU left in each group."""
        self._most: Ints = domains.totals(level, weight @ state.offered)

    def nodes(self, group: int) -> Ints:
        """Return the nodes of a group."""
        return self._order[self._starts[group] : self._ends[group]]

    def lasting(self, s: int, pods: int, mask: Mask | None, there: Collection[int]) -> list[Share]:
        """Share out as :meth:`shares`, but let an elastic job begin where all of it has room.

        Else it is spread over two groups once it has grown.
        """
        all_of_it = self.state.instance.podsets[s].count - self.state.placed[s]
        if pods < all_of_it and not there:
            whole = self.shares(s, all_of_it, mask, there)
            if len(whole) == 1 and whole[0][1] == all_of_it:
                return [(whole[0][0], pods)]
        return self.shares(s, pods, mask, there)

    def shares(self, s: int, pods: int, mask: Mask | None, there: Collection[int]) -> list[Share]:
        """Share pods of a set out over groups: those of the job first, then as few as possible.

        Parameters
        ----------
        mask
            Nodes to choose from; by default all that the pods may use.
        there
            Groups in which the job has pods already; -1 is none.
        """
        state, shape = self.state, self.state.shape[s]
        self._renew_gpus()
        if mask is None and not there and not state.neighbours.concern(s):
            table = self._table(s, self._main(shape))
            cost = self._costs(table, shape, pods)
            for _ in range(_LOOKS):
                g = int(cost.argmin())
                if cost[g] == _NEVER:
                    break
                lowest, cost[g] = cost[g], self._cost(s, g, pods)
                if cost[g] == lowest or int(cost.argmin()) == g:
                    return [(g, pods)]
        within = np.ones(state.size, dtype=np.bool_) if mask is None else mask
        table = self._built(room_for(state, s, pods, within)[self._order], len(state.touched))
        return self._by_table(table, shape, pods, there)

    def _by_table(
        self, table: Table, shape: PodShape, pods: int, there: Collection[int]
    ) -> list[Share]:
        """Share pods out where it is known of every group what it holds."""
        shares: list[Share] = []
        for g in sorted((g for g in there if g >= 0), key=lambda g: (-table.total[g], g)):
            if share := min(pods, int(table.total[g])):
                shares.append((g, share))
                pods -= share
            table.total[g] = 0
        if pods <= 0:
            return shares
        if table.total.max(initial=0) >= pods:
            return [*shares, (int(self._costs(table, shape, pods).argmin()), pods)]
        several = self.domains.fewest(self.level, table.total, pods, self._gpus)
        if len(several) > 1 and several[-1][1] < int(table.total[several[-1][0]]):
            *firsts, (last, rest) = several
            table.total = self._near(table.total, firsts, last)
            several = [*firsts, (int(self._costs(table, shape, rest).argmin()), rest)]
        return shares + several

    def _near(self, total: Ints, firsts: list[Share], last: int) -> Ints:
        """Room of the other groups that lie as near as the last one of several."""
        near = total.copy()
        near[[g for g, _ in firsts]] = 0
        if self.level > 0:
            parents = self.domains.parents(self.level, self.level - 1)
            near[parents != parents[last]] = 0
        return near

    # -- which group: the lowest cost

    def _costs(self, table: Table, shape: PodShape, pods: int) -> Ints:
        """Cost of each group that is to hold some pods by itself; see :meth:`_weighed`."""
        short = before = np.zeros(len(table.total), dtype=np.int64)
        if pods > 1:
            self._add_up(table)
            small = table.sums < pods
            before = np.maximum.reduceat(np.where(small, table.sums, 0), self._starts)
            short = np.add.reduceat(small, self._starts, dtype=np.int64)
        breaks = table.broached < pods - before
        filled = np.logical_or.reduceat(self._filled(shape, pods, slice(None)), self._starts)
        cost = self._weighed(shape, short, breaks, (short == 0) & ~filled, slice(None))
        cost[table.total < pods] = _NEVER
        return cost

    def _cost(self, s: int, g: int, pods: int) -> int:
        """Cost of one group, by a look at its nodes."""
        part, shape = self._part(g), self.state.shape[s]
        nodes = self._order[part]
        room = rooms(self.state, shape, pods, nodes) * self.state.allowed(s)[nodes]
        most = room[~self._whole(part)].max(initial=0)
        short, rest = 0, pods
        loose = not bool((self._filled(shape, pods, part) & (room >= pods)).any())
        if room.max() < pods:
            sums = np.cumsum(np.sort(room)[::-1])
            short = int(np.searchsorted(sums, pods))
            if short == len(sums):
                return _NEVER
            rest, loose = pods - int(sums[short - 1]), False
        return int(self._weighed(shape, short, most < rest, loose, g))

    def _filled(self, shape: PodShape, pods: int, part: slice) -> Mask:
        """Whether pods of a shape would take the last GPUs of nodes in use."""
        left = self._left[part]
        asked = pods * int(self.state.gpu_weight @ shape.demand)
        return np.asarray((left == asked) & (left < self._offered[part]), dtype=np.bool_)

    def _weighed(
        self,
        shape: PodShape,
        short: Ints | int,
        breaks: Mask | bool,
        loose: Mask | bool,
        g: slice | int,
    ) -> Ints:
        """Weigh what groups cost, the lowest first.

        Kant-style: the fewest nodes, then no whole node broken into, a node filled to the last GPU
        if one holds the job, no whole group, the fewest GPUs left. Pods without GPUs keep off GPUs
        before all that.

        Parameters
        ----------
        short
            Nodes needed, less one.
        breaks
            Whether no node in use has room for what is left over for the last one.
        loose
            Whether the job would have to leave some GPUs on the one node that it takes.
        """
        gpus = self._gpus[g]
        whole = (gpus == self._most[g]) & (gpus > 0)
        cost = short * _NODE + breaks * _BREAKS + loose * _LOOSE + whole * _WHOLE
        if shape.demand[self._gpu_rows].any():
            return np.asarray(cost + gpus, dtype=np.int64)
        return np.asarray(cost // _WHOLE + gpus * _GPU, dtype=np.int64)

    # -- what groups hold

    def _main(self, shape: PodShape) -> PodShape:
        """Return a shape without what is seldom scarce beside GPUs: what holds it holds no less."""
        if not shape.demand[self._gpu_rows].any():
            return shape
        if shape.index not in self._mains:
            self._mains[shape.index] = self.state.shapes.without(shape, self._gpu_rows)
        return self._mains[shape.index]

    def _table(self, s: int, shape: PodShape) -> Table:
        """Return the table of a shape in the pool of a pod set, renewed where nodes changed."""
        state = self.state
        key = (shape.index, state.instance.podsets[s].allowed)
        end = len(state.touched)
        table = self._tables.get(key)
        if table is None:
            pool = state.allowed(s)[self._order]
            room = np.zeros(len(self._order), dtype=np.int64)
            room[pool] = rooms(state, shape, MANY, self._order[pool])
            table = self._tables[key] = self._built(room, end)
        elif table.seen != end:
            at = self._changed(table.seen)
            nodes = self._order[at]
            table.room[at] = rooms(state, shape, MANY, nodes) * state.allowed(s)[nodes]
            changed = set(self._group[at].tolist())
            table.stale |= changed
            if len(changed) > _FEW:
                self._sum_up(table)
            else:
                for g in changed:
                    part = self._part(g)
                    table.total[g] = table.room[part].sum()
                    table.broached[g] = (table.room[part] * ~self._whole(part)).max()
            table.seen = end
        return table

    def _changed(self, seen: int) -> Ints:
        """Positions of the nodes that changed."""
        at = self._at[self.state.changed_since(seen)]
        return at[at >= 0]

    def _renew_gpus(self) -> None:
        state = self.state
        if self._seen == len(state.touched):
            return
        at = self._changed(self._seen)
        now = state.gpus_left(self._order[at])
        np.add.at(self._gpus, self._group[at], now - self._left[at])
        self._left[at] = now
        self._seen = len(state.touched)

    def _built(self, room: Ints, seen: int) -> Table:
        """Work out a table from the room of each node."""
        groups, size = len(self._starts), len(room)
        nothing: Ints = np.zeros(groups, dtype=np.int64)
        table = Table(seen, room, nothing, nothing, np.zeros(size, np.int64), set(range(groups)))
        self._sum_up(table)
        return table

    def _sum_up(self, table: Table) -> None:
        """Renew what is known of all groups, but for the sums."""
        if len(table.room):
            table.total = np.add.reduceat(table.room, self._starts)
            broached = np.where(self._whole(slice(None)), 0, table.room)
            table.broached = np.maximum.reduceat(broached, self._starts)

    def _add_up(self, table: Table) -> None:
        """Renew the sums of those groups that have changed."""
        if len(table.stale) > _FEW:
            sums = np.cumsum(table.room[np.lexsort((-table.room, self._group))])
            before = np.cumsum(table.total) - table.total
            table.sums = sums - np.repeat(before, self._ends - self._starts)
        else:
            for g in table.stale:
                part = self._part(g)
                table.sums[part] = np.cumsum(np.sort(table.room[part])[::-1])
        table.stale.clear()

    def _part(self, g: int) -> slice:
        return slice(int(self._starts[g]), int(self._ends[g]))

    def _whole(self, part: slice) -> Mask:
        """Whether nodes have GPUs, and all of them free."""
        left = self._left[part]
        return np.asarray((left == self._offered[part]) & (left > 0), dtype=np.bool_)
