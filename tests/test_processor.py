"""How long work ran, how long it waited for a processor, and when that is worth a word."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kantopt.processor import CpuUse, busy_use, starved_words


def test_it_is_starved_that_had_less_than_two_thirds_of_what_it_would_have_used() -> None:
    assert not CpuUse(6.8, 3.2).starved
    assert CpuUse(6.5, 3.5).starved
    assert CpuUse(5.0, 4.9).starved
    assert not CpuUse(0.0, 0.1).starved  # not worth a word
    assert not CpuUse().starved


def test_what_is_used_adds_up() -> None:
    assert (CpuUse(1.0, 0.5) + CpuUse(2.0, 4.0)) == CpuUse(3.0, 4.5)


def test_the_words_give_both_numbers() -> None:
    assert str(CpuUse(0.52, 7.91)).startswith(
        "starved of CPU: ran 0.5 s and waited 7.9 s for a processor"
    )


def test_words_are_said_of_both_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kantopt.processor.own_use", lambda: CpuUse(2.0, 0.0))
    assert starved_words(CpuUse(1.0, 1.5)) == ()
    (words,) = starved_words(CpuUse(1.0, 4.0))
    assert words.startswith("starved of CPU: ran 3.0 s and waited 4.0 s")


def test_another_with_several_threads_does_not_hide_that_this_one_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kantopt.processor.own_use", lambda: CpuUse(3.0, 4.0))
    (words,) = starved_words(CpuUse(9.0, 1.0))
    assert words.startswith("starved of CPU: ran 3.0 s and waited 4.0 s")


@pytest.mark.skipif(
    not Path("/proc/self/schedstat").exists(), reason="the system does not tell who waited"
)
def test_two_that_share_a_processor_wait_for_each_other() -> None:
    """Work on one processor with another process that takes half of it."""
    one = min(os.sched_getaffinity(0))
    busy = "while True: pass"
    measured = (
        f"import os; os.sched_setaffinity(0, [{one}])\n"
        "from kantopt.processor import own_use\n"
        "before = own_use()\n"
        "while own_use().ran < before.ran + 0.2: pass\n"
        "print(own_use().waited - before.waited)"
    )
    pin = f"import os; os.sched_setaffinity(0, [{one}])\n"
    with subprocess.Popen([sys.executable, "-c", pin + busy]) as other:
        try:
            done = subprocess.run(
                [sys.executable, "-c", measured], capture_output=True, text=True, check=True
            )
        finally:
            other.kill()
    assert float(done.stdout) > 0.01


@pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="the system does not tell",
)
def test_a_process_that_always_had_work_waited_for_what_is_missing() -> None:
    work = "import time\nwhile time.process_time() < 0.2: pass"
    with subprocess.Popen([sys.executable, "-c", work]) as child:
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and can be asked
        used = busy_use(child.pid, 10.0)
        assert busy_use(child.pid, 0.0).waited == 0.0
    assert used.ran >= 0.19
    assert used.waited == pytest.approx(10.0 - used.ran)


@pytest.mark.skipif(
    not Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").exists(),
    reason="the system does not tell",
)
def test_what_works_for_a_process_counts_as_its_own() -> None:
    """One child has ended, the other still runs; the process itself only waits."""
    work = "import time\nwhile time.process_time() < 0.2: pass"
    going = f"{work}\nprint(flush=True); time.sleep(60)"
    parent = (
        "import subprocess, sys\n"
        f"subprocess.run([sys.executable, '-c', {work!r}])\n"
        f"subprocess.run([sys.executable, '-c', {going!r}])"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", parent], stdout=subprocess.PIPE, start_new_session=True
    )
    with child:
        assert child.stdout is not None
        child.stdout.readline()
        used = busy_use(child.pid, 10.0)
        os.killpg(child.pid, signal.SIGKILL)
    assert used.ran >= 0.38


def test_of_a_process_that_is_gone_nothing_is_said() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert busy_use(child.pid, 10.0) == busy_use(None, 10.0) == CpuUse()
