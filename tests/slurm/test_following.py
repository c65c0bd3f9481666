"""A plan is followed by a real Slurm: what it says is what runs, or nothing is done."""

from __future__ import annotations

import re
import signal
from datetime import datetime

from tests.slurm.cluster import GPUS, Slurm
from tests.slurm.story import (
    Story,
    begin,
    follow,
    interrupt,
    place,
    reservations,
    script,
    state_of,
    submit,
)


def check_end(slurm: Slurm, story: Story, rival: str = "PENDING") -> None:
    """The gang has its leaf, who made room for it is where the plan says, nobody else moved."""
    first, second = slurm.leaves
    states = state_of(slurm, story)
    state, (place,) = states.pop("mover")
    assert state == "RUNNING"
    assert place in second[2:]
    assert states == {
        "stays": ("RUNNING", tuple(second[:2])),
        "victim": ("PENDING", ()),
        "gang": ("RUNNING", tuple(first)),
        "rival": (rival, ()),
    }
    assert "Reservation" not in reservations(slurm).replace("No reservations", "")
    assert "BeginTime" in slurm.job(story.victim)["Reason"]
    assert all(slurm.job(job)["Priority"] != "0" for job in (story.mover, story.gang, story.victim))


def test_the_plan_is_what_runs(slurm: Slurm) -> None:
    story = begin(slurm)
    before = state_of(slurm, story)
    path = script(slurm, "--engine", "fast")
    dry = follow(slurm, path, "--dry-run")
    assert dry.returncode == 0, dry.stdout
    assert f"scontrol requeue {story.victim}\n" in dry.stdout
    assert state_of(slurm, story) == before
    assert "Req" not in slurm.job(story.gang)["ReqNodeList"]
    done = follow(slurm, path)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story)
    again = follow(slurm, path)
    assert (again.returncode, again.stdout.splitlines()[-1], "Step" in again.stdout) == (
        0,
        "Done.",
        False,
    )
    check_end(slurm, story)


def test_gpus_without_a_number_of_nodes_start_on_the_nodes_of_the_plan(slurm: Slurm) -> None:
    # One node is free on each leaf, and two of one are wanted: who runs on n1 has to go to n8.
    place(slurm, "stays", ["n2", "n3", "n5", "n6", "n7"])
    mover = place(slurm, "mover", ["n1"])
    wide = slurm.submit(
        "wide", f"--gpus={2 * GPUS}", "--cpus-per-gpu=2", "--mem=1G", "--switches=1"
    )
    slurm.wait(lambda: slurm.job(wide)["Reason"] != "None", lambda: slurm.run("squeue"))
    done = follow(slurm, script(slurm, "--engine", "fast"))
    assert done.returncode == 0, done.stdout
    assert (slurm.job(wide)["JobState"], slurm.hosts(wide)) == ("RUNNING", ["n1", "n4"])
    assert slurm.hosts(mover) == ["n8"]


def test_a_job_that_started_meanwhile_makes_a_plan_stale(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    other = submit(slurm, "other", 1, "--partition=urgent", "--nodelist=n2")
    slurm.await_state("RUNNING", other)
    started = datetime.fromisoformat(slurm.job(other)["StartTime"]).astimezone()
    in_that_second = f"taken={started.timestamp():.0f}"
    path.write_text(re.sub(r"^taken=.*$", in_that_second, path.read_text(), flags=re.MULTILINE))
    before = state_of(slurm, story)
    done = follow(slurm, path)
    assert done.returncode == 3
    assert f"job {other} has started on the nodes since the snapshot" in done.stdout
    slurm.run("scancel", other, story.gang)
    slurm.wait(lambda: slurm.job(other)["JobState"] == "CANCELLED", lambda: slurm.run("squeue"))
    done = follow(slurm, path)
    assert done.returncode == 3
    assert f"job {story.gang} is CANCELLED on no node, not on n[1-4]" in done.stdout
    assert state_of(slurm, story) == {**before, "gang": ("CANCELLED", ())}
    assert "No reservations" in reservations(slurm)
    # So much for the plan. Slurm alone scatters such a gang if it does not ask for one switch.
    scattered = submit(slurm, "scattered", 4)
    slurm.await_state("RUNNING", scattered)
    assert all(set(slurm.hosts(scattered)) & set(leaf) for leaf in slurm.leaves)


def test_a_script_that_is_ended_half_way_is_taken_back_or_goes_on(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    # Once all is taken back Slurm gives the room to whom it likes, and the plan would be stale.
    slurm.run("scancel", story.rival)
    said = interrupt(slurm, path, f"job {story.victim} leaves", signal.SIGTERM)
    assert f"Taken back: job {story.gang} waits as it did before." in said
    assert f"not done  job {story.gang} runs on n[1-4]" in said
    gang = slurm.job(story.gang)
    assert gang["Priority"] != "0"
    assert gang["ReqNodeList"] == "(null)"
    assert "No reservations" in reservations(slurm)
    interrupt(slurm, path, f"job {story.mover} leaves", signal.SIGKILL)
    assert slurm.job(story.gang)["Priority"] == "0"
    assert "kantopt_" in reservations(slurm)
    done = follow(slurm, path)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story, "CANCELLED")
