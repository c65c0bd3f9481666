"""The exact search as the planner sees it: what it finds is judged as it comes, bounds kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

from kantopt.clock import Deadline, elapsed
from kantopt.planning.messages import Done, Failed, Message, SearchTask, Started
from kantopt.planning.options import Options
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.placement import Placement
from kantopt.processor import CpuUse, busy_use
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.known import Bound
from kantopt.search.schedule import CP_SAT
from kantopt.search.told import Begun, Found, LeftOut, Note
from kantopt.shares import GRACE, MOST_GRACE

NO_TIME = "the exact search did not begin: there was no time left for it"
"""Warning of a run whose other parts took all the time."""
_EVERY = 0.02
"""Seconds between two looks at the line while something else is being done."""
_SHORT = 0.05
"""Most seconds to wait at once: a signal only sets a flag, and the flag must be seen soon."""


def until_last_word(deadline: Deadline) -> Deadline:
    """Return when an exact search is to stop so that its last word comes in time."""
    return deadline.less(min(MOST_GRACE, deadline.remaining() * GRACE))


def search_task(
    incumbent: Incumbent,
    options: Options,
    deadline: Deadline,
    workers: int,
    work: float | None = None,
    forbidden: Sequence[Placement] = (),
) -> SearchTask:
    """Ask for a better placement than the incumbent, and for bounds."""
    return SearchTask(
        instance=incumbent.searched,
        tiers=incumbent.tiers,
        start=incumbent.placement,
        forbidden=tuple(forbidden),
        deadline=until_last_word(deadline),
        seed=options.seed,
        workers=workers,
        work=work,
        log=options.log,
        without=options.without,
        known=() if forbidden else incumbent.known.proved(),
    )


class Exact:
    """A search in a process of its own, and what it has brought so far.

    Parameters
    ----------
    incumbent
        Take every placement that the search sends, once judged, and every bound.
    process
        One that waits already; it is used up.
    """

    def __init__(
        self,
        incumbent: Incumbent,
        process: SolverProcess | None = None,
    ) -> None:
        self._incumbent = incumbent
        self._process = process or SolverProcess()
        self._looked = 0.0
        self._deadline: Deadline | None = None
        self._task: SearchTask | None = None
        self._by = CP_SAT.name
        """The technique at work."""
        self.open = True
        """The search goes on."""
        self.ended = False
        """It came to its end by itself: no clock decided where it stopped."""
        self.infeasible = False
        self.ortools_version = ""
        self.warnings: list[str] = []
        self.cpu = CpuUse()
        """What the process has used, once this is left."""
        self._began: float | None = None
        self._done: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._began is not None:
            wall = (self._done or elapsed()) - self._began
            self.cpu = busy_use(self._process.pid, wall)
        self._process.close()
        if not self.ortools_version and self.open:
            self.warnings.append(NO_TIME)

    def begin(self, task: SearchTask) -> None:
        """Give the search its task."""
        self._deadline = task.deadline
        self._task = task
        self._began = elapsed()
        self._process.begin(task)

    def _again(self) -> bool:
        """Begin anew without presolve, in which CP-SAT can abort; once.

        ``tests/cp/presolve_aborts.py`` is the smallest model known on which it does.
        """
        if self._task is None or self._task.plain or self._over():
            return False
        self._task = replace(self._task, plain=True, start=self._incumbent.placement)
        self.warnings.append("the exact search has begun anew without presolve")
        self._process.close()
        self._process = SolverProcess()
        self._process.begin(self._task)
        return True

    def offer(self, placement: Placement) -> None:
        """Tell the search of a legal placement that was found elsewhere."""
        if self.open:
            self._process.offer(placement)

    def look(self) -> Placement | None:
        """Take what has come, if there was no look for a while; return the best if it is new."""
        now = elapsed()
        if not self.open or now < self._looked + _EVERY:
            return None
        self._looked = now
        before = self._incumbent.best
        while self.open and (message := self._process.message(0.0)) is not None:
            self._take(message)
        best = self._incumbent.best
        return None if best is before else best.placement

    def wait(self, deadline: Deadline, *, for_news: bool) -> None:
        """Take what comes until the search ends, all is proved or the time is up.

        With ``for_news`` also until there is a better incumbent.
        """
        before = self._incumbent.best
        while self.open and not self._incumbent.optimal:
            # Also when the time is up: what has been sent by then was found in time.
            message = self._process.message(min(_SHORT, deadline.remaining()))
            if message is not None:
                self._take(message)
            elif deadline.over():
                return
            if for_news and self._incumbent.best is not before:
                return

    def _over(self) -> bool:
        return self._incumbent.optimal or (self._deadline is not None and self._deadline.over())

    def _take(self, message: Message) -> None:
        match message:
            case Found(podsets):
                self._incumbent.offer(Placement(podsets), self._by)
                if self._incumbent.fault is not None:
                    text = f"a placement of the solver was refused: {self._incumbent.fault}"
                    self.warnings.append(text)
            case Bound():
                self._incumbent.prove(message, self._by)
            case Begun(technique):
                self._by = technique
                self._incumbent.tally.began(technique)
            case LeftOut(technique, why):
                self._incumbent.tally.left_out(technique, why)
            case Note(text):
                self.warnings.append(text)
            case Started(version):
                self.ortools_version = version
            case Done(infeasible, clocked):
                self.infeasible = infeasible
                self.open, self.ended = False, not clocked
                self._done = elapsed()
            case Failed(text, aborted):
                self.warnings.append(text)
                if aborted and self._again():
                    return
                self.open = False
                self._done = elapsed()
