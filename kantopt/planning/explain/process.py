"""Explaining in a process of its own, which can be ended at any moment: it tells as it goes."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Sequence
from multiprocessing.connection import Connection

from kantopt.clock import Deadline, elapsed
from kantopt.errors import InterruptedEarlyError, KantoptError
from kantopt.memory import ENDED
from kantopt.planning.explain.run import explain
from kantopt.planning.question import Question
from kantopt.processor import busy_use, starved_words
from kantopt.schema.answers.explanation import Explanation
from kantopt.schema.model import Model
from kantopt.shares import WRITING_EXPLANATION
from kantopt.worker import LONGEST, Worker

_SOON = 0.1
"""Seconds between looks at the clock and at signals."""


class _BrokenError(RuntimeError):
    """The other process has failed; it says how."""


def explain_apart(
    question: Question, model: Model, name: str, deadline: Deadline, edits: Sequence[str] = ()
) -> Explanation:
    """Explain a job, in a process that the clock or a signal can end; as :func:`explain`.

    What is known when time or memory is up is the answer, with a note that there was no more.

    Raises
    ------
    InterruptedEarlyError
        If a signal comes before anything is known.
    """
    # Told of here: what the other process has just sent is an answer, though nobody has read it.
    deadline.stop.begin()
    told: Explanation | None = None
    ending = deadline.less(WRITING_EXPLANATION)
    began = elapsed()
    with Worker(lambda line: _run(line, question, model, name, ending, edits)) as worker:
        while True:
            if worker.line.poll(_SOON):
                item = _received(worker.line)
                if isinstance(item, KantoptError):
                    raise item
                if item is None or isinstance(item, str):
                    failure = item
                    used = busy_use(worker.pid, elapsed() - began)
                    worker.wait(_SOON)
                    if worker.code == ENDED:
                        failure = _out_of_memory(deadline)
                    break
                told = item
            elif deadline.stop.signal is not None and told is None:
                raise InterruptedEarlyError(deadline.stop.signal)
            elif ending.over() and told is not None:
                failure = _ended(deadline)
                used = busy_use(worker.pid, elapsed() - began)
                break
    if failure is None and ending.over():
        failure = _ended(deadline)  # it has noticed the time by itself, and left things out
    if told is None:
        raise _BrokenError(failure or "the process that explains has ended without a word")
    if failure:
        short = starved_words(used) if ending.over() else ()
        told = told.model_copy(update={"notes": (failure, *short, *told.notes), "complete": False})
    return told


def _ended(deadline: Deadline) -> str:
    number = deadline.stop.signal
    if number is not None:
        return f"interrupted by {signal.Signals(number).name}: this is what was known"
    if deadline.stop.lacks_memory():
        return _out_of_memory(deadline)
    return "the time limit ended the search: this is what was known (--time-limit)"


def _out_of_memory(deadline: Deadline) -> str:
    return f"{deadline.stop.memory} ended the search: this is what was known (--memory-limit)"


def _received(line: Connection) -> Explanation | KantoptError | str | None:
    """Return what the other process says; ``None`` when it is done."""
    try:
        item: Explanation | KantoptError | str | None = line.recv()
    except (EOFError, OSError):
        return "the process that explains ended unexpectedly: this is what was known"
    return item


def _run(
    line: Connection,
    question: Question,
    model: Model,
    name: str,
    deadline: Deadline,
    edits: Sequence[str],
) -> None:
    """Explain and send what is known; the body of the process."""
    memory = deadline.stop.memory
    gc.freeze()  # the documents stay to the end
    gc.disable()  # and so does nearly all else: looking for garbage would take a tenth of the time
    try:
        for told in explain(question, model, name, deadline, edits):
            line.send(told)
            if memory is not None:  # there is an answer now, whatever becomes of this process
                memory.leave_when_reached(os.getppid())
                memory = None
        line.send(None)
    except KantoptError as error:
        line.send(error)
    except (BrokenPipeError, ConnectionResetError):
        pass  # nobody listens any more
    except Exception as error:
        text = " ".join(str(error).split())[:LONGEST]
        line.send(f"explaining failed: {type(error).__name__}: {text}")
