"""The exact search on several questions, one after the other, in one process of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kantopt.clock import Deadline
from kantopt.planning.exact import search_task
from kantopt.planning.messages import Done, Failed, Message
from kantopt.planning.options import Options
from kantopt.planning.solver_process import SolverProcess
from kantopt.problem.placement import Placement
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.known import Bound
from kantopt.search.told import Found, Note

_SHORT = 0.05
"""Most seconds to wait at once: a signal only sets a flag, and the flag must be seen soon."""


@dataclass(slots=True)
class Asked:
    """A question in turn: what is known of it, and how its search ended."""

    incumbent: Incumbent
    infeasible: bool = False
    warning: str = ""


def search_in_turn(
    questions: Sequence[Asked],
    options: Options,
    deadline: Deadline,
    process: SolverProcess | None = None,
) -> None:
    """Better and prove the best plan of each question; the time left is shared out evenly.

    A question that is proved early leaves its time to those after it.

    Parameters
    ----------
    process
        A process that waits for a task; it is used up.
    """
    tasks = [search_task(each.incumbent, options, deadline, options.workers) for each in questions]
    with process or SolverProcess() as solver:
        solver.begin_in_turn(tasks)
        done = 0
        while done < len(questions):
            message = solver.numbered(min(_SHORT, deadline.remaining()))
            if isinstance(message, Failed):
                for each in questions[done:]:
                    each.warning = message.message
                return
            if message is not None:
                i, said = message
                done += _take(questions[i], said)
            if message is None and deadline.over():
                return  # what has been sent in time has been taken


def _take(asked: Asked, message: Message) -> bool:
    """Note what a search says; return whether it was its last word."""
    match message:
        case Found(podsets):
            asked.incumbent.offer(Placement(podsets), "cp-sat")
            if asked.incumbent.fault is not None:
                asked.warning = f"a placement of the solver was refused: {asked.incumbent.fault}"
        case Bound():
            asked.incumbent.known.add(message)
        case Note(text):
            asked.warning = text
        case Done(infeasible, _):
            asked.infeasible = infeasible and bool(asked.incumbent.missing)
            return True
        case Failed(text):
            asked.warning = text
            return True
        case _:
            pass
    return False
