"""What ``kantopt verify --against`` shows: which steps stay, and the plan that is left."""

from typing import TYPE_CHECKING, Literal

from kantopt.cli.options import Colour
from kantopt.cli.output import complain, dumped, emit, format_of

if TYPE_CHECKING:
    from kantopt.planning.guard import Guarded

Form = Literal["table", "json", "yaml", "name"]


def show_guarded(
    rest: "Guarded", form: Form | None, path: str | None, color: Colour, *, quiet: bool
) -> None:
    """Write the steps as a table or by name, or the plan that is left as a document.

    Without a form, a file gets the document and standard output the table, as with ``plan``.
    """
    if path == "-":
        form, path = form or "yaml", None
    document_too = form is None and path is not None
    if document_too:
        emit(dumped(rest.plan, format_of(None, path, "yaml")), path)
        path = None
    if form in ("json", "yaml"):
        emit(dumped(rest.plan, form), path)
    elif not (document_too and quiet):
        from kantopt.report.guarded import cut_lines, guarded_blocks

        if form == "name":
            text = cut_lines(rest.cut)
        else:
            from kantopt.cli.screen import shown

            blocks = guarded_blocks(rest.given, rest.done, rest.cut)
            text = shown(blocks, color, to_file=path is not None)
        emit(text, path)
    if not quiet:
        complain("warning", rest.plan.warnings if rest.plan is not rest.given else ())
