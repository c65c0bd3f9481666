"""How an answer is to be shown, and where."""

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kantopt.cli.options import Colour, ColourOption, Form, LogFormat, Quiet, Verbose
from kantopt.cli.output import STDOUT, LogForm, check_output_file, complain, dumped, emit, format_of
from kantopt.report.words import OURS, Words

if TYPE_CHECKING:
    from kantopt.cli.progress import Progress
    from kantopt.planning.question import Question
    from kantopt.report.blocks import Block
    from kantopt.report.size import Size
    from kantopt.schema.answers.picture import Picture
    from kantopt.schema.base import Part
    from kantopt.schema.read_as import ReadAs


@dataclass(frozen=True, slots=True)
class Shown:
    """What was asked for by ``-o``, ``-O``, ``--color``, ``--quiet`` and ``--log-format``."""

    form: Form | None
    path: str | None
    color: Colour
    quiet: bool
    log_form: LogForm = "text"
    words: Words = OURS
    """What tables and pages are put into."""
    read_as: "ReadAs | None" = None
    """How the cluster was read, if it was none of our documents: answers say so."""

    def of(self, question: "Question") -> "Shown":
        """Return the same for an answer about a question that has been read."""
        from kantopt.cli.spoken import words_of

        read_as = question.read_as
        foreign = read_as is not None and read_as.source != "kantopt"
        return replace(self, words=words_of(question), read_as=read_as if foreign else None)

    def on_screen(self, blocks: "Sequence[Block]", *, to_file: bool) -> str:
        """Render blocks for stdout, or plainly for a file, in the words of their cluster."""
        return on_screen(self.words.of_blocks(blocks), self.color, to_file=to_file)

    @property
    def in_table(self) -> bool:
        """Whether standard output gets the table, which says all that there is to say."""
        return self.form is None or (self.form in ("table", "wide") and self.path is None)

    def write(self, document: "Part", laid_out: Callable[[Form, bool], str]) -> None:
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
            if path.lower().endswith(".html"):
                emit(laid_out("html", True), path)
            else:
                emit(dumped(document, format_of(None, path, "yaml")), path)
            if self.quiet:
                return
            path = None
        form = self.form or "table"
        documents = form in ("json", "yaml")
        emit(dumped(document, form) if documents else laid_out(form, path is not None), path)

    def answer(
        self,
        document: "Part",
        warnings: Sequence[str] = (),
        notes: Sequence[str] = (),
        picture: "Callable[[], Picture] | None" = None,
        seek: str = "",
        **about: Any,
    ) -> None:
        """Write a document of a kind that :data:`kantopt.report.layouts.LAYOUTS` has.

        Parameters
        ----------
        document
            The answer.
        warnings
            What is to be said on stderr where no table says it.
        notes
            Which of them are of reading.
        picture, seek
            Makes the map of a page; what is looked for on it.
        about
            What its layout takes beside the document.

        Raises
        ------
        CannotCreateError, WriteError
            If it cannot be written.
        """

        def laid_out(form: Form, to_file: bool) -> str:
            from kantopt.report.layouts import blocks_of, lines_of

            if form == "name":
                return lines_of(document)
            if form == "html":
                from kantopt.report.pages import answer_page

                drawn = picture() if picture is not None else None
                return answer_page(
                    document, drawn, seek=seek, notes=notes, words=self.words, **about
                )
            noted = {"notes": notes} if warnings else {}
            blocks = blocks_of(document, wide=form == "wide", **noted, **about)
            return self.on_screen(blocks, to_file=to_file)

        if self.read_as is not None and "read_as" in type(document).model_fields:
            document = document.model_copy(update={"read_as": self.read_as})
        self.write(document, laid_out)
        if not self.in_table:
            self.warn(warnings, notes)

    def blocks(
        self,
        document: "Part",
        what: str,
        blocks: "Callable[[bool], Sequence[Block]]",
        lines: Callable[[], str] = str,
        picture: "Callable[[], Picture] | None" = None,
    ) -> None:
        """Write a document of another kind: as blocks, as a page of these, by name as lines.

        ``what`` is the title of the page and ``picture`` makes its map; ``blocks`` is told whether
        to lay out all that there is. Raises what :meth:`write` does.
        """

        def laid_out(form: Form, to_file: bool) -> str:
            if form == "name":
                return lines()
            found = blocks(form in ("wide", "html"))
            if form != "html":
                return self.on_screen(found, to_file=to_file)
            from kantopt.report.pages import blocks_page

            return blocks_page(what, found, picture and picture(), words=self.words)

        self.write(document, laid_out)

    def warn(self, warnings: Sequence[str], notes: Collection[str]) -> None:
        """Say warnings on stderr; for people what was noted when reading is one line, or wide."""
        if self.quiet or not warnings:
            return
        if self.log_form == "text" and self.form != "wide":
            from kantopt.report.brief import notes_in_a_line

            terminal = sys.stderr is not None and sys.stderr.isatty()
            warnings = notes_in_a_line(warnings, notes, cut=terminal)
        complain("warning", warnings, self.log_form)


@dataclass(frozen=True, slots=True)
class Look:
    """Options of how an answer looks, and of whether anything is said beside it."""

    color: ColourOption = "auto"
    quiet: Quiet = False
    verbose: Verbose = False

    @property
    def log_form(self) -> LogForm:
        """Form of what is said beside it."""
        return "text"

    def shown(self, form: Form | None, path: str | None, inputs: Iterable[str | None]) -> Shown:
        """Take them together with ``-o`` and ``-O``; ``-O -`` is a document on standard output.

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
        return Shown(form, path, self.color, self.quiet, self.log_form)

    def progress(self, limit_seconds: float | None = None) -> "Progress":
        """Return what shows the work of a command."""
        from kantopt.cli.progress import Progress

        return Progress(
            verbose=self.verbose,
            quiet=self.quiet,
            limit_seconds=limit_seconds,
            form=self.log_form,
        )


@dataclass(frozen=True, slots=True)
class AnswerOptions(Look):
    """The same for runs that programs may watch."""

    log_format: LogFormat = "text"

    @property
    def log_form(self) -> LogForm:
        """Form of what is said beside the answer."""
        return self.log_format


def on_screen(blocks: "Sequence[Block]", color: Colour, *, to_file: bool = False) -> str:
    """Render blocks for stdout, laid out on a terminal, or plainly for a file."""
    from kantopt.report.blocks import Screen, render, screen_of

    if to_file:
        return render(blocks, Screen(colour=color == "always"))
    return render(blocks, screen_of(sys.stdout, color))


def domains_read(question: "Question") -> tuple[dict[str, str], str]:
    """Tell the domain of each node at the coarsest level that has several, and the level."""
    for level in question.snapshot.topology.labelled:
        domains = {
            node.name: node.labels[level.node_label]
            for node in question.snapshot.nodes
            if level.node_label in node.labels
        }
        if len(set(domains.values())) > 1:
            return domains, level.name
    return {}, ""


def size_read(question: "Question") -> "Size":
    """Count what was read."""
    from kantopt.report.size import size_of

    return size_of(len(question.snapshot.nodes), question.jobs)
