"""What is in use, what a cgroup leaves, and what a limit ends."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from kantopt import memory
from kantopt.clock import Deadline, Stop
from kantopt.memory import MemoryLimit, cgroup_limit, hold_more, resident_bytes

MIB = 2**20
OURS = os.getpid()
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not tell what is in use"
)


def test_memory_that_is_written_to_counts() -> None:
    before = resident_bytes(OURS)
    kept = bytearray(b"x") * (64 * MIB)
    assert resident_bytes(OURS) >= before + 60 * MIB
    assert len(kept) == 64 * MIB


def test_a_process_that_is_gone_holds_nothing() -> None:
    assert resident_bytes(2**22 + 1) == 0
    assert not hold_more(0, 2**22 + 1)


def test_pages_that_a_fork_shares_count_once() -> None:
    kept = bytearray(b"x") * (200 * MIB)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=time.sleep, args=(60,), daemon=True)
    process.start()
    try:
        assert process.pid is not None
        both = resident_bytes(OURS) + resident_bytes(process.pid)
        assert both > 2 * len(kept)
        assert not hold_more(both - len(kept) // 2, OURS, process.pid)
        assert hold_more(len(kept), OURS, process.pid)
    finally:
        process.kill()
        process.join()


def test_near_the_limit_every_deadline_is_over() -> None:
    far = Deadline(None, stop=Stop(memory=MemoryLimit(2**50)))
    assert far.remaining() > 0
    near = Deadline(None, stop=Stop(memory=MemoryLimit(resident_bytes(OURS))))
    assert near.over()
    assert near.less(5.0).over()


def test_what_was_reached_stays_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = MemoryLimit(8 * MIB)
    assert limit.reached()
    monkeypatch.setattr(memory, "resident_bytes", lambda _: 0)
    time.sleep(2 * memory.PERIOD)
    assert limit.reached()


def grow(limit: MemoryLimit, parent: int) -> None:
    limit.leave_when_reached(parent)
    kept = []
    while True:
        kept.append(bytearray(b"x") * MIB)
        time.sleep(0.001)


def test_a_process_leaves_before_it_and_its_parent_hold_too_much() -> None:
    limit = MemoryLimit(resident_bytes(OURS) + 400 * MIB)
    process = multiprocessing.get_context("fork").Process(target=grow, args=(limit, OURS))
    process.start()
    process.join(60)
    assert process.exitcode == memory.ENDED


def put(root: Path, group: str, **files: str) -> None:
    folder = root / "sys/fs/cgroup" / group
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(f"{text}\n")


def member(root: Path, text: str) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(text)


def left_mib(root: Path) -> int | None:
    limit = cgroup_limit(root)
    if limit is None:
        return None
    assert limit.source == "cgroup"
    return round((limit.bytes - resident_bytes(OURS)) / MIB)


def test_the_tightest_of_all_groups_counts_less_what_others_hold(tmp_path: Path) -> None:
    member(tmp_path, "0::/slice/job\n")
    stat = f"anon 1\ninactive_file {100 * MIB}"
    put(tmp_path, "slice/job", memory__max="max", memory__current="0", memory__stat=stat)
    used, most = str(1500 * MIB), str(2048 * MIB)
    put(tmp_path, "slice", memory__max=most, memory__current=used, memory__stat=stat)
    assert left_mib(tmp_path) == 2048 - 1500 + 100


def test_version_1_is_read_too_and_the_path_may_be_that_of_the_host(tmp_path: Path) -> None:
    member(tmp_path, "5:cpu:/x\n4:memory:/docker/0123\n0::/\n")
    put(
        tmp_path,
        "memory",
        memory__limit_in_bytes=str(512 * MIB),
        memory__usage_in_bytes=str(112 * MIB),
        memory__stat="cache 5\ntotal_inactive_file 0",
    )
    assert left_mib(tmp_path) == 400


@pytest.mark.parametrize("most", ["max", str(2**63 - 4096)])
def test_no_limit_is_no_limit(tmp_path: Path, most: str) -> None:
    member(tmp_path, "4:memory:/a\n0::/a\n")
    put(tmp_path, "a", memory__max=most)
    put(tmp_path, "memory/a", memory__limit_in_bytes=most)
    assert left_mib(tmp_path) is None


def test_a_system_without_cgroups_sets_no_limit(tmp_path: Path) -> None:
    assert cgroup_limit(tmp_path) is None


def test_a_limit_says_whose_it_is() -> None:
    assert str(MemoryLimit(4 * 2**30)) == "the memory limit of 4096 MiB"
    assert str(MemoryLimit(MIB, "cgroup")) == "the memory limit of the cgroup of 1 MiB"
