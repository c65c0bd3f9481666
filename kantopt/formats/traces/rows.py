"""What readers of traces share: rows of CSV files, read strictly, and the document in the end.

What is wrong with a row is told with its line and column.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from kantopt.errors import BadDataError, Problem
from kantopt.formats.notes import Notes
from kantopt.schema.base import API_VERSION, Metadata
from kantopt.schema.hints import quote
from kantopt.schema.trace import Trace, TraceJob

MOST_SECONDS = 10**9 - 1


@dataclass(frozen=True, slots=True)
class Row:
    """A line of a CSV file; ``problems`` is shared by all."""

    file: str
    line: int
    values: Mapping[str, str | None]
    problems: list[Problem]

    def text(self, column: str) -> str:
        """What stands in a column, without spaces around it; empty if nothing does."""
        return (self.values.get(column) or "").strip()

    def number(self, column: str, most: int = 10**15) -> int:
        """Read a whole number that is not negative; anything else is a problem, and 0."""
        text = self.text(column)
        if text.isdecimal() and len(text) < 16 and int(text) <= most:
            return int(text)
        limit = f", at most {most}" if text.isdecimal() else ""
        self.report(column, f"a whole number that is not negative{limit}")
        return 0

    def decimal(self, column: str) -> float:
        """Read a number that is not negative and may have decimals; else a problem, and 0."""
        text = self.text(column)
        whole, _, rest = text.partition(".")
        if whole.isdecimal() and len(text) < 16 and (not rest or rest.isdecimal()):
            return float(text)
        self.report(column, "a number that is not negative, such as 66 or 66.5")
        return 0.0

    def seconds(self, column: str) -> float:
        """Read a time of less than 10^9 seconds, which is what a duration can be."""
        seconds = self.decimal(column)
        if seconds < MOST_SECONDS:
            return seconds
        self.report(column, "less than 10^9 seconds")
        return 0.0

    def name(self, column: str) -> str:
        """Read a name; an empty or too long one is a problem."""
        text = self.text(column)
        if not 1 <= len(text) <= 253:
            self.report(column, "a name of 1 to 253 characters")
        return text or "?"

    def report(self, column: str, expected: str) -> None:
        """Say that a column holds something else than was expected."""
        found = quote(self.text(column))
        self.problems.append(Problem(self.file, f"line {self.line}.{column}", found, expected))


def header_of(text: str) -> list[str]:
    """Names of the columns: the first line of a file."""
    return [name.strip() for name in text.lstrip("\ufeff").partition("\n")[0].split(",")]


def rows_of(file: str, text: str, problems: list[Problem]) -> Iterator[Row]:
    """Read line by line; a line that is no CSV is a problem, and the last that is read."""
    reader = csv.DictReader(io.StringIO(text.lstrip("\ufeff")), skipinitialspace=True)
    try:
        for values in reader:
            yield Row(file, reader.line_num, values, problems)
    except csv.Error as error:
        problems.append(Problem(file, f"line {reader.line_num}", str(error), "a line of CSV"))


def check_columns(file: str, text: str, columns: Sequence[str], what: str) -> None:
    """Refuse a file that lacks columns.

    Raises
    ------
    BadDataError
        With those that are missing.
    """
    header = header_of(text)
    missing = [name for name in columns if name not in header]
    if missing:
        line = text.partition("\n")[0].strip()
        expected = f"{what} with the columns {', '.join(columns)}"
        hint = f"missing: {', '.join(missing)}"
        raise BadDataError([Problem(file, "line 1", f"the header {quote(line)}", expected, hint)])


def trace_of(
    name: str, said: Iterable[str], notes: Notes, jobs: Iterable[tuple[int, TraceJob]]
) -> Trace:
    """Return a trace of jobs that are each behind their arrival, by which they are put in order.

    Its notes are what is said of all such files, and of this one.
    """
    in_order = sorted(jobs, key=lambda pair: pair[0])
    return Trace(
        api_version=API_VERSION,
        kind="Trace",
        metadata=Metadata(name=name),
        notes=(*said, *notes.lines()),
        jobs=tuple(job for _, job in in_order),
    )
