"""Answers as one HTML file that needs nothing else: blocks, drawings, a map of the cluster.

What documents say is text wherever it stands. In the markup the template escapes it, the script is
given it as JSON that no markup can end, and the page's policy lets no other script and style run
than the page's own, and nothing be loaded.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from kantopt.report.blocks import Block, Paragraph, Table, escaped
from kantopt.report.page.columns import picture_columns
from kantopt.report.picture import in_use
from kantopt.report.words import OURS, Words
from kantopt.schema.answers.picture import Picture

if TYPE_CHECKING:
    from jinja2 import Template

_SCRIPTS = ("model.js", "tiles.js", "cards.js", "panel.js", "tables.js", "page.js")
"""Parts of the script, in their order."""
_STATES = ("not ready", "cordoned", "to be emptied", "tainted")
"""What the marks of nodes begin with, which the map's legend lists."""
_HOLD_JOBS = ("JOB", "JOB/PODSET", "FOR")
"""Heads of columns with names of jobs, which find them on the map."""
_ROWS = 100
"""Rows of a table that are in the markup; the script has the others."""


def page(
    what: str,
    lead: Sequence[Block],
    rest: Sequence[Block] = (),
    *,
    picture: Picture | None = None,
    drawings: Sequence[str] = (),
    of: str = "",
    seek: str = "",
    words: Words = OURS,
) -> str:
    """Write a page.

    Parameters
    ----------
    what
        What it is of, in a few words: the browser's title.
    lead
        Blocks above the map. The first one, a paragraph, is the headline.
    rest
        Blocks below it.
    picture
        The map; none: the page has none.
    drawings
        SVG documents of our own, shown between map and ``rest``.
    of
        What the map shows, where that is not plain.
    seek
        What the map's search is for when the page opens.
    words
        What the page is put into.
    """
    lead, rest = words.of_blocks(lead), words.of_blocks(rest)
    heads = [block for block in lead if isinstance(block, Paragraph)]
    first = heads[0] if heads else Paragraph(what)
    tables = [block for block in (*lead, *rest) if isinstance(block, Table)]
    data = {
        "picture": None if picture is None else picture_columns(picture, words),
        "seek": escaped(seek),
        "pod": words.of("pod"),
        "states": [words.of(state) for state in _STATES],
        "holdsJob": [words.of(head) for head in _HOLD_JOBS],
        "tables": [_further_rows(table) for table in tables],
    }
    style, script = _text_of("page.css"), "\n".join(map(_text_of, _SCRIPTS))
    return _template().render(
        what=escaped(what),
        first=first,
        lead=[block for block in lead if block is not first],
        rest=rest,
        number={id(table): i for i, table in enumerate(tables)},
        rows=_ROWS,
        picture=picture,
        caption="" if picture is None else words.of(in_use(picture)),
        drawings=drawings,
        of=of,
        data=_as_json(data),
        style=style,
        script=script,
        style_hash=_hash(style),
        script_hash=_hash(script),
    )


def _further_rows(table: Table) -> list[list[str]]:
    """Rows that are not in the markup: the style of each, and its cells."""
    styles = [*table.styles, *[""] * (len(table.rows) - len(table.styles))]
    return [
        [style, *map(escaped, row)]
        for style, row in zip(styles[_ROWS:], table.rows[_ROWS:], strict=True)
    ]


def _as_json(data: Any) -> str:
    """JSON that can stand in a script element: nothing in it ends or opens markup."""
    text = json.dumps(data, separators=(",", ":"))
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _hash(text: str) -> str:
    """Digest of a script or style, as a content security policy names it."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _text_of(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    surroundings = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    surroundings.filters["shown"] = escaped
    surroundings.filters["id"] = id
    surroundings.tests["table"] = lambda block: isinstance(block, Table)
    surroundings.tests["paragraph"] = lambda block: isinstance(block, Paragraph)
    return surroundings.from_string(_text_of("page.html.j2"))
