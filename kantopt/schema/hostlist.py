"""Hostlists as Slurm writes them, ``lx[08-11,20],login``: into names and back, exactly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

MOST_HOSTS = 1_000_000
"""More names than this nobody means by one list."""

_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_LAST_NUMBER = re.compile(r"(.*?)(\d*)(\D*)", re.ASCII | re.DOTALL)


def expand_hostlist(text: str) -> list[str]:
    """Return the names of a list, in its order; a name that is listed twice comes twice.

    A number is padded with zeros to the digits of the first one of its range. Several pairs of
    brackets in one name stand for all combinations, the last one changing fastest.

    Raises
    ------
    ValueError
        For brackets that do not match, what is no range, or more than :data:`MOST_HOSTS` names.
    """
    names: list[str] = []
    for part in _parts(text):
        names += _expanded(part, MOST_HOSTS - len(names))
    return names


def _parts(text: str) -> Iterator[str]:
    """Split at the commas outside of brackets."""
    depth = start = 0
    for place, letter in enumerate(text):
        if letter in "[]":
            depth += 1 if letter == "[" else -1
            if depth not in (0, 1):
                raise ValueError("brackets that do not match")
        elif letter == "," and not depth:
            yield text[start:place].strip()
            start = place + 1
    if depth:
        raise ValueError("brackets that do not match")
    yield text[start:].strip()


def _expanded(part: str, most: int) -> list[str]:
    if not part:
        raise ValueError("an empty name")
    names = [""]
    for piece in re.split(r"(\[[^\]]*\])", part):
        numbers = _numbers(piece[1:-1], most) if piece.startswith("[") else [piece]
        if len(names) * len(numbers) > most:
            raise ValueError(f"more than {MOST_HOSTS} names")
        names = [name + number for name in names for number in numbers]
    return names


def _numbers(text: str, most: int) -> list[str]:
    numbers: list[str] = []
    for item in text.split(","):
        match = _RANGE.fullmatch(item.strip())
        if match is None:
            raise ValueError(f"{item!r} in brackets, which is no number or range")
        low, high = match[1], match[2] or match[1]
        count = int(high) - int(low) + 1
        if count < 1:
            raise ValueError(f"the range {item!r}, which ends before it begins")
        if len(numbers) + count > most:
            raise ValueError(f"more than {MOST_HOSTS} names")
        numbers += [str(int(low) + k).zfill(len(low)) for k in range(count)]
    return numbers


def compress_hostlist(names: Iterable[str]) -> str:
    """Write names as a list: sorted, each once, runs of the last number of a name in brackets."""
    groups: dict[tuple[str, str], list[str]] = {}
    alone: list[str] = []
    for name in set(names):
        match = _LAST_NUMBER.fullmatch(name)
        assert match is not None, "all text is that"
        head, digits, tail = match.groups()
        if digits:
            groups.setdefault((head, tail), []).append(digits)
        else:
            alone.append(name)
    written = [(name, name) for name in alone]
    for (head, tail), numbers in groups.items():
        runs = _runs(sorted(numbers, key=lambda digits: (int(digits), len(digits))))
        single = len(numbers) == 1
        written.append((head, f"{head}{runs}{tail}" if single else f"{head}[{runs}]{tail}"))
    return ",".join(text for _, text in sorted(written))


def _runs(numbers: list[str]) -> str:
    """Write sorted numbers; a run goes on while its next number is padded as its first is."""
    runs: list[list[str]] = []
    for digits in numbers:
        last = runs[-1] if runs else None
        if last and digits == str(int(last[-1]) + 1).zfill(len(last[0])):
            last[1:] = [digits]
        else:
            runs.append([digits])
    return ",".join("-".join(run) for run in runs)
