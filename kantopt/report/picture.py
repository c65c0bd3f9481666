"""A cluster as a drawing (SVG): a bar per node before and, with a plan, after it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from kantopt.report.blocks import escaped
from kantopt.report.units import in_unit, unit_name
from kantopt.schema.picture import Bar, Box, Fate, Picture, Piece

_FILL: dict[Fate, str] = {
    "stays": "#8a949e",
    "evicted": "#d55e00",
    "moved": "#e69f00",
    "bound": "#0072b2",
}
"""Colours that colour-blind people tell apart; evictions are hatched besides."""
_PALE, _DARK = (0xD3, 0xD9, 0xDE), (0x56, 0x60, 0x6B)
"""Greys of the least and of the most important pods that stay."""
_BAR, _GAP, _PAD, _TOP, _LETTER = 96.0, 10.0, 8.0, 18.0, 6.2
"""Width of the widest bar, between bars, inside boxes, of a box's headline, of a letter."""
_NAMED = 300
"""With more nodes than that rows are thin and names are told on hovering only."""
_RATIO = 2.0
"""Width of the boxes together by their height."""


def svg(picture: Picture) -> str:
    """Draw a picture as one SVG document with text that can be searched and read on hovering."""
    drawing = _Drawing(picture)
    width, height = drawing.size
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11">',
        f"<title>{_text(_title(picture))}</title>",
        '<defs><pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><rect width="4" height="4" fill="#d55e00"/>'
        '<rect width="1.5" height="4" fill="#fff"/></pattern></defs>',
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        *drawing.head(),
        *drawing.boxes(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


class _Drawing:
    """Where everything goes: boxes side by side in rows, as wide as a page is."""

    def __init__(self, picture: Picture) -> None:
        self.picture = picture
        self.notes = _notes(picture)
        bars = [bar for box in picture.boxes for bar in box.bars]
        self.named = len(bars) <= _NAMED
        self.thick = 12.0 if self.named else 6.0
        longest = max((len(bar.name) for bar in bars), default=0) if self.named else 0
        self.left = _PAD + longest * _LETTER + (_GAP if longest else 0.0)
        self.scale = _BAR / max((bar.capacity for bar in bars), default=1)
        sides = 2 if picture.planned else 1
        headline = max((len(box.name) for box in picture.boxes), default=0) * _LETTER + 2 * _PAD
        self.box = max(self.left + sides * _BAR + (sides - 1) * _GAP + _PAD, headline)
        self.columns = self._columns()
        self.legend = (62.0 if picture.planned else 48.0) + 15.0 * len(self.notes)
        self.size = (
            max(self.columns * (self.box + _GAP) + _GAP, 520.0),
            self.legend + sum(height + _GAP for height in self._heights(self.columns)) + _GAP,
        )

    def _height(self, box: Box) -> float:
        return _TOP + len(box.bars) * (self.thick + 2) + _PAD

    def _heights(self, columns: int) -> list[float]:
        """Height of each row of boxes."""
        heights = [self._height(box) for box in self.picture.boxes]
        return [max(heights[i : i + columns]) for i in range(0, len(heights), columns)]

    def _columns(self) -> int:
        """Boxes in a row: such that the whole is about as wide and as high as a page."""
        counts = range(1, max(1, len(self.picture.boxes)) + 1)

        def off(columns: int) -> float:
            high = sum(self._heights(columns)) or 1.0
            return abs(math.log(columns * self.box / high / _RATIO))

        return min(counts, key=off)

    def head(self) -> Iterator[str]:
        """Title, notes and what the colours mean."""
        y = 18.0
        yield f'<text x="{_GAP}" y="{y}" font-size="14">{_text(_title(self.picture))}</text>'
        for note in self.notes:
            y += 15
            yield f'<text x="{_GAP}" y="{y}" fill="#444">{_text(note)}</text>'
        x, y = _GAP, y + 10
        keys: list[tuple[str, str]] = [("runs (the darker, the more important)", _FILL["stays"])]
        if self.picture.planned:
            keys = [("stays (the darker, the more important)", _FILL["stays"])]
            keys += [("evicted", "url(#hatch)"), ("moved", _FILL["moved"])]
            keys += [("bound", _FILL["bound"])]
        for said, fill in keys:
            yield f'<rect x="{x:.1f}" y="{y:.1f}" width="10" height="10" fill="{fill}"/>'
            yield f'<text x="{x + 14:.1f}" y="{y + 9:.1f}">{said}</text>'
            x += 14 + len(said) * _LETTER + 14
        for column in range(self.columns if self.picture.planned else 0):
            x = _GAP + column * (self.box + _GAP) + self.left
            for i, said in enumerate(("before", "after")):
                at = x + i * (_BAR + _GAP)
                yield f'<text x="{at:.1f}" y="{self.legend - 4:.1f}" fill="#444">{said}</text>'

    def boxes(self) -> Iterator[str]:
        """Draw all boxes, row by row."""
        y = self.legend
        for row, height in enumerate(self._heights(self.columns)):
            first = row * self.columns
            for column, box in enumerate(self.picture.boxes[first : first + self.columns]):
                yield from self._box(box, _GAP + column * (self.box + _GAP), y, height)
            y += height + _GAP

    def _box(self, box: Box, x: float, y: float, height: float) -> Iterator[str]:
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{self.box:.1f}" height="{height:.1f}" '
            'rx="3" fill="#f6f7f8" stroke="#ccd2d7"/>'
        )
        yield f'<text x="{x + _PAD:.1f}" y="{y + 13:.1f}" fill="#444">{_text(box.name)}</text>'
        for i, bar in enumerate(box.bars):
            top = y + _TOP + i * (self.thick + 2)
            if self.named:
                low = top + self.thick - 2.5
                yield f'<text x="{x + _PAD:.1f}" y="{low:.1f}">{_text(bar.name)}</text>'
            yield from self._bar(bar, bar.before, x + self.left, top)
            if self.picture.planned:
                yield from self._bar(bar, bar.after, x + self.left + _BAR + _GAP, top)

    def _bar(self, bar: Bar, pieces: Sequence[Piece], x: float, y: float) -> Iterator[str]:
        width = bar.capacity * self.scale
        used = sum(piece.amount for piece in pieces)
        told = (
            f"{bar.name}: {self._amount(bar.capacity - used)} of {self._amount(bar.capacity)} free"
        )
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{self.thick}" '
            f'fill="#fff" stroke="#b5bdc4" stroke-width=".5"><title>{_text(told)}</title></rect>'
        )
        at = x
        for piece in pieces:
            wide = piece.amount * self.scale
            told = f"{piece.name}: {self._amount(piece.amount)}, priority {piece.priority}, "
            yield (
                f'<rect x="{at:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{self.thick}" '
                f'fill="{_fill(piece)}" stroke="#fff" stroke-width=".5">'
                f"<title>{_text(told + piece.fate)}</title></rect>"
            )
            at += wide
        if self.picture.unit == "milli-GPU" and self.named:
            ticks = " ".join(
                f"M{x + k * self.scale:.1f} {y:.1f}v{self.thick}"
                for k in range(1000, bar.capacity, 1000)
            )
            yield f'<path d="{ticks}" stroke="#fff" stroke-opacity=".6" stroke-width=".5"/>'

    def _amount(self, value: int) -> str:
        number = in_unit(value, self.picture.unit)
        return f"{number} {unit_name(self.picture.unit, number)}".rstrip()


