"""Runs saved to a file now and then, so that one that is killed can be gone on with."""

from __future__ import annotations

import json
import os
from typing import Any, Literal

from kantopt.clock import elapsed
from kantopt.errors import BadDataError, Problem
from kantopt.schema.dump import dump_data, text_digest
from kantopt.schema.files import read_text
from kantopt.schema.writing import write_atomic
from kantopt.simulate.asked import Asked
from kantopt.simulate.history import History
from kantopt.simulate.plain import Data
from kantopt.simulate.saved import form, history_data, history_of

_KIND = "SimulationCheckpoint"


class Checkpoints:
    """A file that holds what each run has come to: a whole history, or where to go on.

    Parameters
    ----------
    path
        ``None``: nothing is kept.
    asked, how
        What is simulated: a file of anything else is refused.
    every
        Seconds from one writing to the next.
    """

    def __init__(self, path: str | None, asked: Asked, how: Any, every: float) -> None:
        self._path, self.every = path, every
        self._digest = "" if path is None else _digest(asked, how)
        self._runs: dict[int, Data] = {}
        self._written = elapsed()

    @property
    def on(self) -> bool:
        """Whether anything is kept."""
        return self._path is not None

    def read(self) -> bool:
        """Read what there is; return whether there is anything.

        Raises
        ------
        BadDataError
            If the file is of another question, or none of ours.
        """
        if self._path is None or not os.path.exists(self._path):
            return False
        try:
            data = json.loads(read_text(self._path))
            kind, digest, shape = data["kind"], data["question"], data.get("form")
            runs = {int(run): each for run, each in data["runs"].items()}
        except (ValueError, KeyError, TypeError, AttributeError):
            kind = digest = shape = ""
        if kind != _KIND:
            raise BadDataError([Problem(self._path, "", "something else", f"a {_KIND}")])
        if shape != text_digest(form()):
            found, expected = "a file of another version of kantopt", "one of this version"
            raise BadDataError([Problem(self._path, "form", found, expected)])
        if digest != self._digest:
            expected = "the one that is asked: same files, policies and options"
            raise BadDataError([Problem(self._path, "question", "another simulation", expected)])
        self._runs = runs
        return True

    def done(self, run: int) -> History | None:
        """Return the history of a run that has ended."""
        kept = self._runs.get(run, {}).get("done")
        return None if kept is None else history_of(kept)

    def begun(self, run: int) -> Data | None:
        """Return where to go on with a run that has begun."""
        return self._runs.get(run, {}).get("begun")

    def keep(self, run: int, state: Literal["begun", "done"], data: Data | History) -> None:
        """Keep what a run has come to, and write it down if it is time."""
        if self._path is None:
            return
        self._runs[run] = {state: history_data(data) if isinstance(data, History) else data}
        if state == "done" or elapsed() >= self._written + self.every:
            self.write()

    def write(self) -> None:
        """Write the file, whole or not at all, if there is anything to keep."""
        if self._path is not None and self._runs:
            runs = {str(run): self._runs[run] for run in sorted(self._runs)}
            shape = text_digest(form())
            data = {"kind": _KIND, "form": shape, "question": self._digest, "runs": runs}
            write_atomic(self._path, json.dumps(data, separators=(",", ":")).encode())
            self._written = elapsed()


def _digest(asked: Asked, how: Any) -> str:
    documents = (asked.question.snapshot, asked.model, *asked.policies, *asked.traces)
    pending = [dump_data(job) for job in asked.question.pending]
    return text_digest([[dump_data(each) for each in documents], pending, repr(how)])
