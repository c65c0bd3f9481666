"""Pages: one file that holds everything, and in which nothing of a document is markup or script."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from typing import Any

from kantopt.report.blocks import Listing, Paragraph, Table
from kantopt.report.page import page
from kantopt.report.page.columns import picture_columns
from kantopt.schema.answers.picture import Bar, Picture, Pods, Stay, Step
from kantopt.schema.answers.plan import Unplaced

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "a\u2028b\u2029c",
    "\u202egpj.exe",
    "<!--<script>",
    "\"'`${x}{{ 7 * 7 }}{% x %}",
    "&lt;b&gt;",
    "\x00\x07\x1b[31m",
)


class Reader(HTMLParser):
    """What a browser would see: elements with attributes, texts, what stands in scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[str] = []
        self.texts: list[str] = []
        self.scripts: list[str] = []
        self.styles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)
        if tag in ("script", "style"):
            (self.scripts if tag == "script" else self.styles).append("")

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        within = self.inside[-1] if self.inside else ""
        if within == "script":
            self.scripts[-1] += data
        elif within == "style":
            self.styles[-1] += data
        else:
            self.texts.append(data)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    return reader


def picture(*bars: Bar, accelerators: int = 1, steps: int = 0, **more: Any) -> Picture:
    given: dict[str, Any] = {
        "name": "t",
        "captured_at": "",
        "resources": ("milli-GPU", "cpu", "memory"),
        "accelerators": accelerators,
        "planned": steps > 0,
        "levels": ("rack",),
        "bars": bars,
        "steps": tuple(Step(i + 1, ()) for i in range(steps)),
        "waiting": (),
        "partly_used": (0,),
        "fault": "",
    }
    return Picture(**{**given, **more})


def hostile_page() -> str:
    bars = []
    for i, name in enumerate(HOSTILE):
        pods = Pods(name, name, (1000, 0, 0), i, 0.5)
        bars.append(Bar(name, (name,), (8000, 1, 1), (Stay(pods, 1),), name, (name,)))
    blocks = [
        *(Paragraph(name) for name in HOSTILE),
        *(Listing(name, (name,)) for name in HOSTILE),
        Table(HOSTILE[0], HOSTILE, (HOSTILE,) * 103),
    ]
    waits = [
        Unplaced(job=name, priority=1, pods=1, wanted=1, rule=name, message=name)
        for name in HOSTILE
    ]
    return page(HOSTILE[0], blocks, picture=picture(*bars, waiting=tuple(waits)))


def test_names_are_text_whatever_they_hold() -> None:
    text = hostile_page()
    seen, plain = read(text), read(page("t", [Paragraph("t")]))
    assert len(seen.scripts) == len(plain.scripts) == 2
    assert seen.scripts[1] == plain.scripts[1]
    assert not [tag for tag, _ in seen.elements if tag in ("img", "b", "iframe")]
    assert not [name for _, given in seen.elements for name in given if name.startswith("on")]
    assert HOSTILE[1] in seen.texts
    assert "".join(seen.texts).count("49") == 0


def test_no_control_character_and_none_that_turns_text_around_is_in_a_page() -> None:
    text = hostile_page()
    assert not [char for char in text if not char.isprintable() and char != "\n"]
    data = json.loads(read(text).scripts[0])
    assert "\\u202egpj.exe" in data["picture"]["nodes"]["name"]
    assert "\u202e" not in json.dumps(data, ensure_ascii=False)


def test_a_page_loads_nothing_and_runs_nothing_but_its_own() -> None:
    seen = read(page("t", [Paragraph("t")], picture=picture(Bar("n", ("r",), (8000, 1, 1)))))
    policy = next(
        given["content"] or ""
        for tag, given in seen.elements
        if tag == "meta" and given.get("http-equiv") == "Content-Security-Policy"
    )
    for kind, text in (("script-src", seen.scripts[1]), ("style-src", seen.styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    addresses = [
        given[name] or ""
        for _, given in seen.elements
        for name in ("src", "href", "srcset", "action", "data")
        if given.get(name)
    ]
    assert addresses == ["data:,"]
    assert not re.findall(r"url\(|@import", seen.styles[0])
    assert not re.findall(r"\bfetch\(|XMLHttpRequest|import\(|innerHTML|eval\(", seen.scripts[1])
    assert not [given for _, given in seen.elements if "style" in given]


def test_rows_beyond_the_first_hundred_are_with_the_script() -> None:
    rows = tuple((f"job-{i}", str(i)) for i in range(150))
    styles = tuple("bad" if i % 2 else "" for i in range(150))
    table = Table("ACTIONS", ("JOB", "N"), rows, frozenset({1}), styles)
    seen = read(page("t", [Paragraph("t"), table]))
    assert sum(tag == "tr" for tag, _ in seen.elements) == 101
    further = json.loads(seen.scripts[0])["tables"]
    assert further == [[[styles[i], *rows[i]] for i in range(100, 150)]]


def test_the_first_paragraph_is_the_headline_and_blocks_keep_their_order() -> None:
    lead = [Paragraph("Place 3 pods.", "title"), Paragraph("OPTIMAL.", "good")]
    rest = [Table("PENDING", ("JOB",), (("a/b",),)), Listing("NOTES", ("one", "two"), "warn")]
    bar = Bar("n", ("r",), (8000, 1, 1))
    text = page("t", lead, rest, picture=picture(bar), drawings=["<svg id='chart'></svg>"])
    words = ["<h1", "Place 3 pods.", "OPTIMAL.", "MAP", "id='chart'", "PENDING", "NOTES", "two"]
    places = [text.index(word) for word in words]
    assert places == sorted(places)


def test_columns_say_where_pods_are_and_when() -> None:
    job = Pods("a/j", "w", (2000, 4000, 1), 5, 1.0)
    other = Pods("a/k", "w", (1000, 0, 0), 1, 0.0)
    stays = (Stay(job, 2), Stay(other, 1, "stays", "evicted", 0, 2))
    bars = (
        Bar("n1", ("r1",), (8000, 1000, 1024), stays, "H100", ("cordoned",)),
        Bar("n2", ("r1",), (0, 1000, 1024), (Stay(job, 1, "bound", since=1),)),
    )
    columns = picture_columns(picture(*bars, steps=2))
    assert columns["nodes"] == {
        "name": ["n1", "n2"],
        "domain": [0, 0],
        "kind": [0, 1],
        "offers": [0, 1],
        "stays": [2, 1],
    }
    assert columns["kinds"] == ["H100, 8 GPUs", "no devices"]
    assert columns["stays"] == {"set": [0, 1, 0], "count": [2, 1, 1]}
    assert columns["changes"] == [(1, 0, 2, 0, 1), (2, 1, None, 3, 0)]
    assert columns["marked"] == [(0, [0])]
    assert columns["jobs"] == {"name": ["a/j", "a/k"], "priority": [5, 1]}
    assert [unit[2] for unit in columns["resources"]] == ["thousandths", "thousandths", "bytes"]


def test_large_domains_without_finer_ones_are_cut_into_parts() -> None:
    bars = tuple(Bar(f"n{i:04}", ("nodes",), (8000, 1, 1)) for i in range(1234))
    columns = picture_columns(picture(*bars))
    names = columns["domains"]["name"]
    assert names[:2] == ["nodes", "n0000 to n0099"]
    assert names[-1] == "n1200 to n1233"
    assert columns["domains"]["parent"] == [-1, *[0] * 13]
    few = picture_columns(picture(*bars[:500]))
    assert few["domains"]["name"] == ["nodes"]
