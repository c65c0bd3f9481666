"""Regular expressions in time linear in the text, as RE2 has them: no pattern can hang a run.

Read are characters, classes, groups, alternatives, repetitions, ``^ $ \\A \\z \\b \\B`` and the
classes of Perl and POSIX. Flags and Unicode classes are not, and what RE2 has not either
(references, looking ahead) is refused as there. A pattern becomes an automaton of which all states
are followed at once (Thompson 1968).
"""

from __future__ import annotations

import string
from collections.abc import Callable
from functools import lru_cache

MOST_STATES = 2000
"""Of an automaton, repetitions written out; RE2 draws such a line as well."""
_DEEPEST = 100
"""Groups within groups."""

_Ranges = tuple[tuple[str, str], ...]
_Build = Callable[["_Automaton", int], int]
"""Adds what stands for a part of a pattern, given the state after it; returns the state before."""

_LAST = chr(0x10FFFF)
_DIGITS, _LOWER, _UPPER = ("0", "9"), ("a", "z"), ("A", "Z")
_WORD: _Ranges = (_DIGITS, _UPPER, ("_", "_"), _LOWER)
_SPACE: _Ranges = tuple((char, char) for char in "\t\n\f\r ")
_PERL: dict[str, _Ranges] = {"d": (_DIGITS,), "w": _WORD, "s": _SPACE}
_POSIX: dict[str, _Ranges] = {
    "alnum": (_DIGITS, _UPPER, _LOWER),
    "alpha": (_UPPER, _LOWER),
    "digit": (_DIGITS,),
    "lower": (_LOWER,),
    "punct": tuple((char, char) for char in string.punctuation),
    "space": (*_SPACE, ("\v", "\v")),
    "upper": (_UPPER,),
    "word": _WORD,
    "xdigit": (_DIGITS, ("A", "F"), ("a", "f")),
}
_CONTROL = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_PLACES = {"^": "begin", "$": "end", "\\A": "begin", "\\z": "end", "\\b": "edge", "\\B": "inside"}


class LinearRegex:
    """A pattern to be found anywhere in a text.

    Raises
    ------
    ValueError
        If it is no regular expression, or none that is read here; says why.
    """

    def __init__(self, pattern: str) -> None:
        self._automaton = _Automaton(_Parser(pattern).whole())

    def found_in(self, text: str) -> bool:
        """Whether any part of the text matches."""
        states: frozenset[int] = frozenset()
        before = ""
        for after in (*text, ""):
            matched, states = self._automaton.step(states, before, after)
            if matched:
                return True
            before = after
        return False


class _Automaton:
    """States, of which each takes a character, stands at a place, or leads on to others."""

    def __init__(self, build: _Build) -> None:
        self._takes: dict[int, tuple[_Ranges, int]] = {}
        self._stands: dict[int, tuple[str, int]] = {}
        self._leads: dict[int, tuple[int, ...]] = {}
        self._count = 0
        self._end = self._new()
        self._start = build(self, self._end)
        self.step = lru_cache(maxsize=4096)(self._step)

    def _new(self) -> int:
        self._count += 1
        if self._count > MOST_STATES:
            raise ValueError("it is too long, its repetitions written out")
        return self._count

    def take(self, ranges: _Ranges, then: int) -> int:
        """Add a state that takes one character of some ranges."""
        state = self._new()
        self._takes[state] = ranges, then
        return state

    def stand(self, place: str, then: int) -> int:
        """Add a state that is passed at some places only."""
        state = self._new()
        self._stands[state] = place, then
        return state

    def lead(self, *then: int) -> int:
        """Add a state from which there are several ways."""
        state = self._new()
        self._leads[state] = then
        return state

    def loop(self, part: _Build, then: int) -> int:
        """Add a state to which a part leads back, as often as may be."""
        state = self.lead()
        self._leads[state] = part(self, state), then
        return state

    def _step(self, states: frozenset[int], before: str, after: str) -> tuple[bool, frozenset[int]]:
        """Take a character; says whether the end had been reached before it.

        A match may begin anywhere, so the first state is always among those to go on from.
        """
        pending = [*states, self._start]
        seen = set(pending)
        while pending:
            state = pending.pop()
            ways = self._leads.get(state, ())
            if state in self._stands:
                place, then = self._stands[state]
                ways = (then,) if _is_at(place, before, after) else ()
            pending += [way for way in ways if way not in seen]
            seen.update(ways)
        if self._end in seen or not after:
            return self._end in seen, frozenset()
        takes = (self._takes[state] for state in seen if state in self._takes)
        return False, frozenset(then for ranges, then in takes if _within(after, ranges))


def _within(char: str, ranges: _Ranges) -> bool:
    return any(low <= char <= high for low, high in ranges)


def _is_at(place: str, before: str, after: str) -> bool:
    if place in ("begin", "end"):
        return not (before if place == "begin" else after)
    sides = [bool(char) and _within(char, _WORD) for char in (before, after)]
    return (sides[0] != sides[1]) == (place == "edge")


def _others(ranges: _Ranges) -> _Ranges:
    """All characters that are in none of the ranges."""
    found, begin = [], 0
    for low, high in sorted(ranges):
        if ord(low) > begin:
            found.append((chr(begin), chr(ord(low) - 1)))
        begin = max(begin, ord(high) + 1)
    return (*found, (chr(begin), _LAST)) if begin <= ord(_LAST) else tuple(found)


