"""How an answer is to be shown, and where."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kantopt.cli.options import Colour, Form
from kantopt.cli.output import STDOUT, LogForm, check_output_file, dumped, emit, format_of

if TYPE_CHECKING:
    from kantopt.planning.question import Question
    from kantopt.report.size import Size
    from kantopt.schema.base import Part


@dataclass(frozen=True, slots=True)
class Shown:
    """What was asked for by ``-o``, ``-O``, ``--color``, ``--quiet`` and ``--log-format``."""

    form: Form | None
    path: str | None
    color: Colour
    quiet: bool
    log_form: LogForm = "text"

    @property
    def in_table(self) -> bool:
        """Whether standard output gets the table, which says all that there is to say."""
        return self.form is None or (self.form in ("table", "wide") and self.path is None)

    def write(self, document: Part, laid_out: Callable[[Form, bool], str]) -> None:
        """Write an answer; with a file and no form, the document there and the table beside it.

        Parameters
        ----------
        document
            The answer.
        laid_out
            Its text in a form that is no document; told whether it goes to a file.

        Raises
        ------
        CannotCreateError, WriteError
            If it cannot be written.
        """
        path = self.path
        if self.form is None and path is not None:
            emit(dumped(document, format_of(None, path, "yaml")), path)
            if self.quiet:
                return
            path = None
        form = self.form or "table"
        documents = form in ("json", "yaml")
        emit(dumped(document, form) if documents else laid_out(form, path is not None), path)


def asked_for(
    form: Form | None,
    path: str | None,
    color: Colour,
    *,
    quiet: bool,
    log_form: LogForm = "text",
    inputs: Iterable[str | None] = (),
) -> Shown:
    """Take the options together; ``-O -`` is a document on standard output.

    Raises
    ------
    CannotCreateError
        If the file cannot be created.
    UsageError
        If it is one of the inputs.
    """
    if path in STDOUT:
        form, path = form or "yaml", None
    check_output_file(path, inputs)
    return Shown(form, path, color, quiet, log_form)


def size_read(question: Question) -> Size:
    """Count what was read."""
    from kantopt.report.size import size_of

    return size_of(len(question.snapshot.nodes), question.jobs)
