"""What an unquoted YAML scalar means: the same as to ``kubectl`` (sigs.k8s.io/yaml).

That library reads YAML 1.1 without base-60 numbers and leaves timestamps as they are written.
"""

from __future__ import annotations

import math
import re
import struct
from typing import Any

_WORDS: dict[str, Any] = {"": None, "~": None}
for _words, _value in (
    ("null", None),
    ("true yes on y", True),
    ("false no off n", False),
    (".nan", float("nan")),
    (".inf +.inf", float("inf")),
    ("-.inf", float("-inf")),
):
    for _word in _words.split():
        _WORDS.update(dict.fromkeys((_word, _word.capitalize(), _word.upper()), _value))
_WORDS.update({".NaN": float("nan"), ".Inf": float("inf")})
_WORDS.update({"+.Inf": float("inf"), "-.Inf": float("-inf")})

_FIRST = frozenset("+-0123456789.yYnNtTfFoO~")
_INTEGERS = (
    (re.compile(r"[-+]?0[xX][0-9a-fA-F]+"), 16),
    (re.compile(r"[-+]?0[oO][0-7]+"), 8),
    (re.compile(r"[-+]?0[bB][01]+"), 2),
    (re.compile(r"[-+]?0[0-7]+"), 8),
    (re.compile(r"[-+]?(0|[1-9][0-9]*)"), 10),
)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9]+([eE][-+]?[0-9]+)?")


def resolve(text: str) -> Any:
    """Value of an unquoted scalar: null, a boolean, a number or the text itself."""
    if text and text[0] not in _FIRST:
        return text
    if text in _WORDS:
        return _WORDS[text]
    if text[0] == ".":
        return _as_float(text, text) if _DOT_FLOAT.fullmatch(text) else text
    if text[0] not in "+-0123456789":
        return text
    plain = text.replace("_", "")
    for pattern, base in _INTEGERS:
        if pattern.fullmatch(plain):
            # An integer that fits no 64 bits is read as a float there, if it is a decimal.
            if base == 10 and len(plain) > 20:
                break
            number = int(plain, base)
            if -(2**63) <= number < 2**64 or base != 10:
                return number
            break
    return _as_float(plain, text) if _FLOAT.fullmatch(plain) else text


def _as_float(plain: str, text: str) -> float | str:
    number = float(plain)
    return text if number in (float("inf"), float("-inf")) else number


def key_text(key: Any) -> str | None:
    """Write a mapping key as the string it becomes in JSON; ``None`` if it cannot be a key."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool):
        return "true" if key else "false"
    if isinstance(key, int):
        return str(key)
    return _float_key(key) if isinstance(key, float) else None


def _float_key(key: float) -> str:
    """Write the shortest decimal of the nearest 32-bit float, as that library does."""
    try:
        target = struct.pack("<f", key)
    except OverflowError:
        key = math.copysign(math.inf, key)
    if not math.isfinite(key):
        return ".nan" if math.isnan(key) else ".inf" if key > 0 else "-.inf"
    (key,) = struct.unpack("<f", target)
    for digits in range(1, 10):
        mantissa, _, exponent = f"{key:.{digits - 1}e}".partition("e")
        if struct.pack("<f", float(f"{mantissa}e{exponent}")) == target:
            break
    power = int(exponent)
    if -4 <= power < 6:
        return f"{float(f'{mantissa}e{exponent}'):.{max(digits - 1 - power, 0)}f}"
    return f"{mantissa}e{power:+03d}"
