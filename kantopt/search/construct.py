"""The fast path: a legal placement without a solver, judged before it is returned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby, islice

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.clearing import Clearing, clear_for
from kantopt.search.insertion.priority_list import priority_list
from kantopt.search.insertion.zones import placer_of
from kantopt.search.least_harm import LeastHarm
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.preemption.reverse_trim import ReverseTrim
from kantopt.search.relocation.cheapest import Cheapest
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.relocation.rescue import rescue
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check, is_legal

_MOST_REPAIRS = 12


@dataclass(frozen=True, slots=True)
class How:
    """How jobs are placed one after the other."""

    strategy: Strategy
    """How to choose among the places that a pod could take."""
    seed: int = 0
    """Other numbers than 0 vary the order among jobs of one priority."""
    preempt: bool = True
    """Whether jobs of lower priority may be evicted."""
    relocate: bool = False
    """Whether running pods may be moved out of the way of jobs with devices and of gangs, before
    any is evicted; of all jobs where pods of one restart together. Of others chains know better
    which to move."""
    only_required: bool = False
    """Whether pods are moved and evicted for jobs that must be placed alone."""
    in_order: bool = False
    """Take jobs as they are listed, whatever their priority and size, as arrivals are."""
    largest_first: bool = False
    """Of equal priority those first that ask for most, whether or not they must be close."""
    least_priority: int | None = None
    """Leave out jobs of lower priority."""
    first: Collection[int] = ()
    """Jobs that come before all others."""
    start: Placement | None = None
    """A legal placement to go on from, by default the snapshot's own."""
    unsettled: bool = False
    """Whether new pods may be placed elsewhere for jobs that would be left out: these find a place
    that others took who have many, but at more harm than another order does."""
    singly: bool = False
    """Whether running pods are moved out of the way of single pods without devices as well, where
    no chains follow that would know better."""
    thorough: bool = False
    """Whether of many places that could be cleared for a job that is taken which costs least."""


def construct(instance: Instance, deadline: Deadline, how: How) -> Placement:
    """Place pending jobs one after the other: important ones first, then close ones, then large.

    The placement breaks no rule, except that jobs which must be placed may be missing; at worst it
    is the one to start from. Between jobs the work ends when the deadline is over, with what is
    placed by then.
    """
    order = priority_list(
        instance, seed=how.seed, in_order=how.in_order, largest_first=how.largest_first
    )
    order.sort(key=lambda j: j not in how.first)
    if how.start is not None:
        order = [j for j in order if not _is_whole(instance, how.start, j)]
    if how.least_priority is not None:
        order = [j for j in order if instance.jobs[j].priority >= how.least_priority]
    placement = _legal_run(instance, deadline, how, order)
    lacking = missing_jobs(instance, placement)
    if lacking and not deadline.cuts():
        urgent = sorted(order, key=lambda j: j not in instance.required)
        other = _legal_run(instance, deadline, how, urgent)
        if missing_jobs(instance, other) < lacking:
            return other
    return placement


def _is_whole(instance: Instance, placement: Placement, j: int) -> bool:
    """Whether all pods of a job are placed."""
    return all(placement.placed(s) >= instance.podsets[s].count for s in instance.jobs[j].podsets)


def missing_jobs(instance: Instance, placement: Placement) -> int:
    """Jobs that must be placed and are not."""
    return len(check(instance, placement, (Rule.REQUIRED,))) if instance.required else 0


def _legal_run(instance: Instance, deadline: Deadline, how: How, order: list[int]) -> Placement:
    """Work through the jobs; should the result be illegal, leave out the job that made it so.

    What was legal up to that job stays, if it is better than what there was before.
    """
    tiers = tiers_of(instance)
    banned: set[int] = set()
    best = how.start or instance.current
    for _ in range(_MOST_REPAIRS):
        run = _Run(instance, deadline, how)
        run.work([j for j in order if j not in banned])
        placement = run.state.placement()
        if is_legal(instance, placement):
            return placement
        legal, culprit = run.longest_legal()
        banned.add(culprit)
        if measure(instance, legal, tiers) < measure(instance, best, tiers):
            best, how = legal, replace(how, start=legal)
            order = [j for j in order if not _is_whole(instance, legal, j)]
    return best


