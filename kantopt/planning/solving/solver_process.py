"""The exact search as the planner sees it: a process that can be ended, and what it brings.

What it finds is judged as it comes, bounds are kept.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from dataclasses import replace
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import TYPE_CHECKING, Literal, Self

from kantopt.clock import Deadline, elapsed
from kantopt.memory import ENDED
from kantopt.planning.solving.solver_body import serve
from kantopt.processor import CpuUse, busy_use
from kantopt.worker import Worker

if TYPE_CHECKING:
    from kantopt.planning.solving.messages import Message, SearchTask
    from kantopt.problem.placement import Placement
    from kantopt.search.engine.incumbent import Incumbent
    from kantopt.search.engine.technique import Technique
    from kantopt.search.engine.told import Found

# Started before anything else is loaded, so that the solver is when there is a question: what this
# needs of the problem is loaded when it is needed.

NO_TIME = "the exact search did not begin: there was no time left for it"
"""Warning of a run whose other parts took all the time."""
_EVERY = 0.02
"""Seconds between two looks at the line while something else is being done."""
_SHORT = 0.05
"""Most seconds to wait at once: a signal only sets a flag, and the flag must be seen soon."""
_FLUSH = 0.5
"""Most seconds to wait for what is being sent to a process that is gone."""


class _Outbox:
    """Sends to the process from a thread: one that does not listen must keep nobody waiting.

    A task goes first; of the placements only the latest that has not been sent.
    """

    def __init__(self, line: Connection) -> None:
        self._line = line
        self._changed = threading.Condition()
        self._task: bytes | None = None
        self._found: Found | None = None
        self._open = True
        self._thread: threading.Thread | None = None

    def begin(self, task: SearchTask) -> None:
        """Have a task sent; what was found for the one before no longer matters.

        It is written out here: what it refers to grows while others work on the same question.
        """
        packed = bytes(ForkingPickler.dumps(task))
        with self._changed:
            self._task, self._found = packed, None
            self._changed.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def offer(self, found: Found) -> None:
        """Have a placement sent; one that waits and has not been sent is dropped for it."""
        with self._changed:
            self._found = found
            self._changed.notify()

    def close(self) -> None:
        """Send nothing more; whoever listened is gone, so that nothing is being sent either."""
        with self._changed:
            self._open = False
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(_FLUSH)

    def _work(self) -> None:
        # A line that is closed while a large task is on its way: its number has become None.
        with contextlib.suppress(OSError, ValueError, TypeError):
            while True:
                with self._changed:
                    self._changed.wait_for(lambda: not self._open or self._task or self._found)
                    if not self._open:
                        return
                    packed, found = self._task, self._found
                    if packed is not None:
                        self._task = None
                    else:
                        self._found = None
                self._line.send_bytes(packed or bytes(ForkingPickler.dumps(found)))


class SolverProcess:
    """A process that loads the solver at once and searches when it is given a task.

    Started before the input is read, it is ready when the question is. Use as a context manager:
    at its end the process is gone. It may be given one task after the other.
    """

    def __init__(self) -> None:
        self._start()
        self._incumbent: Incumbent
        self._task: SearchTask
        self._by: str
        """The technique at work; none before it has said so."""
        self._looked = 0.0
        self._began: float | None = None
        self._done: float | None = None
        self._taking = False
        """A placement that comes from there is being offered."""
        self.open = False
        """The search goes on."""
        self.ended = False
        """It came to its end by itself: no clock decided where it stopped."""
        self.infeasible = False
        """A required job provably has no place."""
        self.ortools_version = ""
        self.parameters: dict[str, None] = {}
        """Those with which CP-SAT had a question, or parts of it, in order of their first use."""
        self.warnings: list[str] = []
        self.cpu = CpuUse()
        """What the process has used, once it is gone."""

    def _start(self) -> None:
        # A solver that aborts says so on stderr: that is kept and told as one line.
        self._worker = Worker(serve, quiet=True)
        self._outbox = _Outbox(self._worker.line)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._began is not None:
            self.cpu = busy_use(self.pid, (self._done or elapsed()) - self._began)
            self._began = None
            # Where all is proved before the solver is heard of, it was not time that it lacked.
            if not self.ortools_version and self.open and not self._incumbent.optimal:
                self.warnings.append(NO_TIME)
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing; wait for its end, but not for ever."""
        self._worker.kill()
        self._outbox.close()
        self._worker.end()

    @property
    def pid(self) -> int | None:
        """Identity of the process."""
        return self._worker.pid

    def begin(self, task: SearchTask, incumbent: Incumbent) -> None:
        """Give the process a task, once the one before is done or nobody listens to it any more.

        Parameters
        ----------
        incumbent
            Takes every placement that the search sends, once judged, and every bound.
        """
        self._task, self._incumbent, self._by = task, incumbent, ""
        self._began, self._done = elapsed(), None
        self.open, self.ended, self.infeasible, self.warnings = True, False, False, []
        self._outbox.begin(task)

    def offer(self, placement: Placement) -> None:
        """Tell the search of a legal placement, unless it comes from there."""
        from kantopt.search.engine.told import Found

        if self.open and not self._taking:
            self._outbox.offer(Found(placement.podsets))

    def look(self) -> Placement | None:
        """Take what has come, if there was no look for a while; return the best if it is new."""
        now = elapsed()
        if not self.open or now < self._looked + _EVERY:
            return None
        self._looked = now
        before = self._incumbent.best
        while self.open and (message := self.message(0.0)) is not None:
            self._take(message)
        best = self._incumbent.best
        return None if best is before else best.placement

    def wait(self, deadline: Deadline, until: Literal["news", "proof", "last word"]) -> None:
        """Take what comes until the search ends or the time is up.

        Until ``proof`` also ends when all is proved, until ``news`` besides when there is a better
        incumbent.
        """
        before = self._incumbent.best
        while self.open and not (until != "last word" and self._incumbent.optimal):
            # Also when the time is up: what has been sent by then was found in time.
            message = self.message(min(_SHORT, deadline.remaining()))
            if message is not None:
                self._take(message)
            elif deadline.over():
                return
            if until == "news" and self._incumbent.best is not before:
                return

    def at_work(self, technique: Technique) -> bool:
        """Whether a technique has its turn."""
        return self.open and self._by == technique.name

    def rest_beside(self, technique: Technique, deadline: Deadline) -> None:
        """Take what comes while a technique is at work, and leave it the processor.

        Ends when there is a better incumbent, or the time is up.
        """
        before = self._incumbent.best
        while self.at_work(technique) and self._incumbent.best is before:
            if deadline.over():
                return
            message = self.message(min(_SHORT, deadline.remaining()))
            if message is not None:
                self._take(message)

    def message(self, seconds: float) -> Message | None:
        """Return what the search has sent, waiting for it for a while; ``None`` if nothing came.

        The last message about a task is :class:`Done`, or :class:`Failed` if the search died.
        """
        line = self._worker.line
        if not line.poll(seconds):
            return None
        try:
            message: Message = line.recv()
        except (EOFError, OSError):
            from kantopt.planning.solving.messages import Failed

            how = self._worker.ending()
            if self._worker.code == ENDED:
                return Failed("the memory limit ended the exact search")
            aborted = self._worker.code == -signal.SIGABRT
            return Failed(f"the solver process ended unexpectedly ({how})", aborted)
        return message

    def _take(self, message: Message) -> None:
        from kantopt.planning.solving.messages import Done, Failed, Started
        from kantopt.problem.placement import Placement
        from kantopt.search.engine.known import Bound
        from kantopt.search.engine.told import Asked, Begun, Found, LeftOut, Note

        match message:
            case Found(podsets):
                self._taking = True
                self._incumbent.offer(Placement(podsets), self._by)
                self._taking = False
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
            case Asked(parameters):
                self.parameters |= dict.fromkeys(parameters)
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
                if not (aborted and self._again()):
                    self.open = False
                    self._done = elapsed()

    def _again(self) -> bool:
        """Begin anew without presolve, in which CP-SAT can abort; once.

        ``tests/cp/presolve_aborts.py`` is the smallest model known on which it does.
        """
        budget, best = self._task.budget, self._incumbent
        if budget.plain or best.optimal or budget.deadline.over():
            return False
        plain = replace(budget, plain=True)
        self._task = replace(self._task, budget=plain, start=best.placement)
        self.warnings.append("the exact search has begun anew without presolve")
        self.close()
        self._start()
        self._outbox.begin(self._task)
        return True
