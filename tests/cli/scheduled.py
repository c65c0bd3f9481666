"""What tests of scheduled runs have in common."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest

PLAN = ("plan", "snap.yaml", "jobs.yaml", "--engine", "fast")
KEPT = ("--last-plan", "last.json")
FIGURES = ("--metrics-file", "kantopt.prom")


def at(monkeypatch: pytest.MonkeyPatch, time: str) -> None:
    """Fake the clock."""
    monkeypatch.setenv("KANTOPT_NOW", f"2026-09-01T{time}:00Z")


def solve_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the test fail if anything is planned from now on."""
    monkeypatch.setattr("kantopt.planning.plan.make_plan", lambda *_: pytest.fail("it has planned"))


def terminate_when_planning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a run be told to end as soon as it has read its input and built the question."""
    from kantopt.clock import Stop

    begin = Stop.begin

    def interrupted(self: Stop) -> None:
        begin(self)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Stop, "begin", interrupted)


def figures() -> dict[str, float]:
    """Samples of the metrics file; every line of it is of the text format."""
    samples = {}
    for line in Path("kantopt.prom").read_text().splitlines():
        if line.startswith("# "):
            assert re.fullmatch(r"# (HELP kantopt_\w+ \S.*|TYPE kantopt_\w+ gauge)", line)
        else:
            match = re.fullmatch(r'(kantopt_\w+(?:\{\w+=".*"(?:,\w+=".*")*\})?) ([-+.e\d]+)', line)
            assert match, line
            samples[match[1]] = float(match[2])
    return samples
