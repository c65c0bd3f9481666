"""Words for what stands in a document, and guesses at what was meant."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, TypeVar

from kantopt.errors import UsageError

_Name = TypeVar("_Name", bound=str)
_LONGEST = 60


def quote(text: str) -> str:
    """Write a string in double quotes, shortened in the middle if it is long."""
    if len(text) > _LONGEST:
        text = text[: _LONGEST // 2] + "..." + text[-_LONGEST // 4 :]
    # Lone surrogates cannot be printed; everything else that is readable stays readable.
    printable = all(char.isprintable() for char in text)
    return json.dumps(text, ensure_ascii=not printable)


def shown(value: Any) -> str:
    """Show a value shortly, with its type where that is not plain to see."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, str):
        return f"{quote(value)} (a string)"
    if isinstance(value, bool):
        return f"{str(value).lower()} (a boolean)"
    if isinstance(value, int):
        # Python refuses to write integers of thousands of digits.
        digits = str(value) if abs(value) < 10**30 else "a number of more than 30 digits"
        return f"{digits} (a whole number)"
    if isinstance(value, float):
        return f"{value!r} (a float)"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}" if value else "an empty list"
    if not value:
        return "an empty mapping"
    return f"a mapping ({first_of([quote(str(key))[1:-1] for key in value])})"


def _folded(word: str) -> str:
    return re.sub(r"[-_ ]", "", word).casefold()


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Guess which of the known words was meant."""
    by_fold = {_folded(name): name for name in known}
    near = difflib.get_close_matches(_folded(word), list(by_fold), n=1, cutoff=0.7)
    return by_fold[near[0]] if near else None


def miswritten(word: str, other: str) -> bool:
    """Whether a word is another one with a letter too many, too few, or in the wrong place.

    A letter in place of another tells things apart as often, and so do numbers.
    """
    moved = len(word) != len(other) or sorted(word) == sorted(other)
    near = difflib.SequenceMatcher(a=word, b=other, autojunk=False)
    numbers = [re.findall(r"\d+", text) for text in (word, other)]
    alike = moved and word != other and abs(len(word) - len(other)) <= 1
    return alike and numbers[0] == numbers[1] and near.ratio() >= _ONE_LETTER


_ONE_LETTER = 0.9
"""How alike words of a dozen letters are that differ in one."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Ask whether the nearest of the known words was meant; empty if none is near."""
    near = nearest(word, known)
    return f"did you mean {near}?" if near is not None else ""


def perhaps(word: str, known: Iterable[str]) -> str:
    """Ask in brackets, behind what was expected; empty if none of the known words is near."""
    hint = did_you_mean(word, known)
    return f" ({hint})" if hint else ""


def meant_or_some(word: str, known: Sequence[str], what: str) -> str:
    """Ask whether the nearest was meant; if none is near, name a few of ``what`` there is."""
    return did_you_mean(word, known) or (f"{what}: {listed(known, 5)}" if known else "")


def plural(count: int, one: str) -> str:
    """Write ``1 pod``, ``2 pods``."""
    return f"{count} {one if count == 1 else one + 's'}"


def listed(words: Sequence[str], longest: int) -> str:
    """List words, at most so many, and count the others."""
    more = f" and {len(words) - longest} more" if len(words) > longest else ""
    return f"{', '.join(words[:longest])}{more}"


def first_of(words: Sequence[str], most: int = 3, joined: str = ", ") -> str:
    """List words, at most so many; dots stand for the others."""
    return joined.join([*words[:most], "..."] if len(words) > most else words)


UNOFFERED = ", which no node offers"
"""Stands in notes about a resource that is asked for, mistyped perhaps."""


def unoffered(resource: str, offered: Iterable[str]) -> str:
    """Name a resource that no node offers, with the one that may have been meant."""
    return f"{resource}{UNOFFERED}{perhaps(resource, sorted(offered))}"


def one_of(words: Sequence[str], longest: int = 20) -> str:
    """List the words that are allowed: ``a``, ``a or b``, ``one of a, b, c``."""
    plain = [word or '""' for word in words]
    if len(plain) <= 2:
        return " or ".join(plain)
    return f"one of {listed(plain, longest)}"


def named(option: str, names: Collection[str], known: Sequence[_Name]) -> tuple[_Name, ...]:
    """Return those of the known names that an option names, in their order.

    Raises
    ------
    UsageError
        If one is not known.
    """
    for name in names:
        if name not in known:
            expected = f"{one_of(known)}{perhaps(name, known)}"
            raise UsageError(f"{option}: found {quote(name)}, expected {expected}")
    return tuple(each for each in known if each in names)


def path_text(path: Iterable[str | int]) -> str:
    """Write a place in a document: ``jobs[3].podSets[0].requests["nvidia.com/gpu"]``."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[A-Za-z_][A-Za-z0-9_-]*", step):
            text += f".{step}" if text else step
        else:
            text += f"[{quote(step)}]"
    return text
