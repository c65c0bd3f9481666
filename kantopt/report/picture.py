"""A cluster as a drawing (SVG): a bar per node before and, with a plan, after it."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence

from kantopt.report.chart import written
from kantopt.report.units import in_unit, unit_name
from kantopt.report.words import OURS, Words
from kantopt.schema.answers.picture import Bar, Fate, Picture, Pods, Stay
from kantopt.schema.hints import plural
from kantopt.schema.quantity import CLAIMED

_FILL: dict[Fate, str] = {"stays": "#8a949e", "evicted": "#d55e00", "moved": "#e69f00"}
BOUND = ("#0072b2", "#009e73", "#56b4e9", "#cc79a7", "#4b3f92", "#00686f")
"""Colours that colour-blind people tell apart; evictions are hatched besides. Pods that are bound
have those of their jobs in turn, so that gangs side by side are told apart."""
_PALE, _DARK = (0xD3, 0xD9, 0xDE), (0x56, 0x60, 0x6B)
"""Greys of the least and of the most important pods that stay."""
_WRONG = "#c1121f"
"""Edge of what is more than a node has."""
_BAR, _GAP, _PAD, _TOP, _LETTER = 96.0, 10.0, 8.0, 18.0, 6.2
"""Width of the widest bar, between bars, inside boxes, of a box's headline, of a letter."""
_NAMED = 300
"""With more nodes than that rows are thin and names are told on hovering only."""
_RATIO = 2.0
"""Width of the boxes together by their height."""
_LISTED = 12
"""Jobs that wait and are named."""
_LINES, _INDENT = 3, "  "
"""Lines for each of them at most, and what those after the first begin with."""

_PATTERNS = (
    '<defs><pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><rect width="4" height="4" fill="#d55e00"/>'
    '<rect width="1.5" height="4" fill="#fff"/></pattern>'
    '<pattern id="barred" width="5" height="5" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(-45)"><rect width="5" height="5" fill="#fff"/>'
    '<rect width="1.2" height="5" fill="#8a949e"/></pattern></defs>'
)


def svg(picture: Picture, words: Words = OURS) -> str:
    """Draw a picture as one SVG document with text that can be searched and read on hovering."""
    drawing = _Drawing(picture, words)
    width, height = drawing.size
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="11">',
        f"<title>{written(_title(picture))}</title>",
        _PATTERNS,
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
        *drawing.head(),
        *drawing.boxes(),
        *drawing.waiting(),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _keys(picture: Picture) -> list[tuple[str, str]]:
    """What the colours mean, and the colours."""
    keys: list[tuple[str, str]] = [("runs (the darker, the more important)", _FILL["stays"])]
    if picture.planned:
        keys = [("stays (the darker, the more important)", _FILL["stays"])]
        keys += [("evicted", "url(#hatch)"), ("moved", _FILL["moved"])]
        keys += [("bound, a colour per job", BOUND[0])]
    if any(bar.marks for bar in picture.bars):
        keys.append(("keeps pods away", "url(#barred)"))
    return keys


def _key_width(said: str) -> float:
    return 14 + len(said) * _LETTER + 14


