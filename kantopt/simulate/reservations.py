"""Backfilling with reservations: EASY and conservative, over places instead of processors.

EASY (Lifka, *The ANL/IBM SP Scheduling System*, JSSPP 1995): the first job that waits has a
reservation; others pass if they do not delay it. Conservative (Mu'alem and Feitelson, IEEE
Transactions on Parallel and Distributed Systems 12(6), 2001): all have one. So EASY is a depth of
one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from kantopt.search.state import Change
from kantopt.simulate.floor import Floor, ends, length
from kantopt.simulate.orders import Sequence, by_rank
from kantopt.simulate.plain import Data, pods_data, pods_of
from kantopt.simulate.preemption import MakeRoom, in_turn, spared, start_without
from kantopt.simulate.profile import NEVER, Profile
from kantopt.simulate.world import least_demand


@dataclass(frozen=True, slots=True)
class Reservation:
    """Places of a job from one time to another, milliseconds since the start of the trace."""

    begin: int
    end: int
    pods: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class _Running:
    """A job that runs, as the profile has it; the first two tell whether it is the same still."""

    version: int
    changes: int
    end: int
    """When it ends by its estimate."""
    pods: tuple[Change, ...]


class Reservations:
    """Works through the queue; the first ``depth`` jobs that have to wait have a reservation each.

    A reservation is a set of places at the earliest time at which they are free for as long as
    the job says, by the estimates of those who run and the reservations before it. Whoever has
    none starts if there are places that are free now, and stay so for as long as it says. When
    somebody has ended early, reservations are made anew one after the other, in the order of the
    queue, while the others stay; none is ever later than before, unless its order has changed,
    nodes have failed, are repaired that somebody before it needs, or somebody runs for longer than
    he said. Then all behind are made anew.

    Whoever has run for as long as he said is taken to end at the next moment, again and again. A
    job that has no place even when all that runs has ended, as when nodes have failed, has no
    reservation, and does not count as one of the first.
    """

    def __init__(
        self,
        depth: int,
        sequence: Sequence,
        make_room: MakeRoom | None = None,
        *,
        evict_backfilled: bool = False,
    ) -> None:
        self._depth, self._sequence = depth, sequence
        self._make_room, self._evict_backfilled = make_room, evict_backfilled
        self._passed: dict[int, tuple[int, int]] = {}
        """Of those who passed: their version, and the first of those who waited before."""
        self._first: int | None = None
        self._profile: Profile | None = None
        self._running: dict[int, _Running] = {}
        self._kept: dict[int, Reservation | None] = {}
        """In the order of the queue; ``None``: it found no places."""
        self._growing: int | None = None
        """Who was asked last, of those who run, whether it gets more pods."""
        self._late = False
        """Whether somebody runs for longer than he said."""
        self._down: frozenset[int] = frozenset()
        self._freed = True
        """Whether there may be earlier places than when the reservations were made."""
        self._failed: dict[Hashable, tuple[int, int]] = {}
        """Of each kind the shortest that did not fit beside reservations: its length, and it."""

    def reserved(self, j: int) -> Reservation | None:
        """Return the reservation of a job that waits, if it has one."""
        return self._kept.get(j)

    def __call__(self, floor: Floor) -> None:
        """Start who may start now."""
        profile = self._follow(floor)
        order = iter([j for j in self._kept if j in floor.waiting])
        for j in [j for j in self._kept if j not in floor.waiting]:
            self._drop(j)
        expected = next(order, None)
        self._first = None
        held = 0
        # Ranks do not change: behind the last reservation nobody is asked who is like one in vain.
        by_kind = self._sequence is by_rank
        for j in self._sequence(floor):
            if held >= self._depth:
                if by_kind:
                    for behind in floor.waiting.hopeful(floor.cluster.hopeless, j):
                        self._beside(floor, profile, behind)
                    break
                self._beside(floor, profile, j)
                continue
            if j == expected:
                expected = next(order, None)
            elif expected is not None or j in self._kept:
                # Somebody has come before those who had reservations: they stand behind him now.
                for other in [expected, *order]:
                    if other is not None:
                        self._drop(other)
                expected = None
                self._freed = True
            reserved = self._reserve(floor, profile, j)
            if reserved is None and held:
                self._has_passed(floor, j)
            if reserved is not None and not held and self._start_by_force(floor, j):
                # What is reserved behind may have counted on the room of those who are gone.
                for other in list(self._kept):
                    self._drop(other)
                self._freed = True
                by_kind = False
                continue
            if reserved:
                self._first = self._first if held else j
                held += 1
        for j in [j for j in (expected, *order) if j is not None]:
            self._drop(j)
            self._freed = True
        self._freed = False
        profile.forget(self._needed())

    @property
    def wakes(self) -> int | None:
        """When the next reservation begins, if those who are to end by then may have ended.

        While somebody runs for longer than he said, it is his end that is waited for.
        """
        if self._late or self._profile is None:
            return None
        now = self._profile.times[0]
        begins = (kept.begin for kept in self._kept.values() if kept is not None)
        return min((begin for begin in begins if now < begin < NEVER), default=None)

    @contextmanager
    def growing(self, floor: Floor, j: int) -> Iterator[None]:
        """Leave, while a job that runs gets more pods, what is reserved alone."""
        profile, last = self._profile, self._growing
        assert profile is not None, "the queue has been worked through"
        if last is not None and floor.work[last].changes != self._running[last].changes:
            self._resized(floor, profile, last)
        self._growing = j
        with profile.imagined(floor.now, max(self._running[j].end, floor.now + 1)):
            yield

    # -- written down

    def memory(self) -> Data:
        """Write down what was promised, and who is thought to run for how long.

        The profile follows from that and the cluster.
        """
        return {
            "begun": self._profile is not None,
            "passed": [[j, *whom] for j, whom in self._passed.items()],
            "first": self._first,
            "running": [
                [j, each.version, each.changes, each.end, pods_data(each.pods)]
                for j, each in self._running.items()
            ],
            "kept": [
                [j, kept and [kept.begin, kept.end, pods_data(kept.pods)]]
                for j, kept in self._kept.items()
            ],
            "late": self._late,
            "down": sorted(self._down),
            "freed": self._freed,
            "failed": sorted(self._failed.values()),
        }

    def remember(self, floor: Floor, data: Data) -> None:
        """Take up what was written down."""
        self._passed = {j: (version, first) for j, version, first in data["passed"]}
        self._first, self._late, self._freed = data["first"], data["late"], data["freed"]
        self._down = frozenset(data["down"])
        self._failed = {floor.cluster.alike(j): (lasts, j) for lasts, j in data["failed"]}
        self._running = {
            j: _Running(version, changes, end, pods_of(pods))
            for j, version, changes, end, pods in data["running"]
        }
        self._kept = {
            j: kept and Reservation(kept[0], kept[1], pods_of(kept[2])) for j, kept in data["kept"]
        }
        if not data["begun"]:
            return
        profile = self._profile = Profile(floor.cluster.state, floor.now)
        for j in floor.running:  # one may have more pods than when the queue was worked through
            profile.give(self._now(floor, j).pods, floor.now, NEVER)
        for running in self._running.values():
            profile.take(running.pods, floor.now, running.end)
        for kept in self._kept.values():
            if kept is not None:
                profile.take(kept.pods, kept.begin, kept.end)
        profile.forget(self._needed())

    # -- the queue

    def _start_by_force(self, floor: Floor, j: int) -> bool:
        """Start the first of those who wait by evicting others."""
        if self._make_room is not None and self._make_room(floor, j):
            done = True
        elif self._evict_backfilled:
            passed = [
                v
                for v, (version, first) in self._passed.items()
                if first == j and version == floor.work[v].version and not spared(floor, v)
            ]
            done = start_without(floor, j, in_turn(floor, passed), lambda _: True)
        else:
            done = False
        if done:
            profile = self._follow(floor)
            self._drop(j)
            self._started(floor, profile, j)
        return done

    def _reserve(self, floor: Floor, profile: Profile, j: int) -> bool | None:
        """Start a job or give it a reservation, no later than it had one.

        Returns whether it has one; ``None`` if it has started.
        """
        now, had = floor.now, self._kept.get(j)
        if j in self._kept and not self._freed:
            # One who must be near others, or away from them, may have places because they came.
            if had is not None and had.begin > now:
                return True
            if had is None and floor.cluster.alike(j) != j:
                return False
        if had is not None:
            profile.give(had.pods, had.begin, had.end)
        # Where nobody else has a reservation, there is nothing to look at but what is free now.
        if not any(kept is not None for k, kept in self._kept.items() if k != j) and floor.start(j):
            self._begun(floor, profile, j)
            return None
        latest = None if had is None else had.begin
        found = self._earliest(floor, profile, j, length(floor, j), latest)
        if found is None and had is not None and had.begin <= now:
            # Places of the past: those whom he must be near, or away from, may have come or gone.
            if floor.put(j, (), had.pods):
                self._begun(floor, profile, j)
                return None
            had = None
            found = self._earliest(floor, profile, j, length(floor, j), None)
        found = found or had
        if found is not None and found.begin <= now and floor.start(j, at=found.pods):
            self._begun(floor, profile, j)
            return None
        self._kept[j] = found
        if found is not None:
            profile.take(found.pods, found.begin, found.end)
            if found != had:
                self._failed.clear()
        return found is not None

    def _begun(self, floor: Floor, profile: Profile, j: int) -> None:
        """Enter a job that has just started, and needs no reservation any more."""
        self._kept.pop(j, None)
        self._started(floor, profile, j)

    def _earliest(
        self, floor: Floor, profile: Profile, j: int, lasts: int, latest: int | None
    ) -> Reservation | None:
        """Find the earliest places, no later than some time if one is given."""
        floor.cluster.fits(j)  # remembered, for those who ask what it lacks
        least = np.array(least_demand(floor.world.instance, j), dtype=np.int64)
        for at in profile.starts(least, lasts):
            if latest is not None and at > latest:
                return None
            with profile.imagined(at, at + lasts):
                pods = floor.cluster.trial(j)
            if pods:
                return Reservation(at, at + lasts, pods)
        return None

    def _beside(self, floor: Floor, profile: Profile, j: int) -> None:
        """Start a job that has no reservation if it is in nobody's way."""
        if not floor.cluster.fits(j):
            return
        key, lasts = floor.cluster.alike(j), length(floor, j)
        if lasts >= self._failed.get(key, (NEVER, j))[0]:
            return
        with profile.imagined(floor.now, floor.now + lasts):
            pods = floor.cluster.trial(j)
        if pods and floor.start(j, at=pods):
            self._started(floor, profile, j)
            self._has_passed(floor, j)
        else:
            self._failed[key] = lasts, j

    def _has_passed(self, floor: Floor, j: int) -> None:
        """Take note of whom a job has passed that has just started."""
        if self._evict_backfilled and self._first is not None:
            self._passed[j] = floor.work[j].version, self._first

    def _drop(self, j: int) -> None:
        had = self._kept.pop(j, None)
        if had is not None and self._profile is not None:
            self._profile.give(had.pods, had.begin, had.end)
            self._failed.clear()

    # -- the profile

    def _started(self, floor: Floor, profile: Profile, j: int) -> None:
        """Enter a job that has just started."""
        running = self._now(floor, j)
        self._running[j] = running
        profile.take(running.pods, floor.now, running.end)

    def _resized(self, floor: Floor, profile: Profile, j: int) -> None:
        """Enter the pods of a job that has more or fewer of them than were known."""
        known = self._running[j]
        profile.give(known.pods, floor.now, known.end)
        self._started(floor, profile, j)
        self._freed = True

    def _now(self, floor: Floor, j: int) -> _Running:
        work, end = floor.work[j], max(ends(floor, j), floor.now + 1)
        return _Running(work.version, work.changes, end, floor.cluster.places(j))

    def _needed(self) -> set[int]:
        """Times at which something changes."""
        needed = {running.end for running in self._running.values()}
        for kept in self._kept.values():
            if kept is not None:
                needed |= {kept.begin, kept.end}
        return needed

    def _follow(self, floor: Floor) -> Profile:
        """Bring the profile up to now: who has ended, who runs for too long, which nodes failed."""
        now, profile = floor.now, self._profile
        down = frozenset(floor.cluster.down)
        if profile is None:
            profile = self._profile = Profile(floor.cluster.state, now)
            for j in floor.running:
                self._running[j] = known = self._now(floor, j)
                profile.give(known.pods, known.end, NEVER)
        profile.advance(now)
        # Once nodes are repaired, who had no place stands before those who were promised one since.
        repaired = bool(self._down - down)
        anew = bool(down - self._down) or (repaired and None in self._kept.values())
        self._late, self._growing = False, None
        self._freed = self._freed or down != self._down
        self._down = down
        for j, known in list(self._running.items()):
            work = floor.work[j]
            if work.changes == known.changes and known.end > now:
                continue
            if work.version != known.version:
                profile.give(known.pods, now, known.end)
                self._freed = self._freed or known.end > now
                self._failed.clear()
                del self._running[j]
                self._passed.pop(j, None)
                if work.running:  # moved, perhaps to where somebody has a reservation
                    anew = True
                    self._started(floor, profile, j)
            elif work.changes != known.changes:
                self._resized(floor, profile, j)
            late = self._running.get(j)
            if late is not None and late.end <= now:
                anew = self._late = True
                profile.take(late.pods, now, now + 1)
                self._running[j] = _Running(late.version, late.changes, now + 1, late.pods)
        # A time that was promised is past where somebody ran for longer, or nothing happened then.
        if anew or any(kept is not None and kept.begin < now for kept in self._kept.values()):
            for j in list(self._kept):
                self._drop(j)
        if self._freed:
            self._failed.clear()
        return profile
