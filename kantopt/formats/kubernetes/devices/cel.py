"""Selectors of devices: the part of the Common Expression Language that is read here.

Read are ``device.driver``, ``device.attributes["domain"].name``, ``device.capacity["domain"].name``
(or ``["name"]``), ``has()`` of the latter two and ``"name" in`` their domains; strings, whole
numbers, booleans, ``quantity("40Gi")``, lists behind ``in``; ``== != < <= > >= && || !``; of
strings ``startsWith endsWith contains``, of quantities ``compareTo isGreaterThan isLessThan``.
"""

from __future__ import annotations

import re

from kantopt.formats.kubernetes.devices.cel_values import (
    ORDER,
    CelError,
    Facts,
    Quantity,
    Run,
    Value,
    called,
    compared,
    constant,
    looked_up,
    settled,
    text_of,
)
from kantopt.schema.quantity import parse_quantity

LONGEST = 10 * 1024
"""Characters of an expression; the API server accepts no more."""
_DEEPEST = 50
"""Parentheses and negations within each other."""
_TOKEN = re.compile(
    r"(?P<name>[A-Za-z_]\w*)"
    r"|(?P<number>(?:0x[0-9a-fA-F]+|\d+)(?![\w.]))"
    r"""|(?P<string>"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')"""
    r"|(?P<sign>&&|\|\||[=!<>]=|[<>!()\[\],.-])"
    r"|(?P<space>[ \t\n\f\r]+)",
    re.ASCII,
)
_ESCAPES = dict(zip("abfnrtv\\'\"`?", "\a\b\f\n\r\t\v\\'\"`?", strict=True))


class Selector:
    """An expression, ready to be asked of devices.

    Raises
    ------
    CelError
        If it is not of the part that is read, too long or too deep.
    """

    def __init__(self, expression: str) -> None:
        parser = _Parser(_tokens(expression))
        self._run = parser.whole()
        self.size = parser.size
        """Steps that asking takes, more or less."""

    def accepts(self, device: Facts) -> bool:
        """Whether it is true of a device.

        Raises
        ------
        CelError
            If it fails: an attribute is missing, or of another type than it is used as.
        """
        found = self._run(device)
        if not isinstance(found, bool):
            raise CelError("neither true nor false")
        return found


def _tokens(text: str) -> list[tuple[str, str]]:
    if len(text) > LONGEST:
        raise CelError("too long")
    tokens, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise CelError(f"{text[at : at + 10]} is not read")
        at = match.end()
        if match.lastgroup != "space":
            tokens.append((match.lastgroup or "", match[0]))
    return tokens


class _Parser:
    """Turns tokens into functions of a device, from the loosest operator to the tightest."""

    def __init__(self, tokens: list[tuple[str, str]]) -> None:
        self._tokens = [*tokens, ("end", "")]
        self._at = self._depth = 0
        self.size = len(tokens)

    def whole(self) -> Run:
        found = self._either()
        if self._tokens[self._at][0] != "end":
            raise CelError(f"{self._tokens[self._at][1]} is not read")
        return found

    def _next(self, kind: str) -> str:
        found, text = self._tokens[self._at]
        if found != kind:
            raise CelError(f"a {kind} expected, not {text or 'the end'}")
        self._at += 1
        return text

    def _take(self, *texts: str) -> str:
        """Take the next token if it is one of these signs or words."""
        text = self._tokens[self._at][1]
        if text not in texts:
            return ""
        self._at += 1
        return text

    def _expect(self, *texts: str) -> None:
        for text in texts:
            if not self._take(text):
                raise CelError(f"{text} expected")

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise CelError("too deep")

    def _either(self) -> Run:
        self._deeper()
        parts = [self._both()]
        while self._take("||"):
            parts.append(self._both())
        self._depth -= 1
        return settled(parts, by=True)

    def _both(self) -> Run:
        parts = [self._relation()]
        while self._take("&&"):
            parts.append(self._relation())
        return settled(parts, by=False)

    def _relation(self) -> Run:
        left = self._negation()
        sign = self._take("==", "!=", *ORDER, "in")
        if not sign:
            return left
        return self._within(left) if sign == "in" else compared(left, sign, self._negation())

    def _within(self, item: Run) -> Run:
        """What is behind ``in``: a list, or the names of a domain."""
        if self._take("["):
            items = [self._negation()]
            while self._take(","):
                items.append(self._negation())
            self._expect("]")
            return settled([compared(item, "==", other) for other in items], by=True)
        self._expect("device", ".")
        field, domain = self._domain()
        return lambda device: (domain, text_of(item(device))) in device.table(field)

    def _negation(self) -> Run:
        if not self._take("!"):
            return self._member()
        self._deeper()
        inner = self._negation()
        self._depth -= 1

        def run(device: Facts) -> Value:
            found = inner(device)
            if not isinstance(found, bool):
                raise CelError("neither true nor false")
            return not found

        return run

    def _member(self) -> Run:
        found = self._single()
        if self._take("."):
            method = self._next("name")
            self._expect("(")
            found = called(found, method, self._either())
            self._expect(")")
        return found

    def _single(self) -> Run:
        kind, text = self._tokens[self._at]
        if kind == "string":
            return constant(self._string())
        if self._take("("):
            found = self._either()
            self._expect(")")
            return found
        if kind == "number" or self._take("-"):
            digits = self._next("number")
            number = int(digits[:20], 16 if digits[:2] == "0x" else 10)
            if number >= 2**63 or len(digits) > 20:
                raise CelError("too large a number")
            return constant(number if kind == "number" else -number)
        if self._take("true", "false"):
            return constant(text == "true")
        if self._take("quantity"):
            return self._quantity()
        if self._take("has"):
            self._expect("(", "device", ".")
            field, domain = self._domain()
            self._expect(".")
            name = (domain, self._next("name"))
            self._expect(")")
            return lambda device: name in device.table(field)
        self._expect("device", ".")
        if self._take("driver"):
            return lambda device: device.driver
        field, domain = self._domain()
        return looked_up(field, (domain, self._key()))

    def _domain(self) -> tuple[str, str]:
        field = self._take("attributes", "capacity")
        if not field:
            raise CelError("driver, attributes or capacity expected")
        self._expect("[")
        domain = self._string()
        self._expect("]")
        return field, domain

    def _key(self) -> str:
        if self._take("."):
            return self._next("name")
        self._expect("[")
        name = self._string()
        self._expect("]")
        return name

    def _quantity(self) -> Run:
        self._expect("(")
        text = self._string()
        self._expect(")")
        try:
            return constant(Quantity(parse_quantity(text)))
        except ValueError as error:
            raise CelError(f"quantity {text}: {error}") from None

    def _string(self) -> str:
        def plain(match: re.Match[str]) -> str:
            if match[1] not in _ESCAPES:
                raise CelError(f"{match[0]} is not read")
            return _ESCAPES[match[1]]

        return re.sub(r"\\(.)", plain, self._next("string")[1:-1])
