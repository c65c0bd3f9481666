"""What a script meets on the way: jobs that cannot be requeued, cancelled, pinned, of an array."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from tests.slurm.cluster import Slurm
from tests.slurm.conftest import started
from tests.slurm.story import begin, follow, interrupt, reservations, script


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    """A Slurm that computes priorities from what jobs have waited and ask for."""
    yield from started(priority="multifactor")


def test_victims_that_cannot_be_requeued_are_cancelled_if_that_is_asked(slurm: Slurm) -> None:
    story = begin(slurm, "--array=7")
    path = script(slurm, "--engine", "fast")
    slurm.run("scontrol", "update", f"JobId={story.victim}", "Requeue=0")
    done = follow(slurm, path)
    assert done.returncode == 3
    assert f"job {story.victim} cannot be requeued" in done.stdout
    done = follow(slurm, path, "--cancel", "--exclude", "--no-reservation")
    assert done.returncode == 0, done.stdout
    assert slurm.job(story.victim)["JobState"] == "CANCELLED"
    assert slurm.hosts(story.gang) == slurm.leaves[0]
    gang = slurm.job(story.gang)
    assert (gang["ReqNodeList"], gang["ExcNodeList"]) == ("(null)", "n[5-8]")
    assert slurm.job(story.mover)["NodeList"] in slurm.leaves[1]


def test_what_a_killed_run_leaves_is_taken_back_and_nodes_must_be_up(slurm: Slurm) -> None:
    story = begin(slurm)
    slurm.run("scontrol", "update", f"JobId={story.gang}", "AdminComment=ask Ada first")
    before = slurm.job(story.gang)
    path = script(slurm, "--engine", "fast")
    interrupt(slurm, path, f"job {story.victim} leaves", signal.SIGKILL)
    held = slurm.job(story.gang)
    assert (held["ReqNodeList"], held["Priority"]) == ("n[1-4]", "0")
    slurm.await_state("PENDING", story.victim)
    time.sleep(3)  # Slurm looks each second who may start
    assert slurm.job(story.rival)["JobState"] == "PENDING"  # the reservation keeps it off
    done = follow(slurm, path, "--undo")
    assert done.returncode == 0, done.stdout
    after = slurm.job(story.gang)
    for name in ("JobState", "ReqNodeList", "NumNodes"):
        assert after[name] == before[name]
    assert after["Priority"] != "0"
    assert "AdminComment=ask Ada first \n" in slurm.run("scontrol", "show", "job", story.gang)
    assert "No reservations" in reservations(slurm)
    slurm.await_state("RUNNING", story.rival)
    slurm.run("scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=disk")
    done = follow(slurm, path)
    assert done.returncode == 3
    assert "node n4 is drain" in done.stdout


def test_what_others_do_meanwhile_ends_a_run(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    said = interrupt(slurm, path, f"job {story.mover} leaves", ("scancel", story.gang))
    assert f"STOPPED: job {story.gang} is CANCELLED on no node, not on n[1-4]" in said
    assert f"done      job {story.mover} runs on" in said
    assert f"not done  job {story.gang} runs on n[1-4]" in said
    assert "No reservations" in reservations(slurm)
