"""Charts as SVG: a panel with two axes, and what is drawn into it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

from kantopt.report.blocks import escaped
from kantopt.report.units import duration

LETTER = 6.3
"""Width of a letter, about."""
INK, PALE, GRID = "#1f2a33", "#55616b", "#dde2e6"
_SECOND = 1000
_TIME_STEPS = tuple(
    seconds * _SECOND
    for seconds in (
        *(1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 10_800, 21_600, 43_200),
        *(days * 86_400 for days in (1, 2, 7, 14, 28, 56, 112, 364)),
    )
)
_WAITS = tuple(
    seconds * _SECOND
    for seconds in (1, 10, 60, 600, 3600, 21_600, 86_400, 604_800, 2_419_200, 31_536_000)
)

Point = tuple[float, float]
Tick = tuple[float, str]


@dataclass(frozen=True, slots=True)
class Axis:
    """Values from ``low`` to ``high`` along an axis, with marks; ``log``: both above 0."""

    low: float
    high: float
    ticks: tuple[Tick, ...]
    log: bool = False

    def part(self, value: float) -> float:
        """Where a value lies, from 0 to 1; what is outside lies at the end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


def time_axis(begin: int, end: int, most: int = 10) -> Axis:
    """Return an axis of times since the start, milliseconds."""
    fitting = (step for step in _TIME_STEPS if (end - begin) / step <= most)
    step = next(fitting, _TIME_STEPS[-1] * -(-(end - begin) // (most * _TIME_STEPS[-1])))
    first = -(-begin // step)
    marks = range(first * step, end + 1, step)
    return Axis(begin, end, tuple((mark, duration(mark / 1000)) for mark in marks))


def wait_axis(longest: int) -> Axis:
    """Return a logarithmic axis of lengths of time from 1 s on, milliseconds."""
    high = next((mark for mark in _WAITS[1:] if mark >= longest), max(longest, _WAITS[-1]))
    marks = [mark for mark in _WAITS if mark <= high]
    return Axis(_WAITS[0], high, tuple((mark, duration(mark / 1000)) for mark in marks), log=True)


def share_axis(high: float) -> Axis:
    """Return an axis of shares from 0 to ``high`` or a bit more, as percent."""
    top = next(each for each in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0) if each >= min(high, 1.0))
    return Axis(0, top, tuple((top * k / 5, f"{100 * top * k / 5:g}%") for k in range(6)))


def number_axis(high: float) -> Axis:
    """Return an axis from 0 to ``high``, above 0, with round marks."""
    rough = high / 4
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    marks = [step * k for k in range(int(high / step * (1 + 1e-9)) + 1)]
    return Axis(
        0, high, tuple((mark, f"{mark:g}" if mark < 1e5 else f"{mark:.0f}") for mark in marks)
    )


@dataclass(frozen=True, slots=True)
class Panel:
    """A part of a drawing with two axes; left, top, width and height in pixels."""

    left: float
    top: float
    width: float
    height: float
    across: Axis
    up: Axis

    def at(self, x: float, y: float) -> Point:
        """Place of two values."""
        return (
            self.left + self.across.part(x) * self.width,
            self.top + (1 - self.up.part(y)) * self.height,
        )

    def frame(self, across: str, up: str) -> Iterator[str]:
        """Draw grid, marks and the names of the axes; without a name no marks below."""
        bottom = self.top + self.height
        for value, said in self.up.ticks:
            y = self.at(self.across.low, value)[1]
            yield _line(self.left, y, self.left + self.width, y)
            yield text(self.left - 6, y + 4, said, anchor="end", fill=PALE)
        for value, said in self.across.ticks:
            x = self.at(value, 0)[0]
            yield _line(x, self.top, x, bottom + 4)
            if across:
                yield text(x, bottom + 17, said, anchor="middle", fill=PALE)
        if across:
            yield text(self.left + self.width / 2, bottom + 34, across, anchor="middle")
        x, y = self.left - 50, self.top + self.height / 2
        yield (
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" fill="{INK}" '
            f'transform="rotate(-90 {x:.1f} {y:.1f})">{written(up)}</text>'
        )

    def area(
        self, edges: Sequence[float], lower: Sequence[float], upper: Sequence[float], fill: str
    ) -> str:
        """Fill what lies between two lines of steps; of ``edges`` there is one more."""
        xs = [self.at(edge, 0)[0] for edge in edges]
        tops, bottoms = ([self.at(0, y)[1] for y in line] for line in (upper, lower))
        there = (f"V{y:.1f}H{x:.1f}" for y, x in zip(tops, xs[1:], strict=True))
        back = (f"V{y:.1f}H{x:.1f}" for y, x in zip(bottoms[::-1], xs[-2::-1], strict=True))
        path = f"M{xs[0]:.1f},{bottoms[0]:.1f}{''.join(there)}{''.join(back)}Z"
        return f'<path d="{path}" fill="{fill}"/>'

    def line(self, points: Sequence[Point], stroke: str, dash: str, told: str) -> str:
        """Draw a line through values."""
        path = " ".join("{:.1f},{:.1f}".format(*self.at(*point)) for point in points)
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        return (
            f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="2" '
            f'stroke-linejoin="round"{dashed}><title>{written(told)}</title></polyline>'
        )


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    place = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {place} stroke="{GRID}" stroke-width="1"/>'


def written(said: str) -> str:
    """Escape a text for SVG."""
    return escape(escaped(said))


def text(
    x: float, y: float, said: str, *, anchor: str = "start", fill: str = INK, size: int = 12
) -> str:
    """Write a line of text."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{fill}" '
        f'font-size="{size}">{written(said)}</text>'
    )


def apart(wanted: Sequence[float], low: float, high: float, least: float = 14.0) -> list[float]:
    """Move places of labels, as few pixels as it takes going down, so that none hides another."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = list(wanted)
    floor = low
    for i in order:
        places[i] = floor = max(wanted[i], floor)
        floor += least
    ceiling = high
    for i in reversed(order):
        places[i] = min(places[i], ceiling)
        ceiling = places[i] - least
    return places


def document(width: float, height: float, title: str, lines: Sequence[str]) -> str:
    """Wrap a drawing: white ground, so that it can be read on any page."""
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif" font-size="12">',
            f"<title>{written(title)}</title>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#fff"/>',
            *lines,
            "</svg>",
            "",
        )
    )
