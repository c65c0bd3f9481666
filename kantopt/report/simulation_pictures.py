"""Policies over time as drawings (SVG): GPUs by what they do, waiting times, fragmentation.

``simulation_pictures(simulation)`` gives the drawings by file name, to be written as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from kantopt.report.chart import (
    LETTER,
    PALE,
    Axis,
    Panel,
    Point,
    apart,
    document,
    number_axis,
    share_axis,
    text,
    time_axis,
    wait_axis,
    written,
)
from kantopt.report.units import duration
from kantopt.schema.answers.simulation import Course, Simulation
from kantopt.schema.hints import plural

PARTS = {
    "running": ("running", "#0072b2"),
    "restarting": ("restarting", "#7cc4ec"),
    "idle": ("free, no demand", "#e4e8eb"),
    "waiting": ("lost to waiting", "#f0e442"),
    "fragmentation": ("lost to fragmentation", "#d55e00"),
    "topology": ("lost to topology", "#e69f00"),
    "quota": ("lost to quotas", "#cc79a7"),
    "failed": ("failed nodes", "#5b6670"),
}
"""Parts of the capacity from below: words and colours that colour-blind people tell apart."""
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#1f2a33")
_DASHES = ("", "7 3", "2 3")
_WIDTH, _LEFT, _PANEL = 960.0, 76.0, 640.0
_BAR = 22.0
"""Width of the bar of means beside a panel."""
_NAMED = 3
"""Policies that a title names; of more it names the best and the worst."""


def simulation_pictures(simulation: Simulation) -> dict[str, str]:
    """Draw what there is: GPUs and fragmentation over time, waiting times if any job came."""
    found = {
        "gpus-over-time.svg": _gpus(simulation),
        "fragmentation-over-time.svg": _fragmentation(simulation),
    }
    if any(course.waited or course.censored for course in simulation.courses):
        found["waiting-times.svg"] = _waiting(simulation)
    return found


def _gpus(simulation: Simulation) -> str:
    """One panel per policy: what the GPUs do, stacked, and its means beside it."""
    courses = simulation.courses
    means = [_means(simulation, i) for i in range(len(courses))]
    shares = [mean["running"] / (sum(mean.values()) or 1) for mean in means]
    percents = [f"{100 * share:.1f}%" for share in shares]
    title = f"GPU time spent running: {_ranked(simulation, percents, shares, most=True)}"
    lines = [*_head(simulation, title, "GPUs by what they do; what does not run, by its cause")]
    lines += _keys([(word, colour) for word, colour in PARTS.values()], 62)
    across = time_axis(simulation.begin, simulation.end)
    up = number_axis(max(max(_levels(course)[-1]) for course in courses) or 1.0)
    top, height = 112.0, 170.0
    for i, (course, mean) in enumerate(zip(courses, means, strict=True)):
        panel = Panel(_LEFT, top, _PANEL, height, across, up)
        last = i == len(courses) - 1
        lines.append(text(_LEFT, top - 8, course.policy, size=13))
        lines += panel.frame("time since the start of the trace" if last else "", "GPUs")
        lines += _stack(panel, course, simulation.begin)
        lines += _mean_bar(panel, mean)
        top += height + 34
    return document(_WIDTH, top + 22, title, lines)


def _means(simulation: Simulation, i: int) -> dict[str, float]:
    """Share of each part under the policy at ``i``, mean over the traces, as the tables say."""
    return {part: _mean(simulation, f"{part}_share", i) for part in PARTS}


def _mean(simulation: Simulation, metric: str, i: int) -> float:
    """Mean of a metric of the whole cluster under the policy at ``i``; 0 if there is none."""
    for group in simulation.groups:
        for measure in group.measures:
            if measure.metric == metric:
                return measure.estimates[i].mean or 0.0
    return 0.0


def _levels(course: Course) -> list[list[float]]:
    """Upper ends of the parts, the lowest part first, in GPUs."""
    level = [0.0] * len(course.running)
    levels = []
    for part in PARTS:
        values = getattr(course, part)
        level = [low + (value or 0) / 1000 for low, value in zip(level, values, strict=True)]
        levels.append(level)
    return levels


def _stack(panel: Panel, course: Course, begin: int) -> Iterator[str]:
    edges = [
        min(begin + k * course.step, panel.across.high) for k in range(len(course.running) + 1)
    ]
    levels = [[0.0] * len(course.running), *_levels(course)]
    for (lower, upper), (_, colour) in zip(pairwise(levels), PARTS.values(), strict=True):
        if lower != upper:
            yield panel.area(edges, lower, upper, colour)


def _mean_bar(panel: Panel, mean: dict[str, float]) -> Iterator[str]:
    """Draw the means beside a panel, each part with its name and its share."""
    x = panel.left + panel.width + 14
    whole = sum(mean.values()) or 1.0
    yield text(x, panel.top - 8, "mean", fill=PALE)
    labels: list[tuple[float, str]] = []
    low = 0.0
    for part, (word, colour) in PARTS.items():
        high = low + panel.up.high * mean[part] / whole
        bottom, top = panel.at(0, low)[1], panel.at(0, high)[1]
        if mean[part]:
            told = f"{word}: {100 * mean[part] / whole:.1f}%"
            yield (
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{_BAR}" height="{bottom - top:.1f}" '
                f'fill="{colour}"><title>{written(told)}</title></rect>'
            )
            if mean[part] >= whole / 200:
                labels.append(((bottom + top) / 2 + 4, f"{100 * mean[part] / whole:.1f}% {word}"))
        low = high
    places = apart([y for y, _ in labels], panel.top + 8, panel.top + panel.height + 4)
    for place, (_, said) in zip(places, labels, strict=True):
        yield text(x + _BAR + 8, place, said)


def _waiting(simulation: Simulation) -> str:
    """Share of the jobs that have started, by how long they had waited."""
    courses = simulation.courses
    medians = [next((t for t, share in c.waited if share >= 0.5), None) for c in courses]
    said = ["not seen" if m is None else duration(m / 1000) for m in medians]
    values = [float("inf") if m is None else m for m in medians]
    title = f"Half of the jobs start within: {_ranked(simulation, said, values, most=False)}"
    note = "jobs that have not started count as long as they were seen to wait (Kaplan-Meier)"
    lines = [*_head(simulation, title, note, pooled=True)]
    longest = max(course.observed for course in courses)
    panel = Panel(_LEFT, 78, _PANEL, 380, wait_axis(longest), share_axis(1))
    lines += panel.frame("waited at most (logarithmic)", "jobs that have started")
    ends = []
    for course, (colour, dash) in zip(courses, _styles(len(courses)), strict=True):
        points = _risen(course, panel.across)
        lines.append(panel.line(points, colour, dash, course.policy))
        name = course.policy + (f", {course.censored} not started" if course.censored else "")
        ends.append((panel.at(1, points[-1][1])[1], name, colour, dash))
    lines += _named(panel, ends)
    return document(_WIDTH, 510, title, lines)


def _risen(course: Course, across: Axis) -> list[Point]:
    """Corners of a line that rises at each point, up to the longest time that was observed."""
    share = max((share for time, share in course.waited if time <= across.low), default=0.0)
    points: list[Point] = [(across.low, share)]
    for time, after in course.waited:
        if time > across.low:
            points += [(time, share), (time, after)]
            share = after
    points.append((course.observed, share))
    return points


def _fragmentation(simulation: Simulation) -> str:
    """GFR over time, a line per policy."""
    courses = simulation.courses
    known = [[value for value in course.gfr if value is not None] for course in courses]
    means = [_mean(simulation, "gfr_mean", i) for i in range(len(courses))]
    percents = [f"{100 * mean:.1f}%" for mean in means]
    said = _ranked(simulation, percents, means, most=False)
    title = f"GPU nodes partly used (GFR), mean over time: {said}"
    note = "nodes with some GPUs bound and some free, of healthy nodes with GPUs"
    lines = [*_head(simulation, title, note)]
    highest = max((value for values in known for value in values), default=0.0)
    across = time_axis(simulation.begin, simulation.end)
    panel = Panel(_LEFT, 78, _PANEL, 300, across, share_axis(highest))
    lines += panel.frame("time since the start of the trace", "nodes partly used")
    ends = []
    styles = _styles(len(courses))
    for course, mean, (colour, dash) in zip(courses, means, styles, strict=True):
        last = 0.0
        for run in _runs(course, simulation.begin):
            lines.append(panel.line(run, colour, dash, course.policy))
            last = run[-1][1]
        said = f"{course.policy}, mean {100 * mean:.1f}%"
        ends.append((panel.at(across.low, last)[1], said, colour, dash))
    lines += _named(panel, ends)
    return document(_WIDTH, 430, title, lines)


def _runs(course: Course, begin: int) -> Iterator[list[Point]]:
    """Lines through the middle of the steps, as long as there are values."""
    run: list[Point] = []
    for k, value in enumerate(course.gfr):
        if value is not None:
            run.append((begin + (k + 0.5) * course.step, value))
        elif run:
            yield run
            run = []
    if run:
        yield run


def _named(panel: Panel, ends: Sequence[tuple[float, str, str, str]]) -> Iterator[str]:
    """Write names of lines where they end: height, name, colour, dashes."""
    x = panel.left + panel.width + 8
    places = apart([y + 4 for y, _, _, _ in ends], panel.top + 8, panel.top + panel.height + 4)
    for place, (_, said, colour, dash) in zip(places, ends, strict=True):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        yield (
            f'<line x1="{x:.1f}" y1="{place - 4:.1f}" x2="{x + 20:.1f}" y2="{place - 4:.1f}" '
            f'stroke="{colour}" stroke-width="2"{dashed}/>'
        )
        yield text(x + 26, place, said)


def _styles(count: int) -> list[tuple[str, str]]:
    """Colours and, once these are used up, dashes."""
    return [
        (_COLOURS[i % len(_COLOURS)], _DASHES[i // len(_COLOURS) % len(_DASHES)])
        for i in range(count)
    ]


def _ranked(
    simulation: Simulation, said: Sequence[str], values: Sequence[float], *, most: bool
) -> str:
    """Say a figure of each policy; of many the best and the worst."""
    names = [f"{policy} {text}" for policy, text in zip(simulation.policies, said, strict=True)]
    if len(names) <= _NAMED:
        return ", ".join(names)
    order = sorted(range(len(names)), key=lambda i: values[i], reverse=most)
    return f"best {names[order[0]]}, worst {names[order[-1]]}"


def _head(simulation: Simulation, title: str, note: str, *, pooled: bool = False) -> Iterator[str]:
    yield text(16, 26, title, size=15)
    name = f"{simulation.metadata.name}, " if simulation.metadata.name else ""
    traces = plural(len(simulation.traces), "trace")
    several = "" if len(simulation.traces) == 1 else "jobs of " if pooled else "mean of "
    yield text(16, 46, f"{name}{several}{traces}; {note}", fill=PALE)


def _keys(keys: Sequence[tuple[str, str]], top: float) -> Iterator[str]:
    """What the colours mean, in a row."""
    x = 16.0
    for word, colour in keys:
        yield f'<rect x="{x:.1f}" y="{top:.1f}" width="11" height="11" fill="{colour}"/>'
        yield text(x + 15, top + 10, word)
        x += 15 + len(word) * LETTER + 16
