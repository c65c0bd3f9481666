"""The cluster while time goes on: where jobs are, and who can start now."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from kantopt.problem.placement import Placement
from kantopt.schema.policy import Placement as Choice
from kantopt.search.insertion.zones import placer_of
from kantopt.search.state import Change, State
from kantopt.search.strategy import Strategy
from kantopt.simulate.lacks import Lacks
from kantopt.simulate.world import World
from kantopt.verify.rules import check_arrivals


class Cluster:
    """One state for a whole simulation; jobs come by a strategy, and go.

    Jobs that are alike and do not fit are not tried again until something was freed.

    Attributes
    ----------
    state
        Where all pods are now.
    down
        Nodes that have failed and are not repaired.
    changed
        Pod sets that have come or gone since whoever looks at this emptied it.
    version
        Grows with every change.
    """

    def __init__(self, world: World, choice: Choice, placement: Placement | None = None) -> None:
        self.world = world
        self.state = State(world.instance, world.start if placement is None else placement)
        self.state.settle(range(len(world.instance.podsets)))
        self.down: set[int] = set()
        self.changed: set[int] = set()
        self.version = 0
        self._placer = placer_of(self.state, Strategy(choice.strategy))
        self.lacks = Lacks(self._placer)
        self._keys: dict[int, Hashable] = {}
        self._hopeless: dict[Hashable, int] = {}
        """Those that did not fit, by what they are like."""
        self._lonely: set[int] = set()
        """Of those whom nobody is like, who did not fit."""
        self._fitting: tuple[int, set[Hashable]] = -1, set()
        """A version, and those who fitted then, by what they are like."""

    # -- who starts

    def alike(self, j: int) -> Hashable:
        """Return what decides whether a job fits; jobs with equal answers fit or fail alike."""
        if j not in self._keys:
            self._keys[j] = self._alike(j)
        return self._keys[j]

    def _alike(self, j: int) -> Hashable:
        instance, state = self.world.instance, self.state
        job = instance.jobs[j]
        if any(map(state.neighbours.concern, job.podsets)):
            return j
        podsets = [instance.podsets[s] for s in job.podsets]
        return (
            job.queue,
            job.min_count,
            j in instance.zone_jobs,
            tuple(role.min_count for role in job.roles),
            tuple((state.shape[p.index].index, p.allowed, p.count) for p in podsets),
            tuple(
                (need.roles, need.required, need.preferred, need.slice_level, need.slice_size)
                for need in self._placer.needs.get(j, ())
            ),
        )

    def hopeless(self, j: int) -> bool:
        """Whether a job like this one did not fit, and nothing has been freed since."""
        return j in self._lonely or self.alike(j) in self._hopeless

    def start(self, j: int) -> bool:
        """Place the pods without which a job does not start; return whether that was possible.

        Of a job that is no gang that is one pod; as many come as fit.
        """
        if self.hopeless(j):
            return False
        if self.lacks.seen(j) is None:
            self._placer.place(j)
            if self.pods(j):
                self._came(j)
                return True
        self._in_vain(j)
        return False

    def fits(self, j: int) -> bool:
        """Whether a job that waits could start now; nothing changes."""
        if self.hopeless(j):
            return False
        version, fitting = self._fitting
        if version != self.version:
            fitting = set()
            self._fitting = self.version, fitting
        key = self.alike(j)
        if key in fitting:
            return True
        if self.trial(j):
            fitting.add(key)
            return True
        self._in_vain(j)
        return False

    def trial(self, j: int) -> tuple[Change, ...]:
        """Return where a job that waits would start, as the state is; none if nowhere."""
        if self.lacks.seen(j) is not None:
            return ()
        mark = self.state.mark()
        self._placer.place(j)
        found = tuple(self.state.journal[mark:]) if self.pods(j) else ()
        self.state.undo(mark)
        return found

    def start_at(self, j: int, pods: Iterable[Change]) -> None:
        """Place pods of a job that waits where there is room for them."""
        for change in pods:
            self.state.add(*change)
        self._came(j)

    def _in_vain(self, j: int) -> None:
        """Remember that a job did not fit."""
        key = self.alike(j)
        if key == j:
            self._lonely.add(j)
        else:
            self._hopeless[key] = j

    def grow(self, j: int) -> bool:
        """Place more pods of a job that runs, as many as fit; return whether any came."""
        before = self.pods(j)
        if self.lacks.room_for_more(j):
            self._placer.place_more(j)
        if self.pods(j) > before:
            self._came(j)
            return True
        return False

    def _came(self, j: int) -> None:
        self.changed.update(self.world.instance.jobs[j].podsets)
        self.version += 1
        self._lonely.clear()

    def put(self, j: int, gone: Sequence[Change], come: Sequence[Change]) -> bool:
        """Place, move or take away pods of a job as somebody else has planned it, all or none.

        Parameters
        ----------
        gone, come
            Pod set, spot and number of pods.

        Returns
        -------
        bool
            Whether they were where they were thought to be, and all rules hold.
        """
        state, instance = self.state, self.world.instance
        if any(state.spots[s].get(spot, 0) < pods for s, spot, pods in gone):
            return False
        if any(spot.node in self.down for _, spot, _ in come):
            return False
        mine = set(instance.jobs[j].podsets)
        before = [dict(spots) if s in mine else spots for s, spots in enumerate(state.spots)]
        mark = state.mark()
        for s, spot, pods in gone:
            state.add(s, spot, -pods)
        for s, spot, pods in come:
            state.add(s, spot, pods)
        over = any(state.placed[s] > instance.podsets[s].count for s in mine)
        after = Placement(tuple(state.spots))
        if over or check_arrivals(instance, Placement(tuple(before)), after):
            state.undo(mark)
            return False
        self._came(j)
        if gone:
            self.freed()
        return True

    # -- who goes

    def stop(self, j: int) -> None:
        """Take all pods of a job off the cluster."""
        podsets = self.world.instance.jobs[j].podsets
        for s, spot, pods in self.places(j):
            self.state.add(s, spot, -pods)
        self.changed.update(podsets)
        self.state.settle(podsets)
        self.freed()

    def fail(self, n: int) -> list[int]:
        """Let a node fail; return the jobs that lose pods there, and are to be stopped.

        Pods that belong to the node wait there until it is repaired.
        """
        self.down.add(n)
        self.state.close(n, True)
        self.version += 1
        podsets = self.world.instance.podsets
        on_it = (podsets[s] for s, _ in self.state.bound_on.get(n, ()))
        return sorted({podset.job for podset in on_it if not podset.daemon})

    def repair(self, n: int) -> None:
        """Let a node take pods again."""
        self.down.discard(n)
        self.state.close(n, False)
        self.freed()

    def freed(self) -> None:
        """Take note that there is more room, or that rules leave more."""
        self.version += 1
        self._hopeless.clear()
        self._lonely.clear()

    def settle(self) -> None:
        """Take what has come as standing from now on."""
        self.state.settle(sorted(self.changed))

    @property
    def in_vain(self) -> list[int]:
        """Jobs that did not fit, one of those that are alike, since anything was freed."""
        return sorted([*self._lonely, *self._hopeless.values()])

    def restore(
        self, placement: Placement, down: Iterable[int], in_vain: Iterable[int], version: int
    ) -> None:
        """Bring everything to where another cluster of this world was between two moments."""
        self.state.go_to(placement)
        self.state.settle(range(len(self.world.instance.podsets)))
        self.changed.clear()
        for n in down:
            self.down.add(n)
            self.state.close(n, True)
        for j in in_vain:
            self._in_vain(j)
        self.version = version

    # -- what is where

    def places(self, j: int) -> tuple[Change, ...]:
        """Where the pods of a job are."""
        return tuple(
            (s, spot, pods)
            for s in self.world.instance.jobs[j].podsets
            for spot, pods in sorted(self.state.spots[s].items())
        )

    def pods(self, j: int) -> int:
        """Pods of a job that are placed."""
        return sum(self.state.placed[s] for s in self.world.instance.jobs[j].podsets)

    def gpus(self, j: int) -> int:
        """Milli-GPU of the pods of a job that are placed."""
        podsets = self.world.instance.podsets
        return sum(
            self.state.placed[s] * podsets[s].gpu_milli for s in self.world.instance.jobs[j].podsets
        )

    def short(self, j: int) -> bool:
        """Whether pods of a job are not placed."""
        podsets = self.world.instance.podsets
        return any(
            self.state.placed[s] < podsets[s].count for s in self.world.instance.jobs[j].podsets
        )

    def nodes(self, j: int) -> list[int]:
        """Nodes on which a job is."""
        podsets = self.world.instance.jobs[j].podsets
        return sorted({spot.node for s in podsets for spot in self.state.spots[s]})

    def lack(self, j: int) -> str:
        """Return what a waiting job lacks now: as :data:`Lack` says, or ``nothing``.

        It lacks quota if that is all that is seen to lack. What was tried in vain, though nothing
        is, lacks closeness if any is asked of it and room if not.
        """
        if (lack := self.lacks.seen(j)) is not None:
            return (self.lacks.beside_quota(j) or lack) if lack == "quota" else lack
        if not self.hopeless(j) and (self.lacks.sees_all(j) or self.fits(j)):
            return "nothing"
        return "closeness" if j in self._placer.needs or self.alike(j) == j else "room"
