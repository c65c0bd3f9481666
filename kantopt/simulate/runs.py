"""Several policies on several traces: one simulation each, in one process or some."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection, wait

from kantopt.clock import Stop
from kantopt.errors import KantoptError
from kantopt.simulate.asked import Asked
from kantopt.simulate.history import History
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import build_world
from kantopt.worker import Worker, fault_words

Tell = Callable[[int, int, int], None]
"""Told of a run by number how many jobs are settled and how many there are."""
_EVERY = 256
"""Moments from one telling to the next."""


@dataclass(frozen=True, slots=True)
class How:
    """How all runs are simulated: parameters of :class:`Simulator`."""

    until: int | None = None
    verify_every: int | None = None
    seed: int = 0


class SimulationFaultError(KantoptError):
    """A simulation in a process of its own has failed, by a fault of ours."""


def simulate(
    asked: Asked,
    how: How,
    *,
    workers: int = 1,
    stop: Stop | None = None,
    tell: Tell = lambda run, done, jobs: None,
) -> list[History]:
    """Simulate every policy on every trace; policy by policy, in their order.

    Parameters
    ----------
    workers
        Processes; the histories are the same however many there are.
    stop
        When somebody wishes to stop, what has been simulated so far is returned.
    tell
        Called now and then.

    Raises
    ------
    BadDataError
        If snapshot and trace contradict each other.
    UsageError
        If a policy asks for what is not simulated.
    SimulationFaultError
        If a process of its own has failed.
    """
    stop = stop or Stop()
    count = len(asked.policies) * len(asked.traces)
    if workers == 1 or count == 1:
        return [_one(asked, how, run, stop, partial(tell, run)) for run in range(count)]
    return _in_processes(asked, how, count, min(workers, count), stop, tell)


def _one(asked: Asked, how: How, run: int, stop: Stop, tell: Callable[[int, int], None]) -> History:
    policy, trace = divmod(run, len(asked.traces))
    chosen = asked.traces[trace]
    world = build_world(
        asked.question.snapshot,
        asked.question.pending,
        chosen,
        asked.rules(asked.policies[policy]),
        name=chosen.metadata.name,
        source=asked.question.source,
    )
    simulator = Simulator(
        world,
        asked.policies[policy],
        until=how.until,
        verify_every=how.verify_every,
        seed=how.seed,
        stop=stop,
    )
    moments = 0
    while not stop.wished() and simulator.step():
        moments += 1
        if moments % _EVERY == 0:
            tell(simulator.settled, len(world.records))
    return simulator.finish()


def _in_processes(
    asked: Asked, how: How, count: int, workers: int, stop: Stop, tell: Tell
) -> list[History]:
    found: dict[int, History] = {}
    todo = list(range(count))[::-1]
    with ExitStack() as ending:
        busy: dict[Connection, tuple[int, Worker]] = {}

        def send_next() -> None:
            if todo and not stop.wished():
                run = todo.pop()
                worker = ending.enter_context(Worker(partial(_serve, asked, how, run), quiet=True))
                busy[worker.line] = run, worker

        for _ in range(workers):
            send_next()
        told = False
        while busy:
            if stop.wished() and not told:
                told = True
                for line in busy:
                    line.send("stop")
            ready = wait(list(busy), timeout=0.1)
            for line in [line for line in busy if line in ready]:
                run, worker = busy[line]
                try:
                    kind, *rest = line.recv()
                except (EOFError, OSError):
                    raise SimulationFaultError(f"a simulation died: {worker.ending()}") from None
                if kind == "told":
                    tell(run, *rest)
                elif kind == "fault":
                    raise rest[0]
                else:
                    found[run] = rest[0]
                    del busy[line]
                    worker.end()
                    send_next()
    # Who was never begun has nothing to show.
    return [found[run] for run in sorted(found)]


def _serve(asked: Asked, how: How, run: int, line: Connection) -> None:
    """Simulate one run in this process, and send what comes of it."""
    stop = Stop()

    def tell(done: int, jobs: int) -> None:
        line.send(("told", done, jobs))
        if line.poll():
            line.recv()
            stop.signal = 2

    try:
        history = _one(asked, how, run, stop, tell)
    except KantoptError as error:
        line.send(("fault", error))
    except Exception as error:
        line.send(("fault", SimulationFaultError(f"internal error: {fault_words(error)}")))
    else:
        line.send(("done", history))


def run_names(asked: Asked) -> Sequence[str]:
    """Name the runs as they are numbered."""
    return [
        f"{policy.metadata.name} on {trace.metadata.name}"
        for policy in asked.policies
        for trace in asked.traces
    ]
