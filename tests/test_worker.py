"""A worker: it is there, sends, and is gone, however it ends."""

from __future__ import annotations

import os
import signal
import time
from multiprocessing.connection import Connection

import pytest

from kantopt.worker import Worker, fault_words
from tests.processes import children


def waits(_: Connection) -> None:
    time.sleep(60)


def ended(worker: Worker) -> str:
    """How a worker whose line is closed has ended."""
    assert worker.line.poll(30.0)
    with pytest.raises(EOFError):
        worker.line.recv()
    return worker.ending()


def test_what_it_sends_arrives_and_at_the_end_it_is_gone() -> None:
    before = children()
    with Worker(lambda line: line.send(6 * 7)) as worker:
        assert worker.pid in children()
        assert worker.line.recv() == 42
        assert ended(worker) == "exit code 0"
    assert children() == before


def test_one_at_work_is_ended_and_leaves_nothing() -> None:
    before = children()
    with Worker(waits) as worker:
        pass
    assert worker.code == -signal.SIGKILL
    assert children() == before
    worker.end()  # once more is no harm


def test_a_fault_is_an_exit_code_and_never_goes_on_as_the_parent(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fails(_: Connection) -> None:
        raise SystemExit("on its way out")

    parent = os.getpid()
    with Worker(fails) as worker:
        assert os.getpid() == parent
        assert ended(worker) == "exit code 1"
    assert "on its way out" in capfd.readouterr().err


def test_last_words_are_told_where_it_is_to_be_quiet(capfd: pytest.CaptureFixture[str]) -> None:
    def aborts(_: Connection) -> None:
        os.write(1, b"a solver's name\n")
        os.write(2, b"check   failed\nand a trace\n")
        os.kill(os.getpid(), signal.SIGKILL)

    with Worker(aborts, quiet=True) as worker:
        assert ended(worker) == "signal SIGKILL: check failed"
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("number", "ends"), [(signal.SIGTERM, True), (signal.SIGINT, False), (signal.SIGHUP, False)]
)
def test_only_sigterm_ends_it(number: signal.Signals, ends: bool) -> None:
    with Worker(waits) as worker:
        os.kill(worker.pid, number)
        worker.wait(30.0 if ends else 0.3)
        assert worker.code == (-number if ends else None)


def test_it_may_have_workers_and_all_end_with_the_first_of_them() -> None:
    def has_one(line: Connection) -> None:
        with Worker(waits) as inner:
            line.send(inner.pid)
            time.sleep(60)

    with Worker(has_one) as worker:
        inner = worker.line.recv()
        assert os.path.exists(f"/proc/{inner}")
    for _ in range(100):
        if not _runs(inner):
            return
        time.sleep(0.1)
    raise AssertionError("it goes on without its parent")


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie that somebody else has to wait for."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rsplit(b")", 1)[1].split()[0] != b"Z"
    except FileNotFoundError:
        return False


def test_a_fault_in_words_is_one_short_line() -> None:
    try:
        raise ValueError("much\nto say " * 100)
    except ValueError as error:
        words = fault_words(error)
    assert words.startswith("ValueError: much to say")
    assert words.endswith(")")
    assert "test_worker.py:" in words
    assert len(words) < 260
