"""A file is written whole or stays what it was."""

from __future__ import annotations

import errno
import os
import signal
import stat
import threading
import time
from pathlib import Path

import pytest

from kantopt.errors import CannotCreateError, InterruptedEarlyError, MissingInputError, WriteError
from kantopt.schema import writing
from kantopt.schema.inputs import patience
from kantopt.schema.writing import write_atomic


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_file_gets_the_bits_that_the_umask_leaves(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_atomic(str(tmp_path / "plan.json"), b"{}")
    finally:
        os.umask(before)
    assert (tmp_path / "plan.json").read_bytes() == b"{}"
    assert mode_of(tmp_path / "plan.json") == 0o640


def test_the_bits_of_an_existing_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")
    path.chmod(0o600)
    write_atomic(str(path), b"new")
    assert path.read_text() == "new"
    assert mode_of(path) == 0o600


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomic(str(tmp_path / "link"), b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


@pytest.mark.parametrize("name", ["none/plan.json", ".", "file/plan.json"])
def test_a_place_that_cannot_hold_a_file_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotCreateError) as refused:
        write_atomic(f"{tmp_path}/{name}", b"")
    assert refused.value.exit_code == 73
    assert str(refused.value).startswith(f"{tmp_path}/{name}: cannot be written: ")


def test_a_folder_without_permission_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    # Patched, because the superuser may write everywhere.
    monkeypatch.setattr("tempfile.mkstemp", refuse)
    with pytest.raises(CannotCreateError, match="permission denied"):
        write_atomic(str(tmp_path / "plan.json"), b"")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_failing_disk_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    def fail(_: int) -> None:
        raise OSError(code, os.strerror(code))

    path = tmp_path / "plan.json"
    path.write_text("old")
    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(WriteError) as failed:
        write_atomic(str(path), b"new")
    assert failed.value.exit_code == 74
    assert os.listdir(tmp_path) == ["plan.json"]
    assert path.read_text() == "old"


def test_an_interrupt_leaves_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomic(str(tmp_path / "plan.json"), b"new")
    assert os.listdir(tmp_path) == []


def test_a_device_is_written_to_and_stays_a_device() -> None:
    write_atomic("/dev/null", b"gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's /dev/full")
def test_a_full_device_is_a_write_error() -> None:
    with pytest.raises(WriteError, match="no space left"):
        write_atomic("/dev/full", b"x")


def test_a_pipe_is_written_to_once_somebody_reads(tmp_path: Path) -> None:
    pipe, data, read = tmp_path / "pipe", bytes(1_000_000), []
    os.mkfifo(pipe)

    def reader() -> None:
        time.sleep(0.2)
        read.append(pipe.read_bytes())

    thread = threading.Thread(target=reader)
    thread.start()
    write_atomic(str(pipe), data)
    thread.join()
    assert read == [data]


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(
    ("ended", "raised"),
    [
        (MissingInputError("late"), WriteError),
        (InterruptedEarlyError(signal.SIGTERM), InterruptedEarlyError),
    ],
)
def test_time_and_signals_end_the_wait_for_a_reader_who_does_not_come(
    tmp_path: Path,
    opened: bool,
    ended: Exception,
    raised: type[Exception],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def end(name: str) -> None:
        raise ended

    monkeypatch.setattr(writing, "_PATIENCE_SECONDS", 0)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) if opened else -1
    with patience(end), pytest.raises(raised, match=r"nobody reads it|SIGTERM"):
        write_atomic(str(pipe), bytes(1_000_000))
    if opened:
        os.close(reader)
