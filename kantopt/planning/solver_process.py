"""The exact search in a process of its own, which can be ended and sends what it finds."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Self

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement, Spots
from kantopt.problem.tiers import Tier


@dataclass(frozen=True, slots=True)
class Found:
    """The search has found a placement."""

    podsets: tuple[Spots, ...]


@dataclass(frozen=True, slots=True)
class Started:
    """The model is built and the search begins."""

    ortools_version: str


@dataclass(frozen=True, slots=True)
class Closed:
    """The search is done with a tier: no plan that is no worse above has less than ``bound``.

    ``value`` is where the tier is locked from now on.
    """

    bound: int
    value: int


@dataclass(frozen=True, slots=True)
class Done:
    """The search has ended by itself."""

    infeasible: bool


@dataclass(frozen=True, slots=True)
class Failed:
    """The search broke down."""

    message: str


LONGEST = 200
"""Most of an error's text that is passed on; a solver can name every variable it has."""

Message = Started | Found | Closed | Done | Failed


@dataclass(frozen=True, slots=True)
class SearchTask:
    """What the process is to do; ``work`` is its limit in deterministic seconds, if any.

    Without ``moves`` running pods stay or are evicted, and nothing is proved.
    """

    instance: Instance
    tiers: tuple[Tier, ...]
    start: Placement | None
    forbidden: tuple[Placement, ...]
    deadline: Deadline
    seed: int
    workers: int
    work: float | None
    moves: bool


class SolverProcess:
    """A process that loads the solver at once and searches when it is given a task.

    Started before the input is read, it is ready when the question is. Use as a context manager:
    at its end the process is gone.
    """

    def __init__(self) -> None:
        context = multiprocessing.get_context("fork")
        self._line, far_end = context.Pipe()
        self._process = context.Process(
            target=_run, args=(far_end, self._line, os.getpid()), daemon=True
        )
        self._process.start()
        far_end.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.join()
        self._line.close()

    def begin(self, task: SearchTask) -> None:
        """Give the process its task; of one that is dead already, :meth:`messages` will tell."""
        # In a thread: a process that does not listen must not keep this one waiting.
        threading.Thread(target=self._send, args=(task,), daemon=True).start()

    def _send(self, task: SearchTask) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._line.send(task)

    @property
    def pid(self) -> int | None:
        """Identity of the process."""
        return self._process.pid

    def messages(self, deadline: Deadline) -> Iterator[Message]:
        """Yield what the search sends until it ends or the deadline is over.

        The last message of a search that dies is :class:`Failed`.
        """
        while not deadline.over():
            # Short waits: a signal only sets a flag, and the flag must be seen soon.
            if not self._line.poll(min(0.05, deadline.remaining())):
                continue
            try:
                message: Message = self._line.recv()
            except (EOFError, OSError):
                self._process.join()
                yield Failed(f"the solver process ended unexpectedly ({self._ending()})")
                return
            yield message
            if isinstance(message, Done | Failed):
                return

    def _ending(self) -> str:
        code = self._process.exitcode
        if code is None or code >= 0:
            return f"exit code {code}"
        with contextlib.suppress(ValueError):
            return f"signal {signal.Signals(-code).name}"
        return f"signal {-code}"


def _run(line: Connection, near_end: Connection, parent: int) -> None:
    """Load the solver, wait for a task, search and send; the body of the process."""
    near_end.close()  # else the end of the parent would not be the end of the line
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a solver that prints must not reach stdout
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    try:
        import kantopt.cp.solve  # noqa: F401 - slow to load, and needed soon

        line.send(_search(line.recv(), line))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # nobody listens any more
    except MemoryError:
        line.send(Failed("the solver ran out of memory"))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        text = " ".join(str(error).split())[:LONGEST]
        line.send(Failed(f"the solver failed: {type(error).__name__}: {text} ({where})"))


def _search(task: SearchTask, line: Connection) -> Done:
    from importlib.metadata import version

    from kantopt.cp.model import PlacementModel
    from kantopt.cp.solve import Budget, TierBound, solve_tiers

    def found(placement: Placement) -> None:
        line.send(Found(placement.podsets))

    def closed(bound: TierBound) -> None:
        if task.moves:
            line.send(Closed(bound.bound, bound.value))

    model = PlacementModel(task.instance, forbidden=task.forbidden, moves=task.moves)
    line.send(Started(version("ortools")))
    budget = Budget(task.deadline, task.seed, task.workers, task.work)
    outcome = solve_tiers(model, task.tiers, budget, task.start, found=found, closed=closed)
    return Done(outcome.infeasible and task.moves)


def _end_with_parent(parent: int) -> None:
    """Leave when the parent is gone: a solver that nobody listens to must not run on."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)
