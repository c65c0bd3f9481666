"""Where pods are that may change places, as arrays over all of them, beside the state."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.job import Job
from kantopt.problem.placement import Placement
from kantopt.search.shapes import Ints, Mask, PodShape
from kantopt.search.state import State

_MORE = 1024
"""Rows that arrays grow by."""


def restless(instance: Instance) -> list[bool]:
    """Say of each pod set whether its pods may change places one by one.

    Pods stay that may not move or are to be near others, and pods of gangs that wait.
    """
    free = freedom_of(instance)
    return [
        podset.index not in free.close
        and not instance.on_held(podset)
        and (free.steps[podset.index] > 0 or free.binds[podset.index] > 0)
        and (podset.running or _alone(instance.job_of(podset.index)))
        for podset in instance.podsets
    ]


def _alone(job: Job) -> bool:
    """Whether each pod of a job counts by itself."""
    return not job.is_gang or job.count == 1


class Board(State):
    """A state whose restless pods are rows as well: pod set and spot, and how many are there.

    Rows stay once they are there; those without pods have a count of 0.

    Attributes
    ----------
    rows
        How many are in use.
    node, row_shape, podset, count
        Of each row; shapes by index in ``distinct``.
    home
        Pods that ran there in the snapshot; each that is gone is a move.
    request, asked
        What a pod takes of its node (resources x rows) and devices (resources x rows x devices).
    fixed
        1 where pods arrived that must not move once more: their moves might then wait for each
        other in a circle.
    """

    def __init__(self, instance: Instance, start: Placement) -> None:
        super().__init__(instance)
        self.restless = restless(instance)
        self.live = [instance.job_of(p.index).move_mode == "live" for p in instance.podsets]
        self.watchers: list[Callable[[int, int], None]] = []
        """Told pod set and number whenever restless pods come or go."""
        self.rows = 0
        self._tell_apart()
        self._row: dict[tuple[int, Spot], int] = {}
        self.rows_on: list[list[int]] = [[] for _ in instance.nodes]
        self._spot: list[Spot] = []
        self._allocate(_MORE)
        for podset in instance.podsets:
            if self.restless[podset.index]:
                for spot, pods in sorted(podset.current.items()):
                    row = self.row_of(podset.index, spot)
                    self.home[row] = self.count[row] = pods
        self.go_to(start)

    def _tell_apart(self) -> None:
        """Find the shapes of restless pods, and which nodes admit those that have them."""
        self.distinct: list[PodShape] = []
        """Shapes of restless pods, apart also by the nodes that admit them; pods of one node each
        are not told apart."""
        self.admitting: list[Mask] = []
        """Of each of these, the nodes that do."""
        self.distinct_of: list[int] = []
        """Of each restless pod set: which of these its pods have."""
        known: dict[tuple[int, frozenset[int] | None], int] = {}
        for podset in self.instance.podsets:
            s, k = podset.index, -1
            if self.restless[s]:
                tied = len(podset.allowed) <= 1
                key = self.shape[s].index, None if tied else podset.allowed
                k = known.setdefault(key, len(known))
                if k == len(self.distinct):
                    self.distinct.append(self.shape[s])
                    self.admitting.append(self.allowed(s).copy())
                elif tied:
                    self.admitting[k] |= self.allowed(s)
            self.distinct_of.append(k)

    def _allocate(self, rows: int) -> None:
        resources, devices = len(self.instance.resources), self.device_class.shape[1]
        planes = len(self.device_resources)
        old = self.rows
        fields: dict[str, tuple[int, ...]] = {
            "node": (rows,),
            "row_shape": (rows,),
            "podset": (rows,),
            "count": (rows,),
            "home": (rows,),
            "fixed": (rows,),
            "request": (resources, rows),
            "asked": (planes, rows, devices),
        }
        for name, form in fields.items():
            new = np.zeros(form, dtype=np.int64)
            if old:
                before = getattr(self, name)
                if name in ("request", "asked"):
                    new[:, :old] = before[:, :old]
                else:
                    new[:old] = before[:old]
            setattr(self, name, new)

    node: Ints
    row_shape: Ints
    podset: Ints
    count: Ints
    home: Ints
    fixed: Ints
    request: Ints
    asked: Ints

    def row_of(self, s: int, spot: Spot) -> int:
        """Row of a pod set on a spot, made if there is none yet."""
        row = self._row.get((s, spot))
        if row is not None:
            return row
        if self.rows == len(self.node):
            self._allocate(self.rows + max(_MORE, self.rows // 4))
        row = self.rows
        self.rows += 1
        shape = self.shape[s]
        self._row[s, spot] = row
        self._spot.append(spot)
        self.rows_on[spot.node].append(row)
        self.node[row], self.row_shape[row], self.podset[row] = spot.node, self.distinct_of[s], s
        podset = self.instance.podsets[s]
        self.fixed[row] = podset.running and self.live[s] and spot not in podset.current
        self.request[:, row] = shape.request
        for plane, d, amount in self.device_asks(s, spot):
            self.asked[plane, row, d] += amount
        return row

    def _apply(self, s: int, spot: Spot, pods: int) -> None:
        super()._apply(s, spot, pods)
        if self.restless[s]:
            for watch in self.watchers:
                watch(s, pods)
            row = self.row_of(s, spot)  # which may make longer arrays
            self.count[row] += pods

    @property
    def moves(self) -> int:
        """Running pods that are away from home."""
        return self.pace.moves

    def loose(self, rows: Ints) -> Mask:
        """Whether each row has a pod that may go."""
        return np.asarray((self.count[rows] > 0) & (self.fixed[rows] == 0), dtype=np.bool_)

    def send_home(self) -> None:
        """Take pods back to where they ran, wherever there is room for them now."""
        again = True
        while again:
            again = False
            rows = np.flatnonzero(self.count[: self.rows] < self.home[: self.rows])
            for row in rows.tolist():
                s, spot = int(self.podset[row]), self._spot[row]
                away = [x for x in sorted(self.spots[s]) if x not in self.spots_of(s)]
                if away and self.has_room(s, spot):
                    mark = self.mark()
                    self.add(s, away[0], -1)
                    self.add(s, spot, 1)
                    if self.bears(mark):
                        again = True
                    else:
                        self.undo(mark)

    def bears(self, mark: int) -> bool:
        """Whether all that looks at pods which came or went since a mark still holds."""
        return self.neighbours.holds(sorted({s for s, _, _ in self.journal[mark:]}))

    def spots_of(self, s: int) -> Mapping[Spot, int]:
        """Where the pods of a pod set ran."""
        return self.instance.podsets[s].current

    def lift(self, row: int) -> int:
        """Take one pod of a row away; return its pod set."""
        s = int(self.podset[row])
        self.add(s, self._spot[row], -1)
        return s

    def cost(self, rows: Ints) -> Ints:
        """Moves that taking one pod away from each row adds."""
        return np.asarray(self.count[rows] <= self.home[rows], dtype=np.int64)
