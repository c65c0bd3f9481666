"""What a waiting job lacks, as far as it can be told without trying to place it."""

from __future__ import annotations

from typing import Literal

import numpy as np

from kantopt.schema.model import Rule
from kantopt.search.insertion.fill import room_for
from kantopt.search.insertion.placer import Placer, Want
from kantopt.search.shapes import Ints, Mask
from kantopt.search.state import State, rooms

Lack = Literal["quota", "size", "room", "closeness"]
"""Its quota is used up; it is larger than what is free where it may be; its pods do not fit, though
there are GPUs enough; they fit, but not as close together, or as far apart, as they must be."""


class Lacks:
    """Looks at quota, free GPUs, room and domains, each of which a job cannot do without."""

    def __init__(self, placer: Placer) -> None:
        self._placer = placer
        self._state = placer.state
        self._instance = placer.state.instance
        self._rooms = _Rooms(placer.state)
        self._free: tuple[int, Ints] | None = None

    def seen(self, j: int) -> Lack | None:
        """Return the first thing that a job which waits lacks; ``None`` if none is seen.

        Then it may fit, or not: roles that want the same room are not looked at together.
        """
        wants = self._wants(j)
        if not wants:
            return None
        return self.beside_quota(j) if self._quota_allows(j, wants) else "quota"

    def beside_quota(self, j: int) -> Lack | None:
        """Return the first thing that is seen to lack, whatever is left of the quota."""
        wants = self._wants(j)
        gpus = sum(want.least * self._instance.podsets[want.s].gpu_milli for want in wants)
        if gpus and self._free_for(wants) < gpus:
            return "size"
        rooms = [self._room(want) for want in wants]
        if any(int(room.sum()) < w.least for room, w in zip(rooms, wants, strict=True)):
            return "room"
        if not self._near_enough(j, wants, rooms) or not self._apart_enough(wants):
            return "closeness"
        return None

    def sees_all(self, j: int) -> bool:
        """Whether a job fits in which nothing is seen to lack: a gang of one role, by itself."""
        slices = any(need.slice_level is not None for need in self._placer.needs.get(j, ()))
        concern = self._state.neighbours.concern
        return (
            len(self._wants(j)) == 1
            and not slices
            and not any(map(concern, self._instance.jobs[j].podsets))
        )

    def for_good(self, j: int) -> bool:
        """Whether a job that waits provably lacks something, whoever else starts beside it.

        More pods leave less room, quota and room in domains; others near, or evenly spread, may be
        what it waits for.
        """
        lack = self.seen(j)
        if lack == "closeness":
            return not any(map(self._state.neighbours.concern, self._instance.jobs[j].podsets))
        return lack is not None

    def room_for_more(self, j: int) -> bool:
        """Whether there is room, and quota, for one more pod of a job that runs."""
        return any(
            self._quota_allows(j, [want]) and bool(self._room(want).any())
            for want in (Want(w.s, w.role, 1, w.most) for w in self._placer.wants(j))
        )

    def free(self) -> Ints:
        """Milli-GPU left on each node; not to be changed."""
        end = len(self._state.touched)
        if self._free is None or self._free[0] != end:
            self._free = end, self._state.gpus_left()
        return self._free[1]

    def _wants(self, j: int) -> list[Want]:
        """What a job cannot do without; of one that is no gang, a pod of some role."""
        wants = self._placer.wants(j)
        if self._placer.is_gang(j):
            return [want for want in wants if want.least]
        return [Want(w.s, w.role, 1, w.most) for w in wants] if len(wants) == 1 else []

    def _quota_allows(self, j: int, wants: list[Want]) -> bool:
        extra = [0] * len(self._instance.resources)
        for want in wants:
            for r, amount in enumerate(self._instance.podsets[want.s].demand):
                extra[r] += want.least * amount
        return self._state.quotas.allows(self._instance.jobs[j].queue, extra)

    def _free_for(self, wants: list[Want]) -> int:
        """Milli-GPU free on nodes that any of the pods may go to."""
        masks = [self._state.allowed(want.s) for want in wants]
        mask = masks[0] if len(masks) == 1 else np.any(masks, axis=0)
        return int(np.maximum(self.free()[mask], 0).sum())

    def _room(self, want: Want) -> Ints:
        return self._rooms.on(want.s, self._state.allowed(want.s))

    def _near_enough(self, j: int, wants: list[Want], rooms: list[Ints]) -> bool:
        """Whether each hard need has a domain that holds what is wanted there."""
        domains = self._placer.domains
        for need in self._placer.needs.get(j, ()):
            level = need.required
            if level is None or not self._instance.on(Rule.TOPOLOGY):
                continue
            fits = np.ones(len(self._instance.topology.domains[level]), dtype=np.bool_)
            for want, room in zip(wants, rooms, strict=True):
                if want.role in need.roles:
                    fits &= domains.totals(level, room) >= want.least
            if not fits.any():
                return False
        return True

    def _apart_enough(self, wants: list[Want]) -> bool:
        """Whether pods that others keep away, or want near, have room all the same."""
        return all(
            room_for(self._state, want.s, 1).any()
            for want in wants
            if want.least and self._state.neighbours.concern(want.s)
        )


class _Rooms:
    """Pods that each node holds, by shape; renewed only for nodes that changed."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._most: dict[int, int] = {}
        for podset in state.instance.podsets:
            shape = state.shape[podset.index].index
            self._most[shape] = max(self._most.get(shape, 1), podset.count)
        self._known: dict[int, Ints] = {}
        self._seen: dict[int, int] = {}

    def of(self, s: int) -> Ints:
        """Pods like those of a pod set that each node holds, open or not, as far as capacity goes.

        At most as many as the largest pod set of this shape has. Not to be changed.
        """
        state = self._state
        shape = state.shape[s]
        end = len(state.touched)
        known = self._known.get(shape.index)
        if known is None:
            known = rooms(state, shape, self._most[shape.index])
            self._known[shape.index] = known
        elif (seen := self._seen[shape.index]) < end:
            changed = set(state.touched[seen:end])
            nodes = np.fromiter(sorted(changed), dtype=np.int64, count=len(changed))
            known[nodes] = rooms(state, shape, self._most[shape.index], nodes)
        self._seen[shape.index] = end
        return known

    def on(self, s: int, mask: Mask) -> Ints:
        """Return the same on some nodes, 0 elsewhere."""
        return np.where(mask, self.of(s), 0)
