"""Names inside changes such as ``quota=QUEUE:RESOURCE=VALUE``: quoted where they need to be."""

from __future__ import annotations

import json
import re

_PLAIN = re.compile(r"[^\s:=\"]+")
# A quotation mark begins a name only where a name begins: elsewhere it is one of its characters.
_QUOTED = re.compile(r'(?<![^=:\s])"(?:[^"\\]|\\.)*"')


def quoted(name: str) -> str:
    """Write a name for a change; one with ``:``, ``=``, spaces or quotes as a JSON string."""
    return name if _PLAIN.fullmatch(name) else json.dumps(name, ensure_ascii=False)


def unquoted(text: str) -> str:
    """Read a name of a change; what looks like a JSON string and is none is the name itself."""
    if _QUOTED.fullmatch(text):
        try:
            return str(json.loads(text, strict=False))
        except ValueError:
            return text
    return text


def masked(text: str) -> str:
    """Return a text of the same length in which nothing quoted is left to be found."""
    return _QUOTED.sub(lambda found: "\0" * len(found[0]), text)


def cut(text: str, separator: str, *, last: bool = False) -> tuple[str, str, str]:
    """Part a text at a separator that is not quoted; without one the text is the first part.

    With ``last`` at the last one.
    """
    hidden = masked(text)
    at = hidden.rfind(separator) if last else hidden.find(separator)
    if at < 0:
        return text, "", ""
    return text[:at], separator, text[at + len(separator) :]