class _Run:
    """One pass over the jobs with one strategy."""

    def __init__(self, instance: Instance, deadline: Deadline, how: How) -> None:
        self.instance = instance
        self.deadline = deadline
        self._how = how
        self.state = State(instance)
        trims = how.strategy is Strategy.REVERSE_TRIM
        self.placer = placer_of(self.state, how.strategy, deadline.cuts)
        preemption = ReverseTrim if trims else Preemption
        self.preemption = preemption(self.placer) if how.preempt else None
        self.relocate = how.relocate and not trims
        self._start = how.start or instance.current
        self.state.go_to(self._start)  # once it is watched who is gone
        self._done: list[tuple[int, int]] = []
        """Job and length of the journal after it."""
        self._hopeless: set[tuple[object, ...]] = set()
        self._without_moves: set[tuple[object, ...]] = set()
        """The same where lesser pods are gone and others may move."""
        self._stuck: set[int] = set()
        """Victims to whom nobody can give way."""

    def work(self, order: Sequence[int]) -> None:
        """Place minima first, then the members above them."""
        alone: list[int] = []
        for priority, equals in groupby(order, lambda j: self.instance.jobs[j].priority):
            self._rescue(priority)
            left = self._place_all(list(equals))
            if self.deadline.cuts():
                return
            self._clear_for(left)
            alone += [j for j in left if self._seeks_company(j)]
        # By now those may be there that they must be near; these may have waited for others.
        while alone and len(left := self._place_all(alone)) < len(alone):
            alone = left
        for j in order:
            if self.deadline.cuts():
                return
            if self._grows(j) and not self._disturbed(j) and self.placer.runs(j):
                with self._kept_from(j):
                    self.placer.place_more(j)
                if self.preemption and self._grows(j) and self._may_disturb(j):
                    self.preemption.grow(j)
                self._done.append((j, self.state.mark()))
        self._rescue()

    def _rescue(self, priority: int | None = None) -> None:
        """Let victims, of a priority or higher, run elsewhere before jobs of that are placed."""
        if not (self.relocate and self._done and self.preemption):
            return
        gone, mark = self.preemption.victims.gone, self.state.mark()
        if gone.pods():
            rescue(
                self._relocation, gone.podsets(), priority, self._kept_from, self._send_elsewhere
            )
            if not self.preemption.kept.holds():
                self.state.undo(mark)
            self._done.append((self._done[-1][0], self.state.mark()))

    def _send_elsewhere(self, j: int) -> None:
        """Let lesser ones give way to a victim, unless that was tried in vain."""
        if self.preemption and j not in self._stuck and not self.deadline.cuts():
            with self._kept_from(j):
                moved = self.preemption.send_elsewhere(j)
            if not moved:
                self._stuck.add(j)

    def _kept_from(self, j: int) -> AbstractContextManager[None]:
        """Keep from a job, while it is placed, the room of victims that it may not evict."""
        return self.preemption.kept.held(j) if self.preemption else nullcontext()

    def _place_all(self, order: Sequence[int]) -> list[int]:
        """Place the minima of some jobs; return those that did not fit."""
        left: list[int] = []
        for key, group in groupby(order, self._alike):
            jobs = list(group)
            if key is not None and len(jobs) > 1:
                with self._kept_from(jobs[0]):
                    jobs = self._place_alike(jobs)
            for j in jobs:
                if self.deadline.cuts():
                    return left
                if not self._disturbed(j):
                    mark, harm = self.state.mark(), self._harm()
                    with self._kept_from(j):
                        placed = self._place(j)
                    if not placed:
                        left.append(j)
                    elif self._may_relocate(j) and self._harm() > harm:
                        self._clear_at_less_harm(j, mark)
                    self._done.append((j, self.state.mark()))
        return left

    def _harm(self) -> list[int]:
        return self.preemption.victims.gone.harm() if self.preemption else []

    def _clear_at_less_harm(self, j: int, mark: int) -> None:
        """Place a job for which some were evicted at less harm, if there is a way: others move."""
        if self._clearing is None or self._clearing.spent():
            return
        least = LeastHarm(self.state)
        least.note(self._harm(), mark)
        self.state.undo(mark)
        if self._clearing.place(j):
            least.note(self._harm(), mark)
            self.state.undo(mark)
        least.carry_out()

    @cached_property
    def _clearing(self) -> Clearing | None:
        if not isinstance(self.preemption, Preemption):
            return None
        return Clearing(self.preemption, self._relocation, self.deadline.cuts)

    def _clear_for(self, jobs: Sequence[int]) -> None:
        """Place jobs for which some pods must move and lesser ones must go."""
        jobs = [j for j in jobs if self._may_disturb(j)]
        if jobs and self.relocate and self._clearing is not None:
            self._relocation.look_everywhere()
            for j in clear_for(self._clearing, jobs, self._fits_with_moves):
                self._done.append((j, self.state.mark()))

    def _fits_with_moves(self, j: int) -> bool:
        key = self._alike(j) or self._key(j)
        if self.deadline.cuts() or key in self._without_moves:
            return False
        with self._kept_from(j):
            if self.placer.place(j) or self._relocation.make_room(j):
                return True
        if key is not None:
            self._without_moves.add(key)
        return False

    def _alike(self, j: int) -> tuple[object, ...] | None:
        """Return all that tells a job of a single free pod from others; of other jobs nothing."""
        job = self.instance.jobs[j]
        podset = self.instance.podsets[job.podsets[0]]
        if (
            len(job.podsets) > 1
            or podset.running
            or podset.count > 1
            or not self.placer.anywhere(j)
        ):
            return None
        return (
            job.priority,
            job.may_preempt,
            job.queue,
            self.state.shape[podset.index].index,
            podset.allowed,
        )

    def _place_alike(self, jobs: list[int]) -> list[int]:
        """Place jobs that differ in nothing, all at once; return those that are left."""
        before = self.state.mark()
        placed = self.placer.place_alike(jobs)
        self._done += [(j, before + i) for i, j in enumerate(jobs[:placed], start=1)]
        return jobs[placed:]

    def _place(self, j: int) -> bool:
        key = self._key(j)
        if key in self._hopeless:
            return False
        if self.placer.place(j):
            return True
        if self._make_room(j):
            self._hopeless.clear()
            return True
        if key is not None:
            self._hopeless.add(key)
        return False

    def _may_disturb(self, j: int) -> bool:
        return not self._how.only_required or j in self.instance.required

    def _make_room(self, j: int) -> bool:
        if not self._may_disturb(j):
            return False
        mark, seen = self.state.mark(), len(self.state.touched)
        if self._may_relocate(j) and self._relocation.make_room(j):
            if self.preemption is None or self.preemption.put_back.settles(seen):
                return True
            self.state.undo(mark)
        return self.preemption is not None and self.preemption.make_room(j)

    @cached_property
    def _relocation(self) -> Relocation:
        relocation = (Cheapest if self._how.thorough else Relocation)(self.placer)
        if self._how.unsettled:
            relocation.look_everywhere(unsettled=True)
        return relocation

    def _may_relocate(self, j: int) -> bool:
        """Whether to try moves of other pods: for single pods without devices chains are better.

        These move no job that restarts as a whole.
        """
        job = self.instance.jobs[j]
        devices = any(self.instance.podsets[s].devices for s in job.podsets)
        alone = not (devices or self.placer.is_gang(j))
        return self.relocate and (not alone or self._how.singly or bool(self.instance.together))

    def _key(self, j: int) -> tuple[object, ...] | None:
        """Return what decides whether a job fits; jobs with equal keys fit or fail alike."""
        job = self.instance.jobs[j]
        gang = self.placer.is_gang(j)
        if (
            not gang
            or j in self.placer.needs
            or any(self.state.neighbours.concern(s) for s in job.podsets)
        ):
            return None
        podsets = [self.instance.podsets[s] for s in job.podsets]
        if any(podset.running for podset in podsets):
            return None
        return (
            job.priority,
            job.may_preempt,
            job.queue,
            job.min_count,
            tuple(role.min_count for role in job.roles),
            tuple((self.state.shape[p.index].index, p.allowed, p.count) for p in podsets),
        )

    def _disturbed(self, j: int) -> bool:
        """Whether pods of the job were evicted."""
        return any(
            self.state.placed[s] < self.instance.podsets[s].count
            for s in self.instance.running_of(j)
        )

    def _seeks_company(self, j: int) -> bool:
        """Whether pods of the job must be near others."""
        return any(self.state.neighbours.seeks(s) for s in self.instance.jobs[j].podsets)

    def _grows(self, j: int) -> bool:
        """Whether pods of a gang are still to be placed."""
        return self.placer.is_gang(j) and any(
            self.state.placed[s] < self.instance.podsets[s].count
            for s in self.instance.pending_of(j)
        )

    def longest_legal(self) -> tuple[Placement, int]:
        """Return the state after as many jobs as possible that is legal, and the job that ends it.

        Supposes that what is illegal stays so with more jobs; the placement returned is checked.
        """
        low, high = -1, len(self._done) - 1
        legal = self._start
        while high - low > 1:
            middle = (low + high) // 2
            changes = islice(self.state.journal, self._done[middle][1])
            placement = self.instance.current.plus(changes)
            if is_legal(self.instance, placement):
                low, legal = middle, placement
            else:
                high = middle
        return legal, self._done[high][0]
