"""A run that is asked to quit says nothing of what that breaks on the way."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from kantopt.cli.endings import run

SIGNALS = [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]


@pytest.mark.parametrize(("number", "code"), SIGNALS)
def test_a_library_that_a_signal_stops_from_loading_is_no_fault(
    capsys: pytest.CaptureFixture[str], number: int, code: int
) -> None:
    """Compiled modules say of whatever ends their loading that it has failed, and not why."""

    def loads(_: list[str]) -> int:
        with contextlib.suppress(BaseException):  # as they do
            os.kill(os.getpid(), number)
        raise ImportError("initialization failed")

    assert run([], loads) == code
    assert capsys.readouterr().err == ""


def test_a_fault_is_one_where_nobody_asked_to_quit(capsys: pytest.CaptureFixture[str]) -> None:
    def loads(_: list[str]) -> int:
        raise ImportError("initialization failed")

    assert run([], lambda _: (_ for _ in ()).throw(KeyboardInterrupt)) == 130
    assert run([], loads) == 1
    assert "ImportError: initialization failed" in capsys.readouterr().err
