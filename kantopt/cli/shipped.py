"""Commands that list what is shipped by name, or print one of it in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Literal

from kantopt.cli.output import all_dumped, check_output_file, emit, format_of

if TYPE_CHECKING:
    from kantopt.cli.options import ColourOption
    from kantopt.schema.base import Part


def list_or_print(
    name: str | None,
    output: Literal["yaml", "json"] | None,
    output_file: str | None,
    color: ColourOption,
    *,
    names: Callable[[], Sequence[str]],
    load: Callable[[str], Part],
    columns: tuple[str, ...],
    row: Callable[[str], Iterable[str]],
) -> int:
    """Write a table of all names, or one document; with a form or a file to write to, all.

    Parameters
    ----------
    names, load
        What is shipped; the document of a name.
    columns, row
        Headings of the table, of the names first; what it says of a name.
    """
    check_output_file(output_file)
    if not (name is None and output is None and output_file is None):
        documents = map(load, names() if name is None else [name])
        emit(all_dumped(documents, format_of(output, output_file, "yaml")), output_file)
        return 0
    from kantopt.cli.shown import on_screen
    from kantopt.report.blocks import Table

    rows = tuple((each, *row(each)) for each in names())
    emit(on_screen([Table("", columns, rows)], color))
    return 0
