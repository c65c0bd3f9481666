"""SVG plots of a benchmark; needs matplotlib, the extra ``plot`` of a checkout."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import Any

from kantopt.errors import CannotCreateError, UsageError, said_of
from scripts.bench.profiles import (
    TIMES_SECONDS,
    Best,
    Profile,
    placement_profiles,
    proof_profiles,
    setting_name,
)
from scripts.bench.row import Row

COSTS = (
    ("wall_seconds", "seconds", "seconds, whole process"),
    ("first_seconds", "first", "seconds to the first verified plan"),
    ("peak_mib", "mib", "peak memory, MiB"),
)
"""Figures of a row that are drawn against size: field, name of the file, label."""
_STEPS = tuple(second / 10 for second in range(1, int(10 * TIMES_SECONDS[-1]) + 1))
_PODS = tuple(range(21))


def plot(rows: Sequence[Row], best: Best, suite: str, folder: Path) -> list[Path]:
    """Draw both performance profiles and cost against size.

    Raises
    ------
    UsageError
        If matplotlib is missing.
    CannotCreateError
        If the folder cannot be written to.
    """
    pyplot = _pyplot()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        paths = [
            _steps(
                pyplot,
                folder / f"{suite}-proof.svg",
                (_STEPS, proof_profiles(rows, _STEPS)),
                ("seconds", "instances proved in every tier"),
                log=True,
            ),
            _steps(
                pyplot,
                folder / f"{suite}-placement.svg",
                (_PODS, placement_profiles(rows, best, _PODS)),
                ("pods from the best known in the lowest tier", "instances"),
                log=False,
            ),
        ]
        for what, stem, name in COSTS:
            paths.append(_sizes(pyplot, folder / f"{suite}-{stem}.svg", rows, what, name))
    except OSError as error:
        raise CannotCreateError(f"{folder}: cannot be written: {said_of(error)}") from None
    return paths


def check_plotting() -> None:
    """Fail before hours of runs and not after them.

    Raises
    ------
    UsageError
        If matplotlib is missing.
    """
    _pyplot()


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        message = "--plot needs matplotlib, which is not installed (pip install matplotlib)"
        raise UsageError(message) from None
    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "kantopt"  # the same plot is the same file
    from matplotlib import pyplot

    return pyplot


def _steps(
    pyplot: Any,
    path: Path,
    data: tuple[Sequence[float], Sequence[Profile]],
    labels: tuple[str, str],
    *,
    log: bool,
) -> Path:
    marks, profiles = data
    figure, axes = pyplot.subplots(figsize=(8, 5))
    for profile in profiles:
        shares = [100 * share for share in profile.shares]
        axes.step(marks, shares, where="post", label=profile.setting)
    if log:
        axes.set_xscale("log")
    axes.set(xlabel=labels[0], ylabel=f"{labels[1]}, %", ylim=(0, 102))
    return _saved(pyplot, figure, axes, path)


def _sizes(pyplot: Any, path: Path, rows: Sequence[Row], what: str, name: str) -> Path:
    """Cost against size, and how n log n would have grown to the cost of the largest.

    Of a cost that grows no faster no point lies below that line.
    """
    figure, axes = pyplot.subplots(figsize=(8, 5))
    series = cost_by_size(rows, what)
    for label, points in series.items():
        axes.plot(*zip(*points, strict=True), "o", alpha=0.6, label=label)
    if line := guide([point for points in series.values() for point in points]):
        axes.plot(*zip(*line, strict=True), "k--", lw=1, label="n log n through the largest")
    axes.set(xlabel="n: nodes + jobs", ylabel=name, xscale="log", yscale="log")
    return _saved(pyplot, figure, axes, path)


def cost_by_size(rows: Sequence[Row], what: str) -> dict[str, list[tuple[int, float]]]:
    """Return a figure of rows by nodes and jobs, for each setting and kind of instance."""
    series: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        value = getattr(row, what)
        if value is not None:
            label = " ".join(filter(None, (setting_name(row), row.parameters.get("kind"))))
            size = row.size["nodes"] + row.size["jobs"]
            series.setdefault(label, []).append((size, float(value)))
    return {label: sorted(points) for label, points in series.items()}


def guide(points: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
    """Return the curve ``c n log n`` from the smallest size to the dearest of the largest."""
    sizes = sorted({size for size, _ in points})
    if len(sizes) < 2 or sizes[0] < 2:
        return []
    largest = sizes[-1]
    cost = max(value for size, value in points if size == largest)
    scale = cost / (largest * log(largest))
    between = [round(sizes[0] * (largest / sizes[0]) ** (k / 40)) for k in range(41)]
    return [(n, scale * n * log(n)) for n in between]


def _saved(pyplot: Any, figure: Any, axes: Any, path: Path) -> Path:
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path
