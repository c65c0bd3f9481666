"""A night of cron: runs one after the other on a cluster that changes, some of them killed."""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from kantopt.planning.repeated import read_last_plan
from scripts.bench.night_cluster import NightCluster, arrivals, moment
from scripts.bench.process import environment

EVERY_MINUTES = 15.0
LATER_MINUTES = 4.0
"""From the snapshot to the moment when somebody follows the plan: pods come and go meanwhile."""
_PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Night:
    """How a night goes."""

    seed: int = 0
    nodes: int = 24
    snapshots: int = 50
    max_moves: int = 8
    """Most pods that one run may move."""
    killed: float = 1 / 3
    """Share of the runs that are killed at a random moment."""
    time_limit: float = 5.0
    """Of each run, in seconds."""


@dataclass(frozen=True, slots=True)
class Fragments:
    """How fragmented a cluster is."""

    nodes: int
    """Nodes partly used."""
    gpus: int
    """GPUs free on them."""
    slots: int
    """Whole nodes that are missing though enough GPUs are free."""
    pending: int
    """Pods that wait."""

    @classmethod
    def of(cls, cluster: NightCluster) -> Fragments:
        """Look at a cluster."""
        return cls(cluster.fragmented(), cluster.stranded(), cluster.slots(), cluster.pending())


@dataclass(frozen=True, slots=True)
class Watch:
    """One snapshot of the night and the run on it."""

    number: int
    at: str
    tended: Fragments
    """As the run found it, after all the runs before."""
    left_alone: Fragments
    """As it would be without any run."""
    killed_at: float | None
    """Seconds after which the run was killed; ``None``: it was not."""
    exit_code: int
    planned: int
    """Moves of the plan."""
    cut: int
    """Steps that could not be taken any more when the plan was followed."""
    moved: int
    """Moves made."""
    faults: tuple[str, ...]
    """What should not have happened."""

    @property
    def lower(self) -> bool:
        """Whether the cluster is less fragmented than if nobody had tended to it."""
        return (self.tended.nodes, self.tended.gpus) < (self.left_alone.nodes, self.left_alone.gpus)


def run_night(night: Night, folder: Path, command: Sequence[str]) -> Iterator[Watch]:
    """Go through a night, snapshot by snapshot.

    Parameters
    ----------
    night
        How it goes.
    folder
        Where the files of the runs lie.
    command
        What follows ``kantopt`` in each run, without the files and the options of cron.
    """
    coming = arrivals(night.seed, night.nodes, night.snapshots * EVERY_MINUTES)
    tended = NightCluster(night.nodes, coming)
    alone = NightCluster(night.nodes, coming)
    rng = random.Random(night.seed)
    # Runs still to be killed: one that ends before its moment is made up for later.
    owed = math.ceil(night.killed * night.snapshots)
    files = _Files(folder)
    shortest = 1.0
    for number in range(night.snapshots):
        minute = number * EVERY_MINUTES
        for cluster in (tended, alone):
            cluster.advance(minute)
        found = Fragments.of(tended), Fragments.of(alone)
        files.snapshot.write_text(json.dumps(tended.kubectl()), encoding="utf-8")
        before = files.kept()
        chosen = rng.random() < owed / (night.snapshots - number)
        kill_at = rng.uniform(0.0, shortest) if chosen else None
        began = time.monotonic()
        arguments = [*command, *files.options(), "--time-limit", f"{night.time_limit}s"]
        code = _run(arguments, moment(minute), kill_at)
        if code == 0:
            shortest = 0.9 * (time.monotonic() - began)
        faults = [*files.broken(), *_changed(before, files.kept(), code)]
        for cluster in (tended, alone):
            cluster.advance(minute + LATER_MINUTES)
        cut = moved = planned = 0
        if code == 0:
            planned, cut, moved, wrong = _follow(tended, files, minute, night)
            faults += wrong
        elif kill_at is None:
            faults.append(f"exit code {code}")
        killed_at = kill_at if code == -signal.SIGKILL else None
        owed -= killed_at is not None
        yield Watch(
            number, moment(minute), *found, killed_at, code, planned, cut, moved, tuple(faults)
        )


def _follow(
    tended: NightCluster, files: _Files, minute: float, night: Night
) -> tuple[int, int, int, list[str]]:
    """Guard the plan and do what is left of it."""
    later = minute + LATER_MINUTES
    files.today.write_text(json.dumps(tended.kubectl()), encoding="utf-8")
    guard = ["verify", "--against", str(files.today), str(files.plan), "-o", "json"]
    code = _run([*guard, "-O", str(files.rest), "-q"], moment(later), None)
    if code not in (0, 12):
        return 0, 0, 0, [f"verify --against: exit code {code}"]
    plan, rest = read_last_plan(str(files.plan)).plan, read_last_plan(str(files.rest)).plan
    if plan is None or rest is None:
        return 0, 0, 0, ["no plan that can be read"]
    faults = [] if (code == 12) is bool(rest.cut) else [f"exit code {code} at {len(rest.cut)} cut"]
    planned = plan.summary.moved_pods
    if planned > night.max_moves:
        faults.append(f"{planned} of {night.max_moves} moves planned")
    try:
        moved = tended.follow(rest)
    except ValueError as error:
        return planned, len(rest.cut), 0, [*faults, str(error)]
    return planned, len(rest.cut), moved, faults


class _Files:
    """The files of the runs."""

    def __init__(self, folder: Path) -> None:
        self.snapshot = folder / "cluster.json"
        self.today = folder / "today.json"
        self.plan = folder / "plan.json"
        self.rest = folder / "rest.json"
        self.last = folder / "last.json"
        self.metrics = folder / "kantopt.prom"
        self.lock = folder / "run.lock"

    def options(self) -> list[str]:
        """Files and options of each run."""
        return [
            *(str(self.snapshot), "-O", str(self.plan), "-o", "json", "-q"),
            *("--lock-file", str(self.lock), "--max-snapshot-age", "15m"),
            *("--last-plan", str(self.last), "--metrics-file", str(self.metrics)),
        ]

    def kept(self) -> tuple[bytes | None, ...]:
        """Return what the files hold that a run leaves behind."""
        paths = (self.plan, self.last, self.metrics)
        return tuple(path.read_bytes() if path.exists() else None for path in paths)

    def broken(self) -> Iterator[str]:
        """Find files that are not whole."""
        for path in (self.plan, self.last):
            if path.exists() and read_last_plan(str(path)).plan is None:
                yield f"{path.name} is broken"
        if self.metrics.exists():
            text = self.metrics.read_text(encoding="utf-8")
            whole = text.endswith("\n") and "kantopt_last_run_timestamp_seconds" in text
            if not whole:
                yield f"{self.metrics.name} is broken"


def _changed(
    before: Sequence[bytes | None], after: Sequence[bytes | None], code: int
) -> Iterator[str]:
    """A run that came to its end has written its files."""
    if code == 0 and before[2] == after[2]:
        yield "the metrics are those of the run before"


def _run(arguments: Sequence[str], now: str, kill_at: float | None) -> int:
    """Run kantopt at a moment of the night; kill it after some seconds, if it is still there."""
    process = subprocess.Popen(
        [sys.executable, "-m", "kantopt", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**environment(), "KANTOPT_NOW": now},
        start_new_session=True,
    )
    try:
        with contextlib.suppress(subprocess.TimeoutExpired):
            return process.wait(_PATIENCE_SECONDS if kill_at is None else kill_at)
        process.kill()
        return process.wait()
    finally:
        # Its solver, if it has one, sees the end of its parent a moment later.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
