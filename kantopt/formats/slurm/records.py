"""Records of Slurm: fields by the names that ``scontrol show`` has for them, whatever the source.

Text, JSON of all versions and topology.yaml become records of the same fields, so that only one
reader knows what they mean.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from kantopt.clock import rfc3339
from kantopt.errors import Problem
from kantopt.schema.hints import quote
from kantopt.schema.hostlist import expand_hostlist

NOTHING = frozenset({"", "(null)", "N/A", "n/a", "NONE", "None", "NA", "Unknown"})
"""What stands where there is nothing."""
ENDLESS = frozenset({"UNLIMITED", "INFINITE", "Partition_Limit"})

MIB = 2**20
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)[nc]?", re.ASCII)
_SCALE = {"K": 2**10, "": MIB, "M": MIB, "G": 2**30, "T": 2**40, "P": 2**50}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z?)", re.ASCII)
_SPAN = re.compile(r"(?:(\d+)-)?(?:(\d+):)?(\d+):(\d+)(?:\.\d+)?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Record:
    """One node, job, partition, reservation, switch, ...

    ``details`` are the lines below a job that say what it holds on which nodes; ``line`` is where
    the record begins in a text.
    """

    kind: str
    fields: Mapping[str, str]
    file: str
    problems: list[Problem]
    details: tuple[Mapping[str, str], ...] = ()
    line: int | None = field(default=None, compare=False)

    @property
    def parts(self) -> Iterator[Record]:
        """What a job holds on some nodes, each as a record of these."""
        for detail in self.details:
            yield Record("Nodes", detail, self.file, self.problems)

    @property
    def name(self) -> str:
        """What the record is about; a problem if it has no name."""
        value = self.text(self.kind)
        if not 1 <= len(value) <= 253:
            self.problem(self.kind, "a name of 1 to 253 characters")
        return value or "?"

    def problem(self, key: str, expected: str) -> None:
        """Report what stands in a field."""
        found = quote(self.fields[key]) if key in self.fields else "nothing"
        place = f"{self.kind}={self.fields.get(self.kind, '')}: {key}"
        hint = f"line {self.line}" if self.line else ""
        self.problems.append(Problem(self.file, place, found, expected, hint))

    def text(self, *keys: str) -> str:
        """Return the first of some fields that holds anything."""
        for key in keys:
            value = self.fields.get(key, "").strip()
            if value not in NOTHING:
                return value
        return ""

    def flags(self, key: str) -> frozenset[str]:
        """Return words that are joined by commas or plus signs, in capitals."""
        return frozenset(word for word in re.split(r"[+,\s]+", self.text(key).upper()) if word)

    def listed(self, *keys: str) -> list[str]:
        """Return words that are joined by commas, of the first of some fields that has any."""
        return [word.strip() for word in self.text(*keys).split(",") if word.strip()]

    def number(self, key: str, default: int = 0) -> int:
        """Return a whole number; what has no limit or is not there is the default."""
        value = self.text(key)
        if not value or value in ENDLESS:
            return default
        if not re.fullmatch(r"\d{1,15}", value, re.ASCII):
            self.problem(key, "a whole number")
            return default
        return int(value)

    def range(self, key: str) -> tuple[int, int | None]:
        """Return ``4``, or ``4-8``, as the least and the most; no second number is no limit."""
        value = self.text(key)
        match = re.fullmatch(r"(\d{1,15})(?:-(\d{1,15}))?", value, re.ASCII)
        if match is None:
            if value:
                self.problem(key, "a whole number or a range such as 4-8")
            return 0, None
        return int(match[1]), int(match[2]) if match[2] else None

    def memory(self, key: str) -> int:
        """Return an amount of memory in bytes; a number without a unit is in MiB."""
        value = self.text(key)
        if not value or value in ENDLESS:
            return 0
        amount = memory_of(value)
        if amount is None:
            self.problem(key, "an amount of memory such as 512000 or 500G")
        return amount or 0

    def hosts(self, *keys: str) -> list[str]:
        """Return the names of a hostlist."""
        value = self.text(*keys)
        if not value or value == "ALL":
            return []
        try:
            return expand_hostlist(value)
        except ValueError as error:
            key = next(key for key in keys if self.text(key))
            self.problem(key, f"a list of nodes such as n[1-4] ({error})")
            return []

    def time(self, key: str) -> str | None:
        """Return a time as RFC 3339, in UTC.

        Text has the time of day where it was printed, taken to be that of this computer, or with
        ``SLURM_TIME_FORMAT=%s`` the seconds since 1970.
        """
        value = self.text(key)
        if not value:
            return None
        try:
            return moment_of(value)
        except (ValueError, OverflowError, OSError):
            self.problem(key, "a time such as 2026-09-01T03:00:00 (SLURM_TIME_FORMAT unset)")
            return None

    def seconds(self, key: str) -> int | None:
        """Return a span such as ``1-02:03:04`` or ``10:00`` in seconds."""
        value = self.text(key)
        return None if not value or value in ENDLESS else span_seconds(value)


def numbers(text: str) -> set[int]:
    """Return the numbers of ``0-3,8``."""
    found: set[int] = set()
    for first, last in re.findall(r"(\d{1,6})(?:-(\d{1,6}))?", text):
        found.update(range(int(first), int(last or first) + 1))
    return found


def moment_of(text: str) -> str:
    """Read a time as Slurm prints it: of day where this runs, in UTC with a Z, or seconds.

    Raises
    ------
    ValueError, OverflowError, OSError
        If it is none, or beyond what a calendar can name.
    """
    if re.fullmatch(r"\d{1,11}", text, re.ASCII):
        then = datetime.fromtimestamp(int(text), UTC)
    elif _TIME.fullmatch(text):
        then = datetime.fromisoformat(text)
    else:
        raise ValueError("no time")
    return rfc3339(then)


def memory_of(text: str) -> int | None:
    """Read an amount of memory, in bytes; ``None`` if it is none."""
    match = _MEMORY.fullmatch(text)
    return None if match is None else int(Fraction(match[1]) * _SCALE[match[2]])


def span_seconds(text: str) -> int | None:
    """Read ``days-hours:minutes:seconds`` (the first two may be missing) or plain seconds."""
    if text.isdecimal():
        return int(text)
    match = _SPAN.fullmatch(text)
    if match is None:
        return None
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def later(moment: str, seconds: int) -> str:
    """Return a time so many seconds after another."""
    return rfc3339(datetime.fromisoformat(moment) + timedelta(seconds=seconds))
