"""Trials of what is drawn: markup of which every element and attribute is ours."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

from kantopt.planning.pictures import picture_of
from kantopt.planning.question import Question, judging_model
from kantopt.report.pages import answer_page, cluster_page
from kantopt.report.picture import svg
from tests.render.hostile import harmless, hostile_question, unprintable

_PLAIN = re.compile(r"[\w#., -]*|rotate\(-?45\)")
"""Values of attributes in which nothing can be hidden."""


def picture(seed: int, folder: Path) -> list[str]:
    """A drawing is XML, of elements and attributes that are ours."""
    text = _drawn(hostile_question(seed))
    return unprintable(text) + _foreign(_parts_of_drawing(text), _drawing_shape())


def page(seed: int, folder: Path) -> list[str]:
    """A page is HTML, of elements and attributes that are ours, with the same scripts always."""
    text = _written(hostile_question(seed))
    seen, shape = _Page(text), _page_shape()
    faults = unprintable(text) + _foreign(iter(seen.parts), shape)
    if not set(seen.code) <= shape:
        faults.append("a script or style of nobody")
    for data in seen.data:
        json.loads(data)
        if "<" in data:
            faults.append("data that could end its script")
    return faults


def _foreign(parts: Iterator[tuple[str, str | None]], shape: frozenset[str]) -> list[str]:
    """Find elements, attributes and values that no harmless drawing has."""
    return [
        f"a part of nobody: {name!r} {value!r}"
        for name, value in parts
        if name not in shape
        or (value is not None and not _PLAIN.fullmatch(value) and value not in shape)
    ]


def _parts_of_drawing(text: str) -> Iterator[tuple[str, str | None]]:
    for element in ElementTree.fromstring(text).iter():
        yield element.tag, None
        for name, value in element.attrib.items():
            yield f"{element.tag} {name}", value


class _Page(HTMLParser):
    """Reads a page as a browser would begin to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.parts: list[tuple[str, str | None]] = []
        self.data: list[str] = []
        self.code: list[str] = []
        self._into: list[str] | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.parts.append((tag, None))
        self.parts += [(f"{tag} {name}", value) for name, value in attrs]
        if tag in ("script", "style"):
            self._into = self.data if ("type", "application/json") in attrs else self.code
            self._into.append("")

    def handle_endtag(self, tag: str) -> None:
        self._into = None

    def handle_data(self, data: str) -> None:
        if self._into is not None:
            self._into[-1] += data

    def handle_comment(self, data: str) -> None:
        self.parts.append((f"a comment {data}", None))

    def handle_pi(self, data: str) -> None:
        self.parts.append((f"an instruction {data}", None))


def _drawn(question: Question) -> str:
    return svg(picture_of(question, judging_model(question, None)))


def _written(question: Question) -> str:
    drawn = picture_of(question, judging_model(question, None))
    if question.plan is None:
        return cluster_page(drawn, question.notes)
    return answer_page(question.plan, drawn, notes=question.notes)


def _shape(parts: Callable[[Question], Iterator[tuple[str, str | None]]]) -> Iterator[str]:
    """Yield parts and their values where no name holds anything odd."""
    for seed in range(200):
        for name, value in parts(hostile_question(seed, harmless)):
            yield name
            if value is not None and "zz" not in value:
                yield value


@cache
def _drawing_shape() -> frozenset[str]:
    return frozenset(_shape(lambda question: _parts_of_drawing(_drawn(question))))


@cache
def _page_shape() -> frozenset[str]:
    code = _Page(_written(hostile_question(0, harmless))).code
    return frozenset([*_shape(lambda question: iter(_Page(_written(question)).parts)), *code])
