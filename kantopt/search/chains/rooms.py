"""What is free on each node, in arrays that answer at once who could make room for whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from kantopt.search.chains.admission import Admission
from kantopt.search.chains.scope import Scope
from kantopt.search.shapes import Ints, Mask, mask_of

Floats = NDArray[np.float64]

SLOTS = 4
"""Of each node at first."""
_NO_LIMIT = 2**50
_EMPTY = -(2**61)
"""What a slot without pods offers: less than nothing, whatever is added."""


class Rooms:
    """Pods of the groups on the nodes, and the room that they leave.

    Each node has some *slots*, one per group that has pods on it. ``offer`` says what would be
    free on the node if one pod of the slot's group left.
    """

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        groups = scope.groups
        self.nodes = len(scope.instance.nodes)
        self.count = len(groups)
        admission = Admission(scope)
        self.admission = admission if admission.rows else None
        """What neighbours say; ``None`` if nothing."""
        self._shared = len(scope.resources)
        """Rows that all groups look at; of the others each concerns only who asks for it."""
        self.own = len(scope.room)
        """Rows of what nodes have themselves; in those after them neighbours say who may come."""
        self.resources = len(scope.room) + len(admission.rows)
        self.ask: Ints = np.zeros((self.count, self.resources), dtype=np.int64)
        for g, group in enumerate(groups):
            self.ask[g, : self.own] = group.request
            if group.kin is not None:
                self.ask[g, self.own + admission.rows[group.kin]] = 1
        self.request = [tuple(row) for row in self.ask.tolist()]
        self._rows = [
            [r for r in range(1, self.resources) if r < self._shared or self.ask[g, r]]
            for g in range(self.count)
        ]
        """Rows beside the first that each group looks at."""
        nobody = np.full((self.resources, 1), _EMPTY, dtype=np.int64)
        self._taken: Ints = np.hstack([self.ask.T, nobody])
        """What a pod of each group, and of the group of no pods, would leave of each row."""
        self._column = [row.copy() for row in self.ask]
        self._block = [row.reshape(-1, 1).copy() for row in self.ask]
        self.least_ask: Ints = self.ask.min(axis=0)
        admitted = [admission.nodes(row) for row in range(len(admission.rows))]
        self.free: Ints = np.array([*scope.room, *admitted], dtype=np.int64).reshape(
            self.resources, self.nodes
        )
        self.scale: Floats = 1.0 / np.maximum(1, np.where(self.free < 2**59, self.free, 0).sum(1))
        self.scale[self._shared :] = 0.0  # where one pod is at most, none is fuller
        self.weight: Floats = 1.0 / np.maximum(1.0, self.ask.mean(axis=0))
        """Per resource, what makes its amounts comparable: pods of mean size."""
        self._build_masks()
        shapes = np.column_stack([self.ask, self.place_class])
        _, first, shape = np.unique(shapes, axis=0, return_index=True, return_inverse=True)
        self._shape: Ints = shape.reshape(-1)
        """Per group, its shape."""
        self._asks = np.ascontiguousarray(self.ask[first].T)
        """What a pod of each shape asks for of each row."""
        self._class = self.place_class[first]
        self.part = [group.part for group in groups]
        entered = True if self._admits is None else self._admits.any(axis=0)
        self._places = [mask_of(self.nodes, nodes) & entered for nodes in scope.parts]
        """Per part, nodes that admit somebody."""
        self.home = [group.home for group in groups]
        """Per group, its pods in the snapshot by node."""
        self.on: list[dict[int, int]] = [{} for _ in groups]
        """Pods of each group by node."""
        self._lay_out(SLOTS)

    def _build_masks(self) -> None:
        groups = self.scope.groups
        self.allowed: list[Mask | None] = []
        """Per group, the nodes that admit its pods; ``None`` if all do."""
        masks: list[Mask] = []
        known: dict[frozenset[int] | None, int] = {}
        self.place_class: Ints = np.zeros(self.count, dtype=np.int64)
        """Number of each group; those that the same nodes admit have the same one."""
        for g, group in enumerate(groups):
            nodes = group.allowed
            if group.homebound:
                nodes = frozenset(group.home) & (nodes if nodes is not None else set(group.home))
            if nodes not in known:
                known[nodes] = len(masks)
                masks.append(mask_of(self.nodes, range(self.nodes) if nodes is None else nodes))
            self.place_class[g] = known[nodes]
            self.allowed.append(None if nodes is None else masks[known[nodes]])
        self._admits: Mask | None = np.array(masks) if known.keys() - {None} else None
        """Per class of groups, the nodes that admit their pods; ``None`` if all admit all."""
        self.fixed_place: Mask = np.array([group.homebound for group in groups] + [True])
        """Groups whose pods go nowhere else; and the group of no pods."""

    def room_of(self, part: int) -> Ints:
        """Amount of each resource that is free on all nodes of a part that admit somebody."""
        free = self.free[:, self._places[part]]
        return np.asarray(free.clip(0, _NO_LIMIT).sum(axis=1), dtype=np.int64)

    def partners(self, n: int) -> Mask:
        """Nodes that pods may come to that may come to this one as well."""
        if self._admits is None:
            found = np.ones(self.nodes, dtype=np.bool_)
        else:
            found = np.asarray(self._admits[self._admits[:, n]].any(axis=0))
        found[n] = False
        return found

    def _lay_out(self, width: int) -> None:
        """Give each node ``width`` slots; those in use are filled in anew."""
        self.width = width
        slots = self.nodes * width
        self.offer: Ints = np.full((self.resources, slots), _EMPTY, dtype=np.int64)
        self._offers = self.offer.reshape(self.resources, self.nodes, width)
        self.group_at: Ints = np.full(slots, self.count, dtype=np.int64)
        self.leaves_home: Floats = np.zeros(slots)
        """1 where a pod that leaves would be one more that is not at home."""
        self.node_at: Ints = np.repeat(np.arange(self.nodes), width)
        self.slot: list[dict[int, int]] = [{} for _ in range(self.nodes)]
        """Per node, the column of each group that has pods there."""
        self._spare = [
            list(range((n + 1) * width - 1, n * width - 1, -1)) for n in range(self.nodes)
        ]
        self._full = 0
        """Nodes without a spare slot."""
        self._slot_admits = None if self._admits is None else self._admits.repeat(width, axis=1)
        for g, spots in enumerate(self.on):
            for n, pods in spots.items():
                self._open(g, n)
                self.leaves_home[self.slot[n][g]] = pods <= self.home[g].get(n, 0)

    def spare_slots(self) -> None:
        """Have a spare slot on each node: a pod of another group can come without a new layout."""
        if self._full:
            self._lay_out(self.width + 2)

    def _open(self, g: int, n: int) -> int:
        index = self._spare[n].pop()
        self._full += not self._spare[n]
        self.slot[n][g] = index
        self.group_at[index] = g
        self.offer[:, index] = self.free[:, n] + self._column[g]
        return index

    def _come(self, g: int, n: int, pods: int) -> bool:
        """Place one pod beside ``pods`` of its group; return whether that is one more at home."""
        self.free[:, n] -= self._column[g]
        self._offers[:, n] -= self._block[g]
        index = self.slot[n].get(g)
        if index is None:
            if not self._spare[n]:
                self._lay_out(self.width + 2)
            index = self._open(g, n)
        self.on[g][n] = pods + 1
        stays = pods < self.home[g].get(n, 0)
        self.leaves_home[index] = stays
        if self.admission is not None:
            self._admit(self.admission.count(g, n, 1, arrival=not stays))
        return stays

    def _go(self, g: int, n: int, pods: int) -> bool:
        """Take one pod away, ``pods`` remain; return whether that is one less at home."""
        here = self.home[g].get(n, 0)
        self.free[:, n] += self._column[g]
        self._offers[:, n] += self._block[g]
        index = self.slot[n][g]
        if pods:
            self.on[g][n] = pods
            self.leaves_home[index] = pods <= here
        else:
            del self.on[g][n], self.slot[n][g]
            self._full -= not self._spare[n]
            self._spare[n].append(index)
            self.offer[:, index] = _EMPTY
            self.group_at[index] = self.count
            self.leaves_home[index] = 0.0
        if self.admission is not None:
            self._admit(self.admission.count(g, n, -1, arrival=pods >= here))
        return pods < here

    def _admit(self, changes: Iterable[tuple[int, Mask]]) -> None:
        """Renew rows of neighbours: a node holds one more of a kin, or none."""
        for row, admits in changes:
            r = self.own + row
            self.free[r] = admits
            self.offer[r] = admits[self.node_at] + self._taken[r][self.group_at]

    def away(self) -> Iterator[tuple[int, int]]:
        """Yield groups with the nodes on which more of their pods are than run there now."""
        for g, spots in enumerate(self.on):
            for n, pods in spots.items():
                if pods > self.home[g].get(n, 0):
                    yield g, n

    def rows_of(self, groups: Collection[int]) -> Ints | slice:
        """Return the rows that any of some groups looks at."""
        if self.resources == self._shared:
            return slice(None)
        return np.array(sorted({0, *(r for g in groups for r in self._rows[g])}), dtype=np.int64)

    def has_room(self, g: int, n: int) -> bool:
        """Whether a node has room for one more pod of a group, whether or not it admits them."""
        return bool((self.free[:, n] >= self._column[g]).all())

    def free_nodes(self, g: int) -> Ints:
        """Nodes with room for one more pod of a group, homes left aside for those bound to them."""
        mask = self.free[0] >= self.ask[g, 0]
        for r in self._rows[g]:
            mask &= self.free[r] >= self.ask[g, r]
        allowed = self.allowed[g]
        if allowed is not None:
            mask &= allowed
        return np.flatnonzero(mask)

    def fits_somewhere(self) -> Mask:
        """Per group, whether some node has room for one more pod."""
        useful = self.free[0] >= self.least_ask[0]
        for r in range(1, self._shared):
            useful &= self.free[r] >= self.least_ask[r]
        nodes = useful.nonzero()[0]
        if not len(nodes):
            return np.zeros(self.count, dtype=np.bool_)
        mask = self.free[0, nodes][:, None] >= self._asks[0]
        for r in range(1, self._shared):
            mask &= self.free[r, nodes][:, None] >= self._asks[r]
        for r in range(self._shared, self.resources):
            mask[:, self._asks[r] > 0] &= (self.free[r, nodes] > 0)[:, None]
        if self._admits is not None:
            mask &= self._admits[self._class[:, None], nodes].T
        return np.asarray(mask.any(axis=0)[self._shape], dtype=np.bool_)

    def taking(self, slots: Ints, groups: Ints) -> Mask:
        """Per group asked, whether a pod fits once one of the pods of some slots has left."""
        shapes, shape = np.unique(self._shape[groups], return_inverse=True)
        asks = self._asks[:, shapes]
        rows = asks[0][:, None] <= self.offer[0, slots]
        for r in range(1, self._shared):
            rows &= asks[r][:, None] <= self.offer[r, slots]
        for r in range(self._shared, self.resources):
            rows[asks[r] > 0] &= self.offer[r, slots] > 0
        if self._slot_admits is not None:
            rows &= self._slot_admits[self._class[shapes][:, None], slots]
        return np.asarray(rows.any(axis=1)[shape], dtype=np.bool_)

    def admitted(self, groups: Ints, n: int) -> Mask:
        """Per group asked, whether a node admits its pods."""
        if self._admits is None:
            return np.ones(len(groups), dtype=np.bool_)
        return np.asarray(self._admits[self.place_class[groups], n], dtype=np.bool_)

    def makes_room(self, g: int) -> Mask:
        """Per slot, whether a pod of a group fits once one of the slot's has left."""
        row = self.offer[0] >= self.ask[g, 0]
        for r in self._rows[g]:
            row &= self.offer[r] >= self.ask[g, r]
        if self._slot_admits is not None:
            row &= self._slot_admits[self.place_class[g]]
        return np.asarray(row, dtype=np.bool_)

    def cleared(self, g: int, leaving: Mask, most: int) -> Ints:
        """Nodes that may have room for a pod of a group once pods of others leave.

        Others have room for none, whatever leaves.

        Parameters
        ----------
        g
            The group.
        leaving
            Groups of which pods leave.
        most
            Pods that leave at most.
        """
        slots = leaving[self.group_at].nonzero()[0]
        allowed = self.allowed[g]
        if allowed is not None:
            slots = slots[allowed[self.node_at[slots]]]
        if not len(slots):
            return slots
        nodes = self.node_at[slots]
        first = np.diff(nodes, prepend=-1).nonzero()[0]
        nodes = nodes[first]
        gone = np.add.reduceat(self._taken[:, self.group_at[slots]], first, axis=1)
        room = self.free[:, nodes] + most * gone
        return np.asarray(nodes[(room >= self._block[g]).all(axis=0)], dtype=np.int64)
