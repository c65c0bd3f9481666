"""How large jobs of training clusters are: published distributions, or a plain one of our own."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from kantopt.errors import BadDataError, MissingInputError, Problem, said_of
from kantopt.simulate.workload.sizes import Sizes

SUBMITTED = Sizes((8, 16, 32, 64, 128, 256, 512), (60, 12, 10, 8, 5, 3, 2))
"""Gangs as submitted, where no data are given: ours, no trace."""
RUNNING = Sizes((1, 2, 4, 8, 16, 32, 64, 128), (30, 10, 10, 30, 8, 6, 4, 2))
"""Jobs as they run, where no data are given: ours, no trace."""


def read_distribution(path: Path, what: str, cluster: str) -> Sizes:
    """Read a cumulative distribution of the Acme traces: ``what`` is ``jobs`` or ``GPU time``.

    Each vertex counts for its size rounded up to whole GPUs; sizes between two vertices count for
    the upper one.

    Raises
    ------
    MissingInputError, BadDataError
        If there is no such file or distribution.
    """
    start = f"CDF of {what} {cluster} "
    for line in _text(path).splitlines():
        if line.startswith(start):
            pairs = [word.split(":") for word in line.removeprefix(start).split()]
            shares: dict[int, float] = {}
            before = 0.0
            for gpus, percent in pairs:
                size = max(1, round(float(gpus)))
                # Below one GPU are jobs without GPUs; they are no part of this.
                if float(gpus) >= 1:
                    shares[size] = shares.get(size, 0.0) + float(percent) - before
                before = float(percent)
            return Sizes(tuple(shares), tuple(shares.values()))
    raise BadDataError([Problem(str(path), "", "other lines", f"a line {start.strip()}")])


def read_kalos(path: Path) -> list[int]:
    """Read the GPUs of each of the real jobs of Kalos, in order of arrival.

    Raises
    ------
    MissingInputError, BadDataError
        If there is no such file or it is another one.
    """
    rows = csv.DictReader(_text(path).splitlines())
    try:
        return [int(row["gpu_workers"]) * int(float(row["gpu_per_worker"])) for row in rows]
    except (KeyError, ValueError) as error:
        raise BadDataError([Problem(str(path), "", str(error), "GPUs of jobs")]) from None


def read_hosts(path: Path) -> list[tuple[str, str]]:
    """Read the switches above each host of Lingjun: aggregation and leaf, in order of both.

    Raises
    ------
    MissingInputError, BadDataError
        If there is no such file or it is another one.
    """
    rows = csv.DictReader(_text(path).splitlines())
    try:
        # Names of leaf switches repeat below other aggregation switches.
        return sorted((row["PSW"], row["ASW"]) for row in rows)
    except KeyError as error:
        raise BadDataError([Problem(str(path), "", f"no column {error}", "hosts")]) from None


def sizes_of(data: Path | None) -> tuple[Sequence[Sizes], Sizes, str]:
    """Sizes of pending gangs (of several clusters) and of running jobs, and where they are from."""
    if data is None:
        return (SUBMITTED,), RUNNING, "own"
    path = data / "acme" / "gpus_per_job_cdf.txt"
    pending = [read_distribution(path, "jobs", name) for name in ("Seren", "Kalos")]
    running = read_distribution(path, "GPU time", "Seren")
    return [each.from_gpus(8) for each in pending], _jobs_at_a_time(running.from_gpus(1)), "acme"


def _jobs_at_a_time(sizes: Sizes) -> Sizes:
    """Turn shares of GPU time into shares of the jobs that run at one moment."""
    pairs = zip(sizes.gpus, sizes.weights, strict=True)
    return Sizes(sizes.gpus, tuple(weight / gpus for gpus, weight in pairs))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise MissingInputError(f"{path}: {said_of(error)}") from None