def _what(picture: Picture) -> str:
    return unit_name(picture.unit)


def _title(picture: Picture) -> str:
    when = ", before and after" if picture.planned else ""
    return f"{picture.name or 'the cluster'}: {_what(picture)} of each node{when}"


def _notes(picture: Picture) -> list[str]:
    """Say in numbers what the picture shows."""
    bars = [bar for box in picture.boxes for bar in box.bars]
    sides = [[bar.before for bar in bars]]
    if picture.planned:
        sides.append([bar.after for bar in bars])
    held = [sum(piece.amount for pieces in side for piece in pieces) for side in sides]
    used = " -> ".join(in_unit(amount, picture.unit) for amount in held)
    whole = in_unit(sum(bar.capacity for bar in bars), picture.unit)
    nodes = f"{len(bars)} node{'' if len(bars) == 1 else 's'}"
    said = f"{used} of {whole} {_what(picture)} in use on {nodes}"
    if picture.partly_used:
        said += f"; nodes partly used: {' -> '.join(map(str, picture.partly_used))}"
    if picture.left_out:
        said += f"; not drawn, for want of {_what(picture)}: {picture.left_out}"
    return [said, *([f"The plan is not legal here: {picture.fault}"] if picture.fault else [])]


def _fill(piece: Piece) -> str:
    if piece.fate == "evicted":
        return "url(#hatch)"
    if piece.fate != "stays":
        return _FILL[piece.fate]
    mixed = (round(a + piece.rank * (b - a)) for a, b in zip(_PALE, _DARK, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _text(text: str) -> str:
    return escape(escaped(text))
