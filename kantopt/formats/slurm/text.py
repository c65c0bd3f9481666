"""Text of ``scontrol show``, topology.conf and ``sacctmgr -P show qos`` into records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from kantopt.errors import Problem
from kantopt.formats.slurm.records import Record

KINDS = (
    "JobId",
    "NodeName",
    "PartitionName",
    "ReservationName",
    "SwitchName",
    "BlockName",
    "AggregatedBlock",
    "BlockSizes",
)
"""Fields that begin a record, which is of that kind."""

_NOTHING = ("#", "No ", "scontrol: error: No topology ")
"""How lines begin that say nothing, or that there is nothing."""
_CONFIG = "Configuration data as of"
_COLUMNS = "Name|"
_FIELD = re.compile(r"(?:^|\s+)([A-Za-z][\w/:.\-]*)=")
_TO_THE_END = {
    "JobId": {
        "JobName",
        "Comment",
        "AdminComment",
        "SystemComment",
        "Extra",
        "Command",
        "WorkDir",
        "StdErr",
        "StdIn",
        "StdOut",
    },
    "NodeName": {"OS", "Reason", "Comment", "Extra"},
    "ReservationName": {"Comment"},
}
"""Fields whose value may hold spaces and is the last of its line."""


def read_text(text: str, file: str, problems: list[Problem]) -> Iterator[Record]:
    """Read what Slurm printed as text.

    Parameters
    ----------
    text
        Any number of records, of any kind.
    file, problems
        Where it comes from, and where to report what is wrong with it.
    """
    records = list(_all(text, file, problems))
    yield from records
    _check_end(text, records)


def _all(text: str, file: str, problems: list[Problem]) -> Iterator[Record]:
    lines: list[str] = []
    first = 0
    for number, line in enumerate(text.splitlines(), 1):
        begins = line.split("=", 1)[0] in KINDS or line.startswith((_CONFIG, _COLUMNS))
        if not line.strip() or line.startswith(_NOTHING):
            continue
        if begins:
            yield from _records(lines, file, problems, first)
            lines, first = [], number
        if begins or lines:
            lines.append(line.rstrip())
        else:
            found = f"{line.strip()[:60]!r}"
            expected = "a line of scontrol show, such as NodeName=n1 ..."
            problems.append(Problem(file, f"line {number}", found, expected))
            return
    yield from _records(lines, file, problems, first)


_SOMETIMES = re.compile(
    "(Tres|CpusPer|MemPer|NtasksPer|Mail|Comment|AdminComment|SystemComment|Extra|Reason)",
    re.ASCII | re.IGNORECASE,
)
"""How fields begin that Slurm adds at the end of some records only."""


def _check_end(text: str, records: Sequence[Record]) -> None:
    """Report a last record that was cut.

    Slurm ends a record of several lines with an empty one, one in a line with the end of that.
    Where there is none the text may have been pasted: it was cut if the record lacks what those
    before it end with.
    """
    lines = text.split("\n")
    last = records[-1] if records else None
    if last is None or last.kind not in KINDS[:4]:
        return
    one_line = lines[-1].startswith(f"{last.kind}=")
    in_lines = "" in (line.strip() for line in lines[:-1]) and not text.endswith("\n\n")
    before = [record.fields for record in records[:-1] if record.kind == last.kind]
    if not before or not (one_line or in_lines):
        return
    common = [key for key in before[0] if all(key in fields for fields in before)]
    final = [key for key in common if not _SOMETIMES.match(key)][-1]
    if final not in last.fields:
        last.problem(final, "what all before it have: the text ends within this record")


def _records(lines: list[str], file: str, problems: list[Problem], first: int) -> Iterator[Record]:
    if not lines:
        return
    if lines[0].startswith(_CONFIG):
        yield replace(_config(lines, file, problems), line=first)
        return
    if lines[0].startswith(_COLUMNS):
        rows = enumerate(_table(lines, file, problems), first + 1)
        yield from (replace(row, line=line) for line, row in rows)
        return
    kind = lines[0].split("=", 1)[0]
    ending = _TO_THE_END.get(kind, set()) if len(lines) > 1 else set()
    fields: dict[str, str] = {}
    details = []
    for line in lines:
        found = _fields(line.split("#")[0] if kind in KINDS[4:] else line, ending)
        if kind == "JobId" and "CPU_IDs" in found:
            details.append(found)
        else:
            fields.update(found)
    yield Record(kind, fields, file, problems, tuple(details), first)


def _fields(line: str, ending: set[str]) -> dict[str, str]:
    fields: dict[str, str] = {}
    place = 0
    while match := _FIELD.search(line, place):
        key, start = match[1], match.end()
        following = None if key in ending else _FIELD.search(line, start)
        end = following.start() if following else len(line)
        fields[key] = line[start:end].strip()
        place = end
    return fields


def _config(lines: list[str], file: str, problems: list[Problem]) -> Record:
    """Read ``scontrol show config``: a name and a value in each line."""
    pairs = (line.partition("=") for line in lines[1:] if "=" in line)
    fields = {key.strip(): value.strip() for key, _, value in pairs}
    moment = lines[0].removeprefix(_CONFIG).strip()
    return Record("Config", {"Config": "config", "Moment": moment, **fields}, file, problems)


def _table(lines: list[str], file: str, problems: list[Problem]) -> Iterator[Record]:
    """Read a table with ``|`` between its columns, as ``sacctmgr -P show qos`` prints it."""
    columns = lines[0].strip().split("|")
    for line in lines[1:]:
        if line.strip():
            fields = dict(zip(columns, line.rstrip("\n").split("|"), strict=False))
            yield Record("Qos", {"Qos": fields.get("Name", ""), **fields}, file, problems)