class _Drawing:
    """Where everything goes: boxes side by side in rows, as wide as a page is."""

    def __init__(self, picture: Picture, words: Words) -> None:
        self.picture = picture
        self.words = words
        self.drawn = {bar.name: r for bar in picture.bars if (r := picture.drawn(bar)) is not None}
        """Resource by which each node is drawn."""
        bars = [bar for bar in picture.bars if bar.name in self.drawn]
        self.grouped = [
            ("/".join(domain), list(members))
            for domain, members in itertools.groupby(bars, key=lambda bar: bar.domain)
        ]
        self.named = len(bars) <= _NAMED
        self.thick = 12.0 if self.named else 6.0
        longest = max((len(bar.name) for bar in bars), default=0) if self.named else 0
        self.left = _PAD + longest * _LETTER + (_GAP if longest else 0.0)
        self.scale = self._scales(bars)
        bound = (
            stay.pods.job
            for bar in bars
            for stay in bar.stays
            if stay.came == "bound" and stay.pods.takes[self.drawn[bar.name]]
        )
        self.order = {job: i for i, job in enumerate(dict.fromkeys(bound))}
        """Jobs that get places, in the order in which they have their colours."""
        sides = 2 if picture.planned else 1
        headline = max((len(name) for name, _ in self.grouped), default=0) * _LETTER + 2 * _PAD
        self.box = max(self.left + sides * _BAR + (sides - 1) * _GAP + _PAD, headline)
        self.keys = [(words.of(said), fill) for said, fill in _keys(picture)]
        self.columns = self._columns()
        boxes = self.columns * (self.box + _GAP)
        wide = _GAP + max(boxes, sum(_key_width(said) for said, _ in self.keys), 510.0)
        letters = int((wide - 2 * _GAP) / _LETTER)
        notes = (textwrap.wrap(words.of(note), letters) for note in picture_notes(picture))
        self.notes = [*itertools.chain.from_iterable(notes)]
        self.legend = (62.0 if picture.planned else 48.0) + 15.0 * len(self.notes)
        self.foot = self.legend + sum(high + _GAP for high in self._heights(self.columns)) + _GAP
        """Where the boxes end."""
        self.waiting_lines = _waiting(picture, words, letters)
        below = 15.0 * (1 + len(self.waiting_lines)) + _GAP if self.waiting_lines else 0.0
        self.size = (wide, self.foot + below)

    def _scales(self, bars: Sequence[Bar]) -> dict[int, float]:
        """Pixels per unit of each resource: the fullest bar is as wide as a bar may be."""
        most: dict[int, int] = {}
        for bar in bars:
            r = self.drawn[bar.name]
            sides = (_used(bar.before, r), _used(bar.after, r))
            most[r] = max(most.get(r, 1), bar.offers[r], *sides)
        return {r: _BAR / amount for r, amount in most.items()}

    def _height(self, bars: Sequence[Bar]) -> float:
        return _TOP + len(bars) * (self.thick + 2) + _PAD

    def _heights(self, columns: int) -> list[float]:
        """Height of each row of boxes."""
        heights = [self._height(bars) for _, bars in self.grouped]
        return [max(heights[i : i + columns]) for i in range(0, len(heights), columns)]

    def _columns(self) -> int:
        """Boxes in a row: such that the whole is about as wide and as high as a page."""
        counts = range(1, max(1, len(self.grouped)) + 1)

        def off(columns: int) -> float:
            high = sum(self._heights(columns)) or 1.0
            return abs(math.log(columns * self.box / high / _RATIO))

        return min(counts, key=off)

    def head(self) -> Iterator[str]:
        """Title, notes and what the colours mean."""
        y = 18.0
        yield f'<text x="{_GAP}" y="{y}" font-size="14">{written(_title(self.picture))}</text>'
        for note in self.notes:
            y += 15
            yield f'<text x="{_GAP}" y="{y}" fill="#444">{written(note)}</text>'
        x, y = _GAP, y + 10
        for said, fill in self.keys:
            yield f'<rect x="{x:.1f}" y="{y:.1f}" width="10" height="10" fill="{fill}"/>'
            yield f'<text x="{x + 14:.1f}" y="{y + 9:.1f}">{said}</text>'
            x += _key_width(said)
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
            for column, box in enumerate(self.grouped[first : first + self.columns]):
                yield from self._box(*box, _GAP + column * (self.box + _GAP), y, height)
            y += height + _GAP

    def waiting(self) -> Iterator[str]:
        """List jobs that wait, with the reason."""
        y = self.foot + 8
        if self.waiting_lines:
            yield f'<text x="{_GAP}" y="{y:.1f}" font-weight="bold">waiting</text>'
        for line in self.waiting_lines:
            y += 15
            x = _GAP + (2 * _LETTER if line.startswith(" ") else 0.0)
            yield f'<text x="{x:.1f}" y="{y:.1f}" fill="#444">{written(line.strip())}</text>'

    def _box(
        self, name: str, bars: Sequence[Bar], x: float, y: float, height: float
    ) -> Iterator[str]:
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{self.box:.1f}" height="{height:.1f}" '
            'rx="3" fill="#f6f7f8" stroke="#ccd2d7"/>'
        )
        yield f'<text x="{x + _PAD:.1f}" y="{y + 13:.1f}" fill="#444">{written(name)}</text>'
        for i, bar in enumerate(bars):
            top = y + _TOP + i * (self.thick + 2)
            if self.named:
                low = top + self.thick - 2.5
                yield f'<text x="{x + _PAD:.1f}" y="{low:.1f}">{written(bar.name)}</text>'
            yield from self._bar(bar, _pieces(bar.before, after=False), x + self.left, top)
            if self.picture.planned:
                right = x + self.left + _BAR + _GAP
                yield from self._bar(bar, _pieces(bar.after, after=True), right, top)

    def _bar(self, bar: Bar, pieces: Mapping[Piece, int], x: float, y: float) -> Iterator[str]:
        r = self.drawn[bar.name]
        scale, unit, offered = self.scale[r], self.picture.resources[r], bar.offers[r]
        used = sum(count * pods.takes[r] for (pods, _), count in pieces.items())
        width = offered * scale
        told = f"{bar.name}: {amount(offered - used, unit)} of {amount(offered, unit)} free"
        if used > offered:
            told = f"{bar.name}: {amount(used, unit)} in use, it has {amount(offered, unit)}"
        told = "; ".join((told, *bar.marks))
        yield (
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{self.thick}" '
            f'fill="{"url(#barred)" if bar.marks else "#fff"}" stroke="#b5bdc4" '
            f'stroke-width=".5"><title>{written(self.words.of(told))}</title></rect>'
        )
        at = x
        for (pods, fate), count in pieces.items():
            taken = count * pods.takes[r]
            if not taken:
                continue
            wide = taken * scale
            told = f"{pods.job}/{pods.pod_set} x{count}: {amount(taken, unit)}, "
            told += f"priority {pods.priority}, {fate}"
            yield (
                f'<rect x="{at:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{self.thick}" '
                f'fill="{self._fill(pods, fate)}" stroke="#fff" stroke-width=".5">'
                f"<title>{written(self.words.of(told))}</title></rect>"
            )
            at += wide
        if unit == "milli-GPU" and self.named:
            ticks = " ".join(
                f"M{x + k * scale:.1f} {y:.1f}v{self.thick}" for k in range(1000, offered, 1000)
            )
            yield f'<path d="{ticks}" stroke="#fff" stroke-opacity=".6" stroke-width=".5"/>'
        if used > offered:
            yield (
                f'<rect x="{x + width:.1f}" y="{y:.1f}" width="{at - x - width:.1f}" '
                f'height="{self.thick}" fill="none" stroke="{_WRONG}" stroke-width="1.5"/>'
            )

    def _fill(self, pods: Pods, fate: Fate) -> str:
        if fate == "evicted":
            return "url(#hatch)"
        if fate == "moved":
            return _FILL[fate]
        if fate == "bound":
            return BOUND[self.order[pods.job] % len(BOUND)]
        mixed = (round(a + pods.rank * (b - a)) for a, b in zip(_PALE, _DARK, strict=True))
        return "#" + "".join(f"{part:02x}" for part in mixed)


