"""A small cluster as files, and ways to run the command line."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from kantopt import clock
from kantopt.cli.endings import run

ROOT = Path(__file__).resolve().parents[2]

SNAPSHOT = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {name: prod-a, capturedAt: "2026-09-01T03:00:00Z"}
topology: {levels: [{name: rack, nodeLabel: rack}]}
priorityClasses: [{name: prod, value: 1000}, {name: batch, value: 10}]
nodes:
- {name: gpu-001, labels: {rack: r1}, allocatable: {cpu: "96", nvidia.com/gpu: 8}}
- {name: gpu-002, labels: {rack: r1}, allocatable: {cpu: "96", nvidia.com/gpu: 8}}
- {name: gpu-003, labels: {rack: r2}, allocatable: {cpu: "96", nvidia.com/gpu: 8}}
jobs:
- name: batch-1
  namespace: team-b
  priorityClassName: batch
  movable: false
  podSets:
  - name: worker
    count: 2
    minCount: 0
    requests: {cpu: 4, nvidia.com/gpu: 4}
    assignments:
    - {node: gpu-001, count: 1, pods: [{name: b-0, uid: u0}]}
    - {node: gpu-003, count: 1, pods: [{name: b-1, uid: u1}]}
podDisruptionBudgets:
- {name: batch, namespace: team-b, selector: {}, disruptionsAllowed: 2}
"""

JOBS = """\
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- name: llm-8
  namespace: team-a
  priorityClassName: prod
  creationTime: "2026-09-01T01:30:00Z"
  podSets:
  - {name: worker, count: 2, requests: {cpu: 12, nvidia.com/gpu: 8}}
"""

HUGE = """\
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- name: huge
  priority: 1000
  podSets:
  - {count: 4, requests: {nvidia.com/gpu: 8}}
"""

NO_JOBS = "apiVersion: kantopt/v1alpha1\nkind: JobList\n"


@dataclass(frozen=True)
class Outcome:
    """What a run left behind."""

    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents; it is the working folder."""
    for name, text in (
        ("snap.yaml", SNAPSHOT),
        ("jobs.yaml", JOBS),
        ("huge.yaml", HUGE),
        ("none.yaml", NO_JOBS),
    ):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run the command line in this process, as if it had just begun."""

    def call(*arguments: str) -> Outcome:
        monkeypatch.setattr(clock, "_START", time.monotonic())
        code = run(arguments)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


def environment(**more: str) -> dict[str, str]:
    """Environment of a process of its own, without colours of this one."""
    kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM", "COLUMNS")}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm", **more}


def start(
    arguments: Sequence[str], *, stdout: int | IO[Any] = subprocess.PIPE, **more: str
) -> subprocess.Popen[str]:
    """Start the command line in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "kantopt", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**more),
    )


def finish(process: subprocess.Popen[str]) -> Outcome:
    """Wait for a process and gather what it left."""
    out, err = process.communicate(timeout=120)
    return Outcome(process.returncode, out or "", err)