class _Parser:
    def __init__(self, pattern: str) -> None:
        self._text = pattern
        self._at = 0
        self._depth = 0

    def whole(self) -> _Build:
        build = self._any()
        if self._at < len(self._text):
            raise ValueError("a bracket is closed that was not opened")
        return build

    def _next(self, text: str) -> bool:
        """Go past a text if it stands here."""
        here = self._text.startswith(text, self._at)
        self._at += len(text) if here else 0
        return here

    def _char(self) -> str:
        if self._at >= len(self._text):
            raise ValueError("it ends too early")
        self._at += 1
        return self._text[self._at - 1]

    def _any(self) -> _Build:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError("its groups are too deep")
        parts = [self._all()]
        while self._next("|"):
            parts.append(self._all())
        self._depth -= 1
        return lambda a, then: a.lead(*(part(a, then) for part in parts))

    def _all(self) -> _Build:
        parts: list[_Build] = []
        while self._at < len(self._text) and self._text[self._at] not in "|)":
            parts.append(self._repeated(self._one()))

        def build(a: _Automaton, then: int) -> int:
            for part in reversed(parts):
                then = part(a, then)
            return then

        return build

    def _repeated(self, part: _Build) -> _Build:
        """Read how often; whether as few as possible makes no difference here."""
        times = self._times()
        if times is None:
            return part
        self._next("?")
        if self._times() is not None:
            raise ValueError("a repetition is repeated")
        least, most = times

        def build(a: _Automaton, then: int) -> int:
            then = a.loop(part, then) if most is None else then
            for _ in range(0 if most is None else most - least):
                then = a.lead(part(a, then), then)
            for _ in range(least):
                then = part(a, then)
            return then

        return build

    def _times(self) -> tuple[int, int | None] | None:
        for sign, times in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._next(sign):
                return times
        end = self._text.find("}", self._at)
        if end < 0 or not self._text.startswith("{", self._at):
            return None
        low, comma, high = self._text[self._at + 1 : end].partition(",")
        if not all(part.isascii() and part.isdecimal() for part in (low, high or low)):
            return None  # a brace like any other character
        self._at = end + 1
        if len(low + high) > 8:
            raise ValueError("it repeats too often")
        least = int(low)
        most = int(high) if high else None if comma else least
        if most is not None and most < least:
            raise ValueError("it repeats at most fewer times than at least")
        return least, most

    def _one(self) -> _Build:
        char = self._char()
        if char == "(":
            if self._next("?") and not self._next(":"):
                self._name()
            build = self._any()
            if not self._next(")"):
                raise ValueError("a bracket is not closed")
            return build
        if char in "*+?":
            raise ValueError("nothing is repeated")
        if char == "\\":
            char += self._char()
        if char in _PLACES:
            place = _PLACES[char]
            return lambda a, then: a.stand(place, then)
        if char == "[":
            ranges = self._class()
        elif char == ".":
            ranges = _others((("\n", "\n"),))
        else:
            ranges = self._escaped(char[1]) if char[0] == "\\" else ((char, char),)
        return lambda a, then: a.take(ranges, then)

    def _name(self) -> None:
        """Go past the name of a group: all else behind ``(?`` is not read here."""
        if not (self._next("P<") or self._next("<")) or self._text[self._at : self._at + 1] in "=!":
            raise ValueError("flags, references and looking around are not read")
        end = self._text.find(">", self._at)
        if not self._text[self._at : end].isidentifier():
            raise ValueError("a group has no name")
        self._at = end + 1

    def _escaped(self, char: str) -> _Ranges:
        """Characters that an escape stands for, the backslash being read."""
        if char.lower() in _PERL:
            ranges = _PERL[char.lower()]
            return _others(ranges) if char.isupper() else ranges
        if char in _CONTROL:
            return ((_CONTROL[char], _CONTROL[char]),)
        if char == "x":
            char = self._hexadecimal()
        elif char.isalnum() or not char.isascii():
            raise ValueError(f"\\{char} is not read")
        return ((char, char),)

    def _hexadecimal(self) -> str:
        if self._next("{"):
            end = self._text.find("}", self._at)
            digits, self._at = self._text[self._at : end], end + 1
        else:
            digits = self._char() + self._char()
        if not digits or len(digits) > 6 or set(digits) - set(string.hexdigits):
            raise ValueError("\\x is followed by no number")
        if int(digits, 16) > ord(_LAST):
            raise ValueError("\\x is followed by no character")
        return chr(int(digits, 16))

    def _class(self) -> _Ranges:
        found: list[tuple[str, str]] = []
        negated = self._next("^")
        first = True
        while first or not self._next("]"):
            first = False
            if self._next("[:"):
                found += self._posix()
                continue
            char = self._char()
            ranges = self._escaped(self._char()) if char == "\\" else ((char, char),)
            single = len(ranges) == 1 and ranges[0][0] == ranges[0][1]
            follows = self._text[self._at : self._at + 2]
            if single and follows[:1] == "-" and follows[1:] not in ("]", ""):
                self._at += 1
                char = self._char()
                [(high, _), *more] = self._escaped(self._char()) if char == "\\" else [(char, char)]
                if more or high < ranges[0][0]:
                    raise ValueError("a range ends before it begins")
                ranges = ((ranges[0][0], high),)
            found += ranges
        return _others(tuple(found)) if negated else tuple(found)

    def _posix(self) -> _Ranges:
        negated = self._next("^")
        end = self._text.find(":]", self._at)
        name = self._text[self._at : end] if end >= 0 else ""
        if name not in _POSIX:
            raise ValueError("a class in [: :] has no name")
        self._at = end + 2
        return _others(_POSIX[name]) if negated else _POSIX[name]