Piece = tuple[Pods, Fate]


def _pieces(stays: Sequence[Stay], *, after: bool) -> dict[Piece, int]:
    """Pods of a node before or after the plan, by what becomes or became of them."""
    found: dict[Piece, int] = {}
    for stay in stays:
        piece = stay.pods, stay.came if after else stay.goes
        found[piece] = found.get(piece, 0) + stay.count
    return found


def _waiting(picture: Picture, words: Words, letters: int) -> list[str]:
    """Jobs that wait, the most important first, with the reason, in lines of so many letters."""
    waiting = sorted(picture.waiting, key=lambda item: -item.priority)
    lines = []
    for item in waiting[:_LISTED]:
        text = (
            f"{item.job}, priority {item.priority}, {item.pods} of {item.wanted} pods: "
            f"{item.rule}: {item.message}"
        )
        lines += textwrap.wrap(words.of(text), letters, max_lines=_LINES, subsequent_indent=_INDENT)
    more = len(waiting) - _LISTED
    return [*lines, f"and {more} more"] if more > 0 else lines


def _used(stays: Sequence[Stay], r: int) -> int:
    return sum(stay.count * stay.pods.takes[r] for stay in stays)


def resource_name(unit: str, number: str = "") -> str:
    """Name a resource of a picture: a device to be claimed by its class alone."""
    return unit_name(unit.removeprefix(CLAIMED), number)


def amount(value: int, unit: str) -> str:
    """Write an amount of a resource of a picture with its unit."""
    number = in_unit(value, unit)
    return f"{number} {resource_name(unit, number)}".rstrip()


def _drawn(picture: Picture) -> dict[int, list[Bar]]:
    """Nodes by the resource by which they are drawn."""
    found: dict[int, list[Bar]] = {}
    for bar in picture.bars:
        r = picture.drawn(bar)
        if r is not None:
            found.setdefault(r, []).append(bar)
    return dict(sorted(found.items()))


def _what(picture: Picture) -> str:
    """Name what is drawn."""
    if picture.accelerators and picture.resources[0] != "milli-GPU":
        return "devices"
    return "cores" if "cpu" in picture.resources and not picture.accelerators else "GPUs"


def _title(picture: Picture) -> str:
    when = ", before and after" if picture.planned else ""
    return f"{picture.name or 'the cluster'}: {_what(picture)} of each node{when}"


def picture_notes(picture: Picture) -> list[str]:
    """Say in numbers what a picture shows, what it leaves out, and if its plan is not legal."""
    said = [in_use(picture)]
    if picture.left_out:
        said[0] += f"; not drawn, for want of {_what(picture)}: {picture.left_out}"
    return [*said, *([f"The plan is not legal here: {picture.fault}"] if picture.fault else [])]


def in_use(picture: Picture) -> str:
    """Say how much of what is drawn is in use, before and after."""
    parts = []
    for r, bars in _drawn(picture).items():
        unit = picture.resources[r]
        sides = [sum(_used(bar.before, r) for bar in bars)]
        if picture.planned:
            sides.append(sum(_used(bar.after, r) for bar in bars))
        used = " -> ".join(in_unit(held, unit) for held in sides)
        whole = sum(bar.offers[r] for bar in bars)
        nodes = plural(len(bars), "node")
        parts.append(f"{used} of {in_unit(whole, unit)} {resource_name(unit)} in use on {nodes}")
    said = ", ".join(parts) or "nothing to draw"
    if picture.partly_used:
        shut = any(bar.marks for bar in picture.bars)
        counted = ", of those that take pods" if shut else ""
        said += f"; nodes partly used{counted}: {' -> '.join(map(str, picture.partly_used))}"
    return said
