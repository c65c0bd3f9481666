"""The CSV file of a benchmark: rows are appended one by one, so what is done stays done."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from kantopt.errors import (
    BadDataError,
    CannotCreateError,
    MissingInputError,
    Problem,
    WriteError,
    said_of,
)
from scripts.bench.row import COLUMNS, Row, from_cells, to_cells

_T = TypeVar("_T")


def read_rows(path: Path) -> list[Row]:
    """Read all rows; a last line that a killed run left half written is no row.

    Raises
    ------
    MissingInputError
        If there is no such file.
    BadDataError
        If it is another kind of file.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MissingInputError(f"{path}: {said_of(error)}") from None
    whole = text[: text.rfind("\n") + 1]
    reader = csv.DictReader(io.StringIO(whole, newline=""))
    if reader.fieldnames is not None and tuple(reader.fieldnames) != COLUMNS:
        expected = "the columns of scripts/bench of this version"
        raise BadDataError([Problem(str(path), "line 1", "other columns", expected)])
    return list(read_cells(path, reader, from_cells))


def read_cells(
    path: Path,
    lines: csv.DictReader[str],
    read: Callable[[dict[str, str]], _T],
    what: str = "a row",
) -> Iterator[_T]:
    """Read the lines of a CSV file one by one.

    Raises
    ------
    BadDataError
        If a line is not ``what`` it should be.
    """
    for cells in lines:
        try:
            yield read(cells)
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration) as error:
            where = f"line {lines.line_num}"
            raise BadDataError([Problem(str(path), where, str(error), what)]) from None


class Table:
    """A CSV file to append to; the header is written where it is new."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self.rows: list[Row] = []
        if path is None:
            return
        if path.exists() and path.stat().st_size:
            self.rows = read_rows(path)
            _cut_half_line(path)
        else:
            append_line(path, COLUMNS)

    def add(self, row: Row) -> None:
        """Append a row and see that it reaches the file.

        Raises
        ------
        CannotCreateError, WriteError
            If the file cannot be written.
        """
        self.rows.append(row)
        if self.path is not None:
            append_line(self.path, to_cells(row))


def begin_lines(path: Path, columns: Sequence[str]) -> None:
    """Begin a CSV file that :func:`append_line` goes on with; one that is there stays as it is.

    Raises
    ------
    BadDataError
        If it is there with other columns.
    CannotCreateError, WriteError
        If the file cannot be written.
    """
    if not path.exists() or not path.stat().st_size:
        append_line(path, columns)
        return
    with path.open(encoding="utf-8", errors="replace", newline="") as file:
        if next(csv.reader(file), None) != list(columns):
            raise BadDataError([Problem(str(path), "line 1", "other columns", ",".join(columns))])
    _cut_half_line(path)


def append_line(path: Path, cells: Sequence[str]) -> None:
    """Append a line of cells to a CSV file.

    Raises
    ------
    CannotCreateError, WriteError
        If the file cannot be written.
    """
    line = io.StringIO(newline="")
    csv.writer(line, lineterminator="\n").writerow(cells)
    try:
        file = path.open("a", encoding="utf-8")
    except OSError as error:
        raise CannotCreateError(f"{path}: cannot be written: {said_of(error)}") from None
    try:
        with file:
            file.write(line.getvalue())
    except OSError as error:
        raise WriteError(f"{path}: writing failed: {said_of(error)}") from None


def _cut_half_line(path: Path) -> None:
    data = path.read_bytes()
    if not data.endswith(b"\n"):
        path.write_bytes(data[: data.rfind(b"\n") + 1])
