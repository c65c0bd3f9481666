"""What the solver's process does: load the solver, wait for a task, search, send what it finds."""

from __future__ import annotations

import gc
import os
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from kantopt.worker import fault_words

if TYPE_CHECKING:
    from kantopt.planning.solving.messages import Failed, SearchTask
    from kantopt.search.engine.desk import Desk

_CLOSE = 0.5
"""Seconds before its deadline from which on the clock may have ended a search."""


def serve(line: Connection) -> None:
    """Load the solver, then search for one task after the other until nobody listens."""
    gc.disable()  # what is loaded is kept
    try:
        from kantopt.planning.solving.messages import Done, SearchTask
        from kantopt.search.schedule import load, search

        if not line.poll():
            load()
    except Exception as error:
        line.send(_failed(error))
        return
    watched = False
    while True:
        try:
            task = line.recv()
            # Not before: a task is many small things, none of them garbage.
            gc.enable()
            if isinstance(task, SearchTask):  # else news that came too late
                stop = task.budget.deadline.stop
                if stop.memory is not None and not watched:
                    stop.memory.leave_when_reached(os.getppid())
                    watched = True
                # The watch alone decides: a search that stopped by itself could not say why.
                stop.memory = None
                infeasible = search(desk_of(task, line))
                # CP-SAT stops a little early where it expects the clock to ring before it would
                # look again.
                clocked = task.budget.deadline.remaining() <= _CLOSE
                line.send(Done(infeasible, clocked))
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return  # nobody listens any more
        except Exception as error:
            line.send(_failed(error))


def _failed(error: Exception) -> Failed:
    from kantopt.planning.solving.messages import Failed

    if isinstance(error, MemoryError):
        return Failed("the solver ran out of memory")
    return Failed(f"the solver failed: {fault_words(error)}")


def desk_of(task: SearchTask, line: Connection) -> Desk:
    """Return a desk with the question of a task, from which all that is found is sent."""
    from importlib.metadata import version

    from kantopt.planning.solving.messages import Started
    from kantopt.problem.derived.classes import merge_pods
    from kantopt.search.engine.desk import Desk, line_to
    from kantopt.search.engine.told import Begun, LeftOut

    merged = merge_pods(task.instance)
    out = replace(
        line_to(line, merged.expand, merged.shrink),
        begun=lambda technique: line.send(Begun(technique.name)),
        left_out=lambda technique, why: line.send(LeftOut(technique.name, why)),
    )
    line.send(Started(version("ortools")))
    desk = Desk(
        merged.instance,
        merged.tiers(task.tiers),
        merged.shrink(task.start),
        [merged.shrink(placement) for placement in task.forbidden],
        task.budget,
        out,
        task.without,
    )
    for bound in task.known:
        desk.incumbent.known.add(bound)
    return desk
