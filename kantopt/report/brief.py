"""What a screen has room for: the first rows of a table, warnings in a line, an answer's length."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from kantopt.report.blocks import Block, Listing, Paragraph, Table
from kantopt.schema.hints import UNOFFERED

MOST = 10
"""Rows that a table shows of many; -o wide has all."""
_WIDE = 100
"""Columns of a terminal."""
_HEADS = 3
"""Notes of several that are told by how they begin."""
_HEAD = 72
"""Characters of a note that are told; it ends with a whole word, so that names stay whole."""
_OF_A_JOB = re.compile(r"job \S+: ")
"""How warnings begin of which a large plan has many: one for each job that ends for good."""
_OPTION = re.compile(r"[(]--[^()]*[)]")
"""What to give on the command line for a note to be no more; it is not cut."""
_EXAMPLE = re.compile(r"(?<=: )(\d+) [(].*[)]$")
"""How notes of an import end: how often, and an example, which a head is without."""


def first_rows(table: Table, *, wide: bool, most: int = MOST) -> Iterator[Block]:
    """Show the first rows of a table and count the rest; one too many is shown as well."""
    left = len(table.rows) - most
    if wide or left <= 1:
        yield table
        return
    yield replace(table, rows=table.rows[:most], styles=table.styles[:most])
    yield Paragraph(f"and {left} more (-o wide lists all)", "dim")


def mistyped_blocks(warnings: Sequence[str]) -> Iterator[Block]:
    """Say which resources no node offers, where nobody overlooks it: the verdict rests on them."""
    told = [text for text in warnings if UNOFFERED in text]
    for text in told[:_HEADS]:
        yield Paragraph(text, "warn")
    if len(told) > _HEADS:
        yield Paragraph(f"and {len(told) - _HEADS} more{UNOFFERED}", "warn")


def warnings_blocks(
    warnings: Sequence[str], notes: Collection[str] = (), *, wide: bool
) -> Iterator[Block]:
    """Lay out warnings: on a terminal those among ``notes`` (of reading) in one line, if not wide.

    But for those that :func:`mistyped_blocks` lays out.
    """
    warnings = [text for text in warnings if UNOFFERED not in text]
    if warnings:
        if wide:
            yield Listing("WARNINGS", tuple(warnings), "warn")
            return
        cut, whole = (_first_jobs(notes_in_a_line(warnings, notes, cut=x)) for x in (True, False))
        yield Listing("WARNINGS", cut, "warn", whole)


def _first_jobs(texts: Sequence[str]) -> tuple[str, ...]:
    """Tell what there is to say of the first jobs, and of how many more; one too many as well."""
    about = [i for i, text in enumerate(texts) if _OF_A_JOB.match(text)]
    left = set(about[MOST:])
    if len(left) <= 1:
        return tuple(texts)
    line = f"and {len(left)} more such jobs (all with -o wide)"
    return tuple(
        line if i == min(left) else text
        for i, text in enumerate(texts)
        if i not in left or i == min(left)
    )


def notes_in_a_line(
    warnings: Sequence[str], notes: Collection[str], *, cut: bool
) -> tuple[str, ...]:
    """Tell what was noted when reading in one line: all, or cut how the first of it begins."""
    told = [text for text in warnings if text in notes and UNOFFERED not in text]
    if len(told) <= 1:
        return tuple(warnings)
    if not cut:
        line = f"{len(told)} notes on what was read: {'; '.join(told)}"
        return (*(text for text in warnings if text not in told), line)
    heads = [_head(text) for text in told[:_HEADS]]
    more = f"; and {len(told) - _HEADS} more" if len(told) > _HEADS else ""
    line = f"{len(told)} notes on what was read (all with -o wide): {'; '.join(heads)}{more}"
    return (*(text for text in warnings if text not in told), line)


def _head(note: str) -> str:
    text = _EXAMPLE.sub(r"\1", note)
    end = text.rfind(" ", 1, _HEAD) if len(text) > _HEAD else -1
    if end < 0:
        return text
    for option in _OPTION.finditer(text):
        if option.start() < end < option.end():
            end = option.end()  # who has half an option cannot give it
    return f"{text[:end]} ..." if text[end:].strip() else text


def lines_of(block: Block) -> int:
    """Estimate the lines of a block on a terminal, an empty one above a title included.

    Rows of a table that is wider than :data:`_WIDE` are taken to wrap once.
    """
    if isinstance(block, Paragraph):
        return _wrapped(block.text)
    if isinstance(block, Table):
        widths = (max(map(len, cells)) for cells in zip(block.columns, *block.rows, strict=True))
        return 3 + len(block.rows) * (1 if sum(widths) + 2 * len(block.columns) <= _WIDE else 2)
    return sum(map(_wrapped, block.lines)) + (2 if block.title else 1)


def _wrapped(text: str) -> int:
    return max(1, -(-len(text) // _WIDE))
