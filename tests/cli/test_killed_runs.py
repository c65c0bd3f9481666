"""A run killed at any moment leaves the plan and the figures of the run before it whole."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kantopt import clock
from kantopt.cli import endings
from kantopt.planning.repeated import read_last_plan
from tests.cli.conftest import SNAPSHOT, environment

OPTIONS = (
    *("plan", "snap.yaml", "jobs.yaml", "--engine", "fast", "-q", "-O", "plan.json"),
    *("--time-limit", "1s"),
    *("--last-plan", "last.json", "--metrics-file", "kantopt.prom", "--lock-file", "run.lock"),
)
CALLS = ("fsync", "replace", "mkstemp")


@pytest.fixture(autouse=True)
def _in_folder(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of these run in the folder."""
    monkeypatch.setenv("KANTOPT_NOW", "2026-09-01T03:05:00Z")
    monkeypatch.setattr(clock, "_START", clock._START)


def run() -> int:
    """Run in this process, as if it had just begun."""
    clock._START = time.monotonic()
    return endings.run(OPTIONS)


def draw_snapshot(number: int) -> None:
    """Write a snapshot that differs from the others, so that there is something to plan."""
    text = SNAPSHOT.replace("{cpu: 4,", f"{{cpu: {number},")
    Path("snap.yaml").write_text(text)


def assert_whole() -> str:
    """Check that every file that runs leave behind is whole; return the last plan's identity."""
    for name in ("last.json", "plan.json"):
        found = read_last_plan(name)
        assert found.plan is not None, found.note
    text = Path("kantopt.prom").read_text()
    assert text.startswith("# HELP ")
    assert text.endswith("\n")
    assert "\nkantopt_plan_reused " in text
    plan = read_last_plan("last.json").plan
    assert plan is not None
    return plan.metadata.plan_id


def killed_in(call: str, number: int) -> bool:
    """Run in a forked process that is killed within the n-th call; whether it came to that."""
    pid = os.fork()
    if pid == 0:
        module = sys.modules["tempfile"] if call == "mkstemp" else os
        original, calls = getattr(module, call), [0]

        def instead(*arguments: object, **more: object) -> object:
            calls[0] += 1
            if calls[0] == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **more)

        setattr(module, call, instead)
        os._exit(run())
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


@pytest.mark.parametrize("call", CALLS)
def test_killed_at_each_call_that_writes(call: str) -> None:
    assert run() == 0
    number = 0
    seen = {assert_whole()}
    while True:
        number += 1
        draw_snapshot(4 + number)
        killed = killed_in(call, number)
        seen.add(assert_whole())
        if not killed:
            break
    assert number == 4, "three files are written"
    assert len(seen) > 1
    assert run() == 0, "the lock is free again"
    assert assert_whole()


def test_killed_at_random_moments() -> None:
    assert run() == 0
    rng = random.Random(4)
    killed = 0
    for number in range(4):
        draw_snapshot(20 + number)
        process = subprocess.Popen(
            [sys.executable, "-m", "kantopt", *OPTIONS],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment(KANTOPT_NOW="2026-09-01T03:05:00Z"),
        )
        time.sleep(rng.uniform(0.2, 1.5))
        process.kill()
        killed += process.wait() == -signal.SIGKILL
        assert_whole()
    assert killed
    assert run() == 0
    assert json.loads(Path("last.json").read_text())["kind"] == "Plan"
