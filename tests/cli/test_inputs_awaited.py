"""Inputs that do not come, or do not end: a run ends all the same, with a code that says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kantopt.schema import inputs
from tests.cli.conftest import Cli, finish, start

SEARCHES = [
    ("plan", "pipe", "jobs.yaml"),
    ("plan", "snap.yaml", "-m", "pipe.yaml"),
    ("defrag", "pipe"),
    ("certify", "pipe"),
    ("explain", "pipe", "jobs.yaml", "--job", "llm-8"),
]


@pytest.fixture(autouse=True)
def _pipes(files: Path) -> None:
    """Pipes that nobody writes to, beside the usual files."""
    os.mkfifo("pipe")
    os.mkfifo("pipe.yaml")


@pytest.mark.parametrize("arguments", SEARCHES, ids=lambda a: " ".join(a))
def test_an_input_that_does_not_come_ends_a_run_at_its_time_limit(
    cli: Cli, arguments: tuple[str, ...]
) -> None:
    done = cli(*arguments, "--time-limit", "300ms")
    assert done.code == 66
    assert done.err.endswith(": it did not come within the time limit\n")
    assert done.out == ""


@pytest.mark.parametrize(
    "arguments", [*SEARCHES, ("verify", "pipe"), ("metrics", "pipe")], ids=lambda a: " ".join(a)
)
def test_the_first_signal_ends_the_wait_for_an_input(arguments: tuple[str, ...]) -> None:
    process = start(arguments)
    while _threads(process) < 2 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    done = finish(process)
    assert (done.code, done.out) == (143, "")


def _threads(process: subprocess.Popen[str]) -> int:
    """Threads of a process: of two, one waits for the input."""
    return len(os.listdir(f"/proc/{process.pid}/task"))


def test_standard_input_that_stays_open_is_not_waited_for_for_ever() -> None:
    reading, writing = os.pipe()
    process = subprocess.Popen(
        ["python3", "-c", "import time; time.sleep(600)"], stdin=reading, stdout=subprocess.DEVNULL
    )
    try:
        done = _with_stdin(reading, "plan", "-", "jobs.yaml", "--time-limit", "1s")
        assert done[0] == 66
        assert "<stdin>: it did not come within the time limit" in done[1]
    finally:
        process.kill()
        process.wait()
        os.close(writing)


def _with_stdin(descriptor: int, *arguments: str) -> tuple[int, str]:
    import sys

    from tests.cli.conftest import environment

    done = subprocess.run(
        [sys.executable, "-m", "kantopt", *arguments],
        stdin=descriptor,
        capture_output=True,
        text=True,
        env=environment(),
        timeout=120,
        check=False,
    )
    return done.returncode, done.stderr


def test_an_input_that_comes_in_pieces_is_read_to_its_end(cli: Cli) -> None:
    text = Path("snap.yaml").read_text()
    if os.fork() == 0:
        with open("pipe", "w") as pipe:
            for i in range(0, len(text), 200):
                pipe.write(text[i : i + 200])
                pipe.flush()
                time.sleep(0.01)
        os._exit(0)
    assert cli("plan", "pipe", "jobs.yaml", "--engine", "fast").code == 0
    os.wait()


def test_an_input_without_end_is_refused_at_a_limit_that_is_told(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "MAX_BYTES", 10_000_000)
    done = cli("verify", "/dev/zero")
    assert done.code == 65
    assert "/dev/zero: found more than" in done.err


@pytest.mark.parametrize("target", ["pipe.yaml", "/dev/zero", "secret.yaml", "mixed"])
def test_a_document_that_embeds_a_model_opens_no_file(cli: Cli, target: str) -> None:
    Path("secret.yaml").write_text("root:x:0:0\n")
    assert cli("plan", "snap.yaml", "jobs.yaml", "--engine", "fast", "-O", "plan.json").code == 0
    assert cli("certify", "snap.yaml", "jobs.yaml", "-O", "certificate.json").code in (0, 10, 11)
    for name in ("plan.json", "certificate.json"):
        document: dict[str, Any] = json.loads(Path(name).read_text())
        document["model"]["extends"] = target
        Path(name).write_text(json.dumps(document))
    for arguments in (
        ("verify", "snap.yaml", "jobs.yaml", "plan.json"),
        ("verify", "--against", "snap.yaml", "plan.json"),
        ("metrics", "snap.yaml", "jobs.yaml", "plan.json"),
        ("verify", "--certificate", "certificate.json", "snap.yaml", "jobs.yaml"),
    ):
        done = cli(*arguments)
        assert done.code == 65 or "--certificate" in arguments, arguments
        assert done.code in (12, 65)
        assert "model.extends" in done.err or "was changed" in done.out
        assert "root" not in done.err + done.out


@pytest.mark.parametrize("option", ["-O", "--metrics-file", "--last-plan"])
def test_an_output_that_nobody_reads_ends_a_run_at_its_time_limit(cli: Cli, option: str) -> None:
    done = cli("plan", "snap.yaml", "jobs.yaml", option, "pipe", "--time-limit", "300ms")
    assert done.code == 74
    assert done.err.endswith("pipe: writing failed: nobody reads it\n")
