"""What one line of block YAML says, where it can say one thing only.

Known here is what ``kubectl`` writes; of every other line it is only known that it is another.
"""

from __future__ import annotations

import math
import re
import sys
from dataclasses import dataclass
from enum import Enum
from typing import Any

from kantopt.schema.yaml.scalars import key_text, resolve

_HEAD = re.compile(
    r"""(?P<indent>[ ]*)
    (?P<dashes>(?:-[ ]){0,9})(?![ ])
    (?:(?P<key> [A-Za-z0-9_./] [!-9;-~]* (?: : [!-9;-~]+ )* | "[^"\\ ]*" | '[^' ]*' )
       : (?: [ ](?=[^ ]) | \Z ) )?""",
    re.VERBOSE,
)
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_STARTS_PLAIN_WORD = frozenset("-?:")
_HEX = "[0-9a-fA-F]"
_ESCAPE = (
    rf'\\(?:[0abefnrtv "\\NLP_]|x{_HEX}{{2}}|u(?![dD][89a-fA-F]){_HEX}{{4}}'
    rf"|U(?:000[1-9a-fA-F]|0010){_HEX}{{4}})"
)
_ESCAPED = re.compile(_ESCAPE)
_ESCAPES = dict(
    zip('0abefnrtv "\\NLP_', '\0\a\b\x1b\f\n\r\t\v "\\\x85\u2028\u2029\xa0', strict=True)
)
_TO_CLOSING = {
    "'": re.compile(r"(?P<text>[^']*(?:''[^']*)*)(?P<end>'?)"),
    '"': re.compile(rf'(?P<text>[^"\\]*(?:{_ESCAPE}[^"\\]*)*)(?P<end>"?)'),
}
_BLOCK = re.compile(r"\|[1-9]?[-+]?")
# Neither tabs, nor what ends a line in YAML 1.1 alone, nor a mark of the byte order.
_PRINTABLE = "[ -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
_LONGEST_KEY = 500
"""In characters; YAML allows a key 1024."""


class UnknownLineError(Exception):
    """A line that is left to the parser that knows all of YAML."""


class Form(Enum):
    """What stands behind the dashes and the key of a line."""

    VALUE = "a scalar that may end on this line"
    OPEN = "nothing: null, or what the next lines hold"
    MAP = "{}"
    LIST = "[]"
    BLOCK = "the head of a literal block"
    QUOTED = "a quoted scalar that does not end on this line"


@dataclass(slots=True)
class Line:
    """A line cut into its parts; ``rest`` is what stands behind the dashes and the key."""

    indent: int
    dashes: int
    key: str | None
    rest: str = ""
    form: Form = Form.OPEN
    value: Any = None

    @property
    def column(self) -> int:
        """Column of the key, or of the last dash: lines that belong to the value are deeper."""
        return self.indent + 2 * (self.dashes - (self.key is None))

    @property
    def place(self) -> int:
        """Place of the list or mapping that the line adds to.

        A place is twice a column, and one more for a list: a list may stand in the column of the
        key that it belongs to and is deeper than that all the same.
        """
        return 2 * self.indent + (self.dashes > 0)

    @property
    def inner_places(self) -> list[int]:
        """Places of the lists and the mapping that begin on this line inside a list."""
        lists = [2 * (self.indent + 2 * i) + 1 for i in range(1, self.dashes)]
        return lists if self.key is None or not self.dashes else [*lists, 2 * self.column]


def cut(text: str) -> Line:
    """Cut a line into its parts.

    Raises
    ------
    UnknownLineError
        If it begins no entry of a list or mapping, or not surely this one.
    """
    match = _HEAD.match(text)
    if match is None:
        raise UnknownLineError
    indent, dashes, word = match.groups()
    key = None if word is None else _key(word)
    if key is None and not dashes:
        raise UnknownLineError
    line = Line(len(indent), len(dashes) // 2, key, text[match.end() :])
    if line.rest or key is None:
        line.form, line.value = content(line.rest)
    return line


def _key(word: str) -> str:
    key = word[1:-1] if word[0] in _TO_CLOSING else key_text(_unquoted(word))
    if key is None or len(word) > _LONGEST_KEY or not is_printable(key):
        raise UnknownLineError
    return sys.intern(key)


def _unquoted(text: str) -> Any:
    value = resolve(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise UnknownLineError
    return value


def content(text: str) -> tuple[Form, Any]:
    """Read what stands behind a key or a dash and the space after it.

    Raises
    ------
    UnknownLineError
        If it is none of the forms, or not surely this one.
    """
    first = text[:1]
    if first not in _INDICATORS or (first in _STARTS_PLAIN_WORD and text[1:2] > " "):
        if is_plain(text):
            return Form.VALUE, _unquoted(text)
    elif first in _TO_CLOSING:
        inside, closed = to_closing(text[1:], first)
        if closed:
            return Form.VALUE, unescape(inside, first)
        if text[-1] != " ":
            return Form.QUOTED, inside
    elif text in ("{}", "[]"):
        return Form(text), None
    elif _BLOCK.fullmatch(text):
        return Form.BLOCK, None
    raise UnknownLineError


def is_printable(text: str) -> bool:
    """Whether a text has only characters that every parser takes for what they are."""
    return text.isprintable() if text.isascii() else bool(re.fullmatch(_PRINTABLE, text))


def is_plain(text: str) -> bool:
    """Whether all of a text on one line belongs to the unquoted scalar that it stands in."""
    ended = text[:1] in ("", "#") or text[-1] in ": " or ": " in text or " #" in text
    return not ended and is_printable(text)


def to_closing(text: str, quote: str) -> tuple[str, bool]:
    """Split what follows an opening quote: the text in it, and whether the scalar ends here.

    Raises
    ------
    UnknownLineError
        If something follows the closing quote, or for escapes other than the common ones.
    """
    match = _TO_CLOSING[quote].fullmatch(text)
    if match is None or not is_printable(text):
        raise UnknownLineError
    return match["text"], match["end"] == quote


def unescape(text: str, quote: str) -> str:
    """Read what stands between quotes."""
    if quote == "'":
        return text.replace("''", "'")
    return _ESCAPED.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    letter, code = escape[0][1], escape[0][2:]
    return chr(int(code, 16)) if code else _ESCAPES[letter]
