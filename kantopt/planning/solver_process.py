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
class Closed:
    """The search is done with a tier: no plan that is no worse above has less than ``bound``.

    ``value`` is where the tier is locked from now on.
    """

    bound: int
    value: int
    proved_by: str


@dataclass(frozen=True, slots=True)
class Done:
    """The search has ended by itself."""

    infeasible: bool
    ortools_version: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The search broke down."""

    message: str


Message = Found | Closed | Done | Failed


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
    """A running search. Use as a context manager: at its end the process is gone."""

    def __init__(self, task: SearchTask) -> None:
        # Forked, so that the instance need not be copied and nothing is imported twice.
        context = multiprocessing.get_context("fork")
        self._inbox, outbox = context.Pipe(duplex=False)
        self._process = context.Process(target=_run, args=(task, outbox), daemon=True)
        self._process.start()
        outbox.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.join()
        self._inbox.close()

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
            if not self._inbox.poll(min(0.05, deadline.remaining())):
                continue
            try:
                message: Message = self._inbox.recv()
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


def _run(task: SearchTask, outbox: Connection) -> None:
    """Search and send; the body of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the parent, which decides
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    with contextlib.suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a solver that prints must not reach stdout
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    try:
        outbox.send(_search(task, outbox))
    except (BrokenPipeError, ConnectionResetError):
        pass  # nobody listens any more
    except MemoryError:
        outbox.send(Failed("the solver ran out of memory"))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(last.filename)}:{last.lineno}"
        outbox.send(Failed(f"the solver failed: {type(error).__name__}: {error} ({where})"))


def _search(task: SearchTask, outbox: Connection) -> Done:
    from importlib.metadata import version

    from kantopt.cp.model import PlacementModel
    from kantopt.cp.solve import Budget, TierBound, solve_tiers

    def found(placement: Placement) -> None:
        outbox.send(Found(placement.podsets))

    def closed(bound: TierBound) -> None:
        if task.moves:
            outbox.send(Closed(bound.bound, bound.value, bound.proved_by))

    model = PlacementModel(task.instance, forbidden=task.forbidden, moves=task.moves)
    budget = Budget(task.deadline, task.seed, task.workers, task.work)
    outcome = solve_tiers(model, task.tiers, budget, task.start, found=found, closed=closed)
    return Done(outcome.infeasible and task.moves, version("ortools"))


def _end_with_parent(parent: int) -> None:
    """Leave when the parent is gone: a solver that nobody listens to must not run on."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(0)
