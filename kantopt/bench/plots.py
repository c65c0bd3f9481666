"""SVG plots of a benchmark; needs matplotlib, the optional extra ``plot``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kantopt.bench.profiles import (
    TIMES_SECONDS,
    Best,
    Profile,
    placement_profiles,
    proof_profiles,
    setting_name,
)
from kantopt.bench.row import Row
from kantopt.errors import CannotCreateError, UsageError

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
        for what, name in (("wall_seconds", "seconds"), ("peak_mib", "MiB")):
            paths.append(_sizes(pyplot, folder / f"{suite}-{name.lower()}.svg", rows, what, name))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise CannotCreateError(f"{folder}: cannot be written: {reason}") from None
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
        message = "--plot needs matplotlib, which is not installed (pip install 'kantopt[plot]')"
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
    figure, axes = pyplot.subplots(figsize=(8, 5))
    settings: dict[str, list[tuple[int, float]]] = {}
    for row in rows:
        value = getattr(row, what)
        if value is not None:
            points = settings.setdefault(setting_name(row), [])
            points.append((row.size["nodes"], float(value)))
    for setting, points in settings.items():
        axes.plot(*zip(*sorted(points), strict=True), "o", alpha=0.6, label=setting)
    axes.set(xlabel="nodes", ylabel=name, xscale="log", yscale="log")
    return _saved(pyplot, figure, axes, path)


def _saved(pyplot: Any, figure: Any, axes: Any, path: Path) -> Path:
    axes.grid(alpha=0.3)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    return path
