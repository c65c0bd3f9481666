"""Several policies on several traces: one simulation each, in one process or some."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from multiprocessing.connection import Connection, wait

from kantopt.clock import Stop, elapsed
from kantopt.errors import KantoptError
from kantopt.simulate.asked import Asked
from kantopt.simulate.checkpoints import Checkpoints
from kantopt.simulate.history import History
from kantopt.simulate.plain import Data
from kantopt.simulate.saved import saved, take_up
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import build_world
from kantopt.worker import Worker, fault_words

Tell = Callable[[int, int, int], None]
"""Told of a run by number how many jobs are settled and how many there are."""
_TELL = 0.2
"""Seconds from one telling to the next."""


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
    kept: Checkpoints | None = None,
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
    kept
        Where runs are saved now and then; what it holds already is gone on with.

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
    kept = kept or Checkpoints(None, asked, how, 0)
    found = {
        run: history
        for run in range(len(asked.policies) * len(asked.traces))
        if (history := kept.done(run)) is not None
    }
    todo = [run for run in range(len(asked.policies) * len(asked.traces)) if run not in found]
    if workers > 1 and len(todo) > 1:
        found |= _in_processes(asked, how, todo, workers, stop, tell, kept)
    else:
        for run in todo:
            if found and stop.wished():
                break  # who was never begun has nothing to show
            one = _Run(asked, how, run, stop, kept.begun(run), kept.every if kept.on else None)
            found[run] = one.run(partial(tell, run), partial(kept.keep, run, "begun"))
            if not stop.wished():
                kept.keep(run, "done", found[run])
    if stop.signal is not None:
        kept.write()
    return [found[run] for run in sorted(found)]


class _Run:
    """One policy on one trace, in this process."""

    def __init__(
        self, asked: Asked, how: How, run: int, stop: Stop, begun: Data | None, every: float | None
    ) -> None:
        policy, trace = divmod(run, len(asked.traces))
        chosen = asked.traces[trace]
        self._policy, self._how, self._stop, self._every = asked.policies[policy], how, stop, every
        self._world = build_world(
            asked.question.snapshot,
            asked.question.pending,
            chosen,
            asked.rules(self._policy),
            name=chosen.metadata.name,
            source=asked.question.source,
        )
        self._simulator = self._from(begun)

    def _from(self, begun: Data | None) -> Simulator:
        how = asdict(self._how)
        simulator = Simulator(self._world, self._policy, stop=self._stop, **how)
        if begun is not None:
            take_up(simulator, begun)
        return simulator

    def run(self, tell: Callable[[int, int], None], keep: Callable[[Data], None]) -> History:
        """Simulate; tell and save now and then."""
        told = kept = elapsed()
        plans = len(self._simulator.history.plans)
        while not self._stop.wished() and self._simulator.step():
            now = elapsed()
            if self._stop.wished():
                break
            plans = len(self._simulator.history.plans)
            if now >= told + _TELL:
                told = now
                tell(self._simulator.settled, len(self._world.records))
            if self._every is not None and now >= kept + self._every:
                # It goes on from what was written, as it would after being killed.
                text = json.dumps(saved(self._simulator))
                keep(json.loads(text))
                self._simulator = self._from(json.loads(text))
                kept = elapsed()
        stopped = self._stop.signal is not None and self._every is not None
        if stopped and plans == len(self._simulator.history.plans):  # none was cut short by that
            keep(json.loads(json.dumps(saved(self._simulator))))
        return self._simulator.finish()


def _in_processes(
    asked: Asked,
    how: How,
    runs: Sequence[int],
    workers: int,
    stop: Stop,
    tell: Tell,
    kept: Checkpoints,
) -> dict[int, History]:
    found: dict[int, History] = {}
    todo = list(runs)[::-1]
    every = kept.every if kept.on else None
    with ExitStack() as ending:
        busy: dict[Connection, tuple[int, Worker]] = {}

        def send_next() -> None:
            if todo and not stop.wished():
                run = todo.pop()
                serve = partial(_serve, asked, how, run, kept.begun(run), every)
                worker = ending.enter_context(Worker(serve, quiet=True))
                busy[worker.line] = run, worker

        for _ in range(min(workers, len(todo))):
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
                elif kind == "begun":
                    kept.keep(run, "begun", rest[0])
                elif kind == "fault":
                    raise rest[0]
                else:
                    found[run] = rest[0]
                    if not stop.wished():
                        kept.keep(run, "done", rest[0])
                    del busy[line]
                    worker.end()
                    send_next()
    return found


def _serve(
    asked: Asked, how: How, run: int, begun: Data | None, every: float | None, line: Connection
) -> None:
    """Simulate one run in this process, and send what comes of it."""
    stop = _Told(line)
    try:
        one = _Run(asked, how, run, stop, begun, every)
        history = one.run(
            lambda done, jobs: line.send(("told", done, jobs)),
            lambda data: line.send(("begun", data)),
        )
    except KantoptError as error:
        line.send(("fault", error))
    except Exception as error:
        line.send(("fault", SimulationFaultError(f"internal error: {fault_words(error)}")))
    else:
        line.send(("done", history))


class _Told(Stop):
    """A wish to stop that is told on a line."""

    def __init__(self, line: Connection) -> None:
        super().__init__()
        self._line = line

    def wished(self) -> bool:
        if self.signal is None and self._line.poll():
            self._line.recv()
            self.signal = signal.SIGINT
        return super().wished()


def run_names(asked: Asked) -> Sequence[str]:
    """Name the runs as they are numbered."""
    return [
        f"{policy.metadata.name} on {trace.metadata.name}"
        for policy in asked.policies
        for trace in asked.traces
    ]
