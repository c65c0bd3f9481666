"""Answers that go to standard output: all of them, or an exit code that says they did not."""

from __future__ import annotations

import io
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli, finish, start

UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"])


@UNBUFFERED
def test_a_stdout_that_takes_only_a_part_is_74(unbuffered: str, tmp_path: Path) -> None:
    """No file may be longer than a block here: the first write is short, the next fails."""
    whole = finish(start(["schema", "plan"], PYTHONUNBUFFERED=unbuffered))
    assert (whole.code, len(whole.out) > 20_000) == (0, True)
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (tmp_path / "cut.json").open("w") as file:
        process = start(["schema", "plan"], stdout=file, PYTHONUNBUFFERED=unbuffered)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (4096, limit[1]))
        done = finish(process)
    assert done.code == 74
    assert done.err == "kantopt: error: standard output: writing failed: file too large\n"


def test_a_stdout_that_takes_little_at_a_time_gets_all(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pipe does without a buffer, where signals come between."""
    told = bytearray()

    class Narrow(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any) -> int:
            told.extend(data[:5])
            return len(data[:5])

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Narrow(), write_through=True))
    assert cli("schema", "plan").code == 0
    assert json.loads(told)
    monkeypatch.setattr(Narrow, "write", lambda *_: None)
    assert cli("schema", "plan").code == 74


def test_a_closed_stdout_is_74(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    assert cli("models").code == 74


def test_a_stdout_without_bytes_is_written_as_text(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = io.StringIO()
    monkeypatch.setattr(sys, "stdout", text)
    assert cli("models").code == 0
    assert text.getvalue().startswith("MODEL")


@UNBUFFERED
@pytest.mark.parametrize("arguments", [["schema", "plan"], ["models"], ["--help"], ["plan", "-h"]])
def test_a_reader_that_goes_away_is_141_and_silent(arguments: list[str], unbuffered: str) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = start(arguments, stdout=writing, PYTHONUNBUFFERED=unbuffered)
    os.close(writing)
    done = finish(process)
    assert (done.code, done.err) == (141, "")


def test_a_reader_that_takes_one_line_gets_it() -> None:
    process = start(["schema", "plan"])
    assert process.stdout is not None
    assert process.stdout.readline() == "{\n"
    process.stdout.close()
    assert process.wait(60) in (0, 141)
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
