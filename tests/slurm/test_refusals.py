"""What a script does where Slurm refuses, or is not there: it stops at once, and can go on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from tests.slurm.cluster import Slurm
from tests.slurm.story import begin, follow, interrupt, reservations, script, state_of
from tests.slurm.test_following import check_end


def in_place_of_scontrol(slurm: Slurm, case: str) -> Path:
    """Make a folder with a program that does something first in one case of its words."""
    programs = slurm.folder / "programs"
    programs.mkdir()
    (programs / "scontrol").write_text(
        f'#!/bin/sh\ncase $* in {case}; esac\nexec {shutil.which("scontrol")} "$@"\n'
    )
    (programs / "scontrol").chmod(0o755)
    return programs


def test_a_job_that_its_user_has_changed_since_makes_a_plan_stale(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    job = f"JobId={story.gang}"
    for change, back, said in (
        (("NumNodes=3-3", "NumTasks=3"), ("NumNodes=4-4", "NumTasks=4"), "asks for 3 to 3 nodes"),
        (("ExcNodeList=n2",), ("ExcNodeList=",), "excludes n2 by now, where it is to run"),
        (("ReqNodeList=n8",), ("ReqNodeList=",), "asks for n8 by now, which it is not to get"),
    ):
        slurm.run("scontrol", "update", job, *change)
        before = state_of(slurm, story)
        done = follow(slurm, path)
        assert (done.returncode, state_of(slurm, story)) == (3, before), done.stdout
        assert f"job {story.gang} {said}" in done.stdout
        slurm.run("scontrol", "update", job, *back)
    assert follow(slurm, path, "--dry-run").returncode == 0


def test_without_a_controller_nothing_is_done_or_what_was_is_taken_up_again(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    slurm.run("scancel", story.rival)
    said = interrupt(
        slurm, path, f"job {story.victim} leaves", ("scontrol", "shutdown", "slurmctld")
    )
    assert "STOPPED: " in said
    assert "What of the plan is done is not known: no Slurm answers." in said
    assert "--undo tries again" in said
    done = follow(slurm, path)
    assert done.returncode == 3
    assert "REFUSED, nothing was done: no Slurm answers" in done.stdout
    slurm.start_controller()
    slurm.wait(
        lambda: "unk" not in slurm.run("sinfo", "--noheader", "--format=%t"),
        lambda: slurm.run("sinfo"),
    )
    slurm.await_state("PENDING", story.gang, story.victim)
    done = follow(slurm, path)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story, "CANCELLED")


def test_who_is_no_operator_is_told_so_and_changes_nothing(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    before = state_of(slurm, story), slurm.job(story.gang)["ReqNodeList"]
    done = follow(slurm, path, user="nobody")
    assert done.returncode == 1
    assert f"STOPPED: failed: scontrol update JobId={story.gang}" in done.stdout
    assert "done    " not in done.stdout.replace("not done", "")
    assert (state_of(slurm, story), slurm.job(story.gang)["ReqNodeList"]) == before
    assert "No reservations" in reservations(slurm)
    done = follow(slurm, path)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story)


def test_a_victim_that_may_not_be_requeued_any_more_is_not_cancelled(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    programs = slurm.folder / "programs"
    programs.mkdir()
    scontrol = shutil.which("scontrol")
    # Just before the victim's turn its user changes it.
    (programs / "scontrol").write_text(
        f'#!/bin/sh\n[ "$1" != create ] || {scontrol} update JobId={story.victim} Requeue=0\n'
        f'exec {scontrol} "$@"\n'
    )
    (programs / "scontrol").chmod(0o755)
    done = follow(slurm, path, programs=programs)
    assert done.returncode == 1
    assert f"STOPPED: failed: scontrol requeue {story.victim}" in done.stdout
    assert f"not done  job {story.victim} leaves" in done.stdout
    assert slurm.job(story.victim)["JobState"] == "RUNNING"
    assert slurm.job(story.gang)["ReqNodeList"] == "(null)"
    assert "No reservations" in reservations(slurm)
    slurm.run("scontrol", "update", f"JobId={story.victim}", "Requeue=1")
    done = follow(slurm, path)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story)


def test_a_node_that_is_drained_meanwhile_ends_a_run_which_goes_on_later(slurm: Slurm) -> None:
    story = begin(slurm)
    path: Path = script(slurm, "--engine", "fast")
    slurm.run("scancel", story.rival)
    drain = ("scontrol", "update", "NodeName=n3", "State=DRAIN", "Reason=disk")
    said = interrupt(slurm, path, f"job {story.victim} leaves", drain)
    # Once Slurm has looked at the job it adds its own reason.
    reason = r"( \([A-Z].*\))?"
    assert re.search(rf"STOPPED: jobs {story.gang}{reason} cannot run:\n  node n3 is drain", said)
    assert f"done      job {story.victim} leaves" in said
    assert f"not done  job {story.gang} runs on n[1-4]" in said
    assert slurm.job(story.gang)["Priority"] != "0"
    slurm.run("scontrol", "update", "NodeName=n3", "State=RESUME")
    state = ("sinfo", "--noheader", "--nodes=n3", "--format=%T")
    slurm.wait(lambda: "*" not in slurm.run(*state), lambda: "n3 to answer")  # idle* until it does
    # Once it was looked at Slurm may start the job where it is to run, before it can be held there.
    waits = f"squeue --noheader --jobs={story.gang} --states=PD"
    programs = in_place_of_scontrol(
        slurm,
        f'"update JobId={story.gang} ReqNodeList="*) while {waits} | grep -q .; do sleep 0.1; done',
    )
    done = follow(slurm, path, programs=programs)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story, "CANCELLED")


def test_where_a_partition_has_blocks_jobs_are_kept_to_nodes_by_excluding_the_others(
    slurm: Slurm,
) -> None:
    """A real 22.05 has no blocks; what 25.05 shows of them stands in for its topology."""
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    programs = in_place_of_scontrol(slurm, '"show topology") exec echo BlockName=b1 BlockIndex=0')
    done = follow(slurm, path, programs=programs)
    assert done.returncode == 0, done.stdout
    check_end(slurm, story)
    gang = slurm.job(story.gang)
    assert (gang["ReqNodeList"], gang["ExcNodeList"]) == ("(null)", "n[5-8]")
