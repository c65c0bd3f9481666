"""A discrete-event simulation (Law, "Simulation Modeling and Analysis", chapter 1): the loop."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from kantopt.clock import Stop
from kantopt.schema.duration import duration_seconds
from kantopt.schema.model import Model
from kantopt.schema.policy import Policy, Queueing
from kantopt.search.state import Change
from kantopt.simulate.census import Census
from kantopt.simulate.cluster import Cluster
from kantopt.simulate.events import Calendar, Event, Kind
from kantopt.simulate.history import Ended, History, JobRecord, PlanRecord
from kantopt.simulate.judged import Judge, judged_every
from kantopt.simulate.moment import Moments
from kantopt.simulate.planned import Cycles, Rounds
from kantopt.simulate.preemption import of_age
from kantopt.simulate.queueing import queueing_of
from kantopt.simulate.recorder import Recorder
from kantopt.simulate.refused import Refusals
from kantopt.simulate.waiting import Waiting
from kantopt.simulate.work import Work
from kantopt.simulate.world import SECOND, World


class Simulator:
    """One policy on one trace, event by event; the same input gives the same history.

    All events of a moment happen first, then the queue is worked through, then the moment is
    counted. It is a :class:`~kantopt.simulate.floor.Floor`.

    Parameters
    ----------
    until
        Where it ends, milliseconds since the start of the trace; ``None``: when nothing more
        happens.
    verify_every
        Every so many states are judged; ``None``: as many as the cluster is small.
    seed
        Of the planner.
    stop
        Plans in the making end early when somebody wishes to stop.
    """

    def __init__(
        self,
        world: World,
        policy: Policy,
        *,
        until: int | None = None,
        verify_every: int | None = None,
        seed: int = 0,
        stop: Stop | None = None,
    ) -> None:
        self.world, self.policy, self.stop = world, policy, stop or Stop()
        self.now, self._until = 0, until
        self.restart_time = duration_seconds(policy.restart_time) * SECOND
        self.order, self.backfill = queueing_of(policy)
        self.cluster = Cluster(world, policy.placement)
        self.work = [Work() for _ in world.tasks]
        tasks = world.tasks
        self.waiting = Waiting(
            partial(self.order, self),
            self.cluster.alike,
            lambda j: tasks[j].arrival,
        )
        self.calendar = Calendar()
        every = judged_every(len(world.instance.nodes)) if verify_every is None else verify_every
        self.judge = Judge(self.cluster, every)
        self._census = Census(self.cluster)
        self.history = History(
            policy.metadata.name,
            world.trace,
            capacity=self._census.capacity,
            jobs=[replace(record) for record in world.records],  # to be written on
        )
        self.recorder = Recorder(self.cluster, self.history)
        self._refusals = Refusals(world, policy.placement)
        self.running: dict[int, None] = {}
        self.restarting: set[int] = set()
        self.settled = 0
        """Jobs of the trace of which nothing is to come."""
        self.short: dict[int, None] = {}
        """Jobs that run and have pods that wait, in the order in which they started."""
        self.sampled: tuple[int, ...] | None = None
        self._fresh: dict[int, JobRecord | None] = {}
        """Jobs that started in this moment, and their records before."""
        self._evicted: set[int] = set()
        """Jobs that were evicted while the queue was worked through last."""
        moments = Moments(world, self.cluster, self.work)
        planner, tidying = policy.placement.planner, policy.defragmentation
        self.cycles: Cycles | None = None
        self.rounds: Rounds | None = None
        if planner is not None:
            self.cycles = Cycles(self, self.calendar, moments, planner, seed)
        if tidying is not None:
            self.rounds = Rounds(self, self.calendar, moments, tidying, seed)
        self._takers = tuple(self._who_takes(policy.queueing))
        """Models whose rules say for how long jobs that run are not evicted."""
        self._begin()

    def _who_takes(self, queueing: Queueing) -> Iterator[Model]:
        if queueing.preemption or queueing.reclaim or queueing.preempt_backfilled:
            yield self.world.model
        if self.cycles and self.cycles.evicts:
            yield self.cycles.model

    def _begin(self) -> None:
        for j, task in enumerate(self.world.tasks):
            if task.record is None and self.cluster.pods(j):
                self._begins(j)
            else:
                self.calendar.add(Event(task.arrival, Kind.ARRIVAL, j))
        for n, at, until in self.world.outages:
            self.calendar.add(Event(at, Kind.OUTAGE, n))
            self.calendar.add(Event(until, Kind.REPAIR, n))
        for j, at in self.world.endings:
            self.calendar.add(Event(at, Kind.ENDING, j))
        if self.rounds:
            self.rounds.enter()
        if self.calendar.next != 0:
            self._count()

    def take_over(self, history: History) -> None:
        """Go on with the history of another simulation of this world."""
        self.history = self.recorder.history = history

    # -- the loop

    def run(self) -> History:
        """Simulate to the end; return what happened.

        Raises
        ------
        IllegalStateError
            If a state breaks a rule.
        """
        while self.step():
            pass
        return self.finish()

    def step(self) -> bool:
        """Let the next moment happen; return whether there was one before the end."""
        while self.calendar.events and self._out_of_date(self.calendar.events[0]):
            self.calendar.pop()  # a moment in which nothing happens is none
        wake = self.backfill.wakes
        if wake is None and self._idle():
            at = None
        else:
            at = min((x for x in (self.calendar.next, wake) if x is not None), default=None)
        if at is None or (self._until is not None and at >= self._until):
            if self._until is not None:
                self.now = self._until
            return False
        self.now = at
        self._fresh.clear()
        while self.calendar.next == at:
            if self._happens(self.calendar.pop()):
                self.history.events += 1
        self.judge.departed()
        self._work_through()
        for j in () if self.cycles else list(self.short):
            if self.cluster.lacks.room_for_more(j):
                with self.backfill.growing(self, j):
                    grew = self.cluster.grow(j)
                if grew:
                    self._grew(j)
        self.judge.arrived(self.now)
        if self.cycles:
            self.cycles.look()
        self._count()
        return True

    def _work_through(self) -> None:
        """Work through the queue, and again while jobs are evicted that were not in this moment.

        They may leave over what is enough for them, or for those who were looked at before.
        """
        self._evicted.clear()
        known = -1
        while known < len(self._evicted):
            known = len(self._evicted)
            self.backfill(self)

    def _idle(self) -> bool:
        """Whether nothing is to come but rounds of defragmentation, with nothing to tidy up."""
        events = self.calendar.events
        return len(events) == 1 and events[0].kind == Kind.ROUND

    def finish(self) -> History:
        """Close the books: jobs that run are left where they are."""
        self.history.horizon = self.now
        self.history.judged = self.judge.judged
        for j, work in enumerate(self.work):
            if work.running:
                self.recorder.stayed(j, work, self.now, "horizon")
        return self.history

    def _happens(self, event: Event) -> bool:
        """Let an event happen; return whether it was still to."""
        if self._out_of_date(event):
            return False
        j = event.subject
        match event.kind:
            case Kind.ARRIVAL:
                self._arrives(j)
            case Kind.OF_AGE:
                if self.cycles and self.cycles.evicts:
                    self.cycles.course.seen = None  # something has changed
            case Kind.END:
                self._stops(j)
            case Kind.WORKS:
                self.restarting.discard(j)
            case Kind.ENDING:
                if self.work[j].running:
                    self._stops(j)
                    self.recorder.left_early(j)
                elif j in self.waiting:
                    self._withdrawn(j)
            case Kind.OUTAGE:
                for each in self.cluster.fail(j):
                    self._disturbs(each, "failed")
            case Kind.REPAIR:
                self.cluster.repair(j)
            case _:
                self._plans(event.kind)
        return True

    def _out_of_date(self, event: Event) -> bool:
        """Whether an event is of a stay that has ended otherwise meanwhile, or concerns nobody."""
        if event.kind == Kind.OF_AGE and not (self.waiting or (self.cycles and self.short)):
            return True
        of_a_stay = event.kind in (Kind.END, Kind.WORKS, Kind.OF_AGE)
        return of_a_stay and event.version != self.work[event.subject].version

    def _plans(self, kind: int) -> None:
        """Begin a cycle or round, or carry out what one has planned."""
        self.judge.departed()
        match kind:
            case Kind.PLANNED if self.cycles:
                self.cycles.carry_out()
            case Kind.WAVE if self.rounds:
                self.rounds.carry_out()
            case Kind.CYCLE if self.cycles:
                self._planned(self.cycles.begin())
            case Kind.ROUND if self.rounds:
                self._planned(self.rounds.begin())
        self.judge.arrived(self.now)

    def _planned(self, proved: bool | None) -> None:
        if proved is not None:
            self.history.plans.append(PlanRecord(self.now, proved))

    # -- what happens to jobs

    def _arrives(self, j: int) -> None:
        record = self.world.tasks[j].record
        reason = self._refusals.reason(j)
        if not reason:
            self.waiting.add(j)
        elif record is None:
            self.history.never.append(f"{self.world.instance.jobs[j].name} ({reason})")
        else:
            self.history.jobs[record].refused = reason
            self.settled += 1

    def start(self, j: int, at: Iterable[Change] | None = None) -> bool:
        """Start a job that waits if it fits, or at places that are free; whether it did."""
        if at is not None:
            self.cluster.start_at(j, at)
        elif not self.cluster.start(j):
            return False
        self._started(j)
        return True

    def evict(self, j: int) -> None:
        """Stop a job that runs for another; it waits again.

        If it started in the same moment it has not started.
        """
        self.judge.arrived(self.now)
        self._evicted.add(j)
        if j in self._fresh:
            self.recorder.restore(j, self._fresh.pop(j))
            self.work[j].end()
            self._leaves(j)
            self.waiting.add(j)
        else:
            self._disturbs(j, "evicted")
        self.judge.departed()

    def put(self, j: int, gone: Sequence[Change], come: Sequence[Change]) -> bool:
        """Place, move or take away pods of a job as planned, if all rules hold, all or none."""
        runs = self.work[j].running
        if not self.cluster.put(j, gone, come):
            return False
        if not runs:
            self._started(j)
        elif not gone:
            self._grew(j)
        elif not come:
            self.judge.departed()
            gpus = self.world.instance.podsets
            left = sum(pods * gpus[s].gpu_milli for s, _, pods in gone)
            self.recorder.shrunk(j, self.work[j].fewer(self.now, left), self.now)
            self.short[j] = None
        else:
            self._moved(j, sum(pods for _, _, pods in gone))
        return True

    def _started(self, j: int) -> None:
        passed = self.waiting.passed(j)
        self.waiting.remove(j)
        self._fresh[j] = self.recorder.record(j)
        self._begins(j)
        self.recorder.started(j, self.now, passed=passed)
        self.judge.arrived(self.now)  # one after the other, as they come

    def _begins(self, j: int, working: int | None = None) -> None:
        work = self.work[j]
        self.running[j] = None
        gpus = self.cluster.gpus(j)
        if working is None:
            working = self.now + (self.restart_time if work.disturbed else 0)
        end = work.begin(self.world.tasks[j], self.now, working, gpus)
        if end is not None:
            self.calendar.add(Event(end, Kind.END, j, work.version))
        for at in of_age(self, j, self._takers):
            self.calendar.add(Event(at, Kind.OF_AGE, j, work.version))
        self.restarting.discard(j)
        if working > self.now:
            self.restarting.add(j)
            self.calendar.add(Event(working, Kind.WORKS, j, work.version))
        if self.cluster.short(j):
            self.short[j] = None
        else:
            self.short.pop(j, None)

    def _moved(self, j: int, pods: int) -> None:
        """Let a job go on elsewhere: from its last checkpoint, unless its pods move live."""
        work, task = self.work[j], self.world.tasks[j]
        self.recorder.stayed(j, work, self.now, "moved")
        working = None
        if self.world.instance.jobs[j].move_mode == "live":
            working = work.pause(self.now)
        else:
            self.recorder.lose(j, work.disturb(task, self.now))
        self._begins(j, working)
        self.recorder.moved(j, pods)
        self.judge.arrived(self.now)

    def _grew(self, j: int) -> None:
        work = self.work[j]
        work.more(self.now, self.cluster.gpus(j) - sum(gpus for _, _, gpus in work.stays))
        if not self.cluster.short(j):
            self.short.pop(j, None)
        self.judge.arrived(self.now)

    def _stops(self, j: int) -> None:
        self.recorder.stayed(j, self.work[j], self.now, "finished")
        self.work[j].end()
        self.settled += self.world.tasks[j].record is not None
        self._leaves(j)

    def _withdrawn(self, j: int) -> None:
        self.waiting.remove(j)
        record = self.world.tasks[j].record
        if record is not None:
            self.history.jobs[record].withdrawn = self.now
            self.settled += 1

    def _disturbs(self, j: int, reason: Ended) -> None:
        self.recorder.stayed(j, self.work[j], self.now, reason)
        self.recorder.lose(j, self.work[j].disturb(self.world.tasks[j], self.now))
        self._leaves(j)
        self.waiting.add(j)

    def _leaves(self, j: int) -> None:
        self.cluster.stop(j)
        self.running.pop(j, None)
        self.restarting.discard(j)
        self.short.pop(j, None)

    # -- what is counted

    def _count(self) -> None:
        """Take a sample, unless nothing has changed since the last one."""
        state = self.cluster.version, self.waiting.version, len(self.restarting)
        if state != self.sampled:
            self.sampled = state
            samples = self.history.samples
            if samples and samples[-1].at == self.now:
                samples.pop()  # a cycle began at once, and the moment went on
            samples.append(self._census.sample(self.now, self.waiting, self.restarting))
