"""What a real Slurm did between two dumps: told job by job, and nobody falsely accused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.slurm.cluster import GPUS, Slurm
from tests.slurm.story import ROOT, SNAPSHOT, dump, place, submit


def certified(slurm: Slurm, first: Path, later: Path) -> dict[str, Any]:
    """Certify what Slurm made of the first dump, check the certificate, and return it."""
    files, after = ([str(folder / name) for name in SNAPSHOT] for folder in (first, later))
    options = [word for file in after for word in ("--after", file)]
    path = str(slurm.folder / "certificate.json")
    words = ["certify", *files, *options, "-q", "-o", "json", "-O", path, "--time-limit", "20s"]
    done = run(slurm, *words)
    certificate: dict[str, Any] = json.loads(Path(path).read_text())
    assert done.returncode == {"OPTIMAL": 0, "BETTER": 10, "OPEN": 11}[certificate["verdict"]], (
        done.stderr,
        certificate["findings"],
    )
    checked = run(slurm, "verify", "--certificate", path, *files, *options)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    return certificate


def run(slurm: Slurm, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kantopt", *words]
    return subprocess.run(command, cwd=ROOT, env=slurm.environment, capture_output=True, text=True)


def became(certificate: dict[str, Any]) -> dict[str, str]:
    """What became of each job, by its id."""
    gone = certificate["history"].get("gone", [])
    return {fate["pod"].split("/")[1].split(":")[0]: fate["became"] for fate in gone}


def until(flag: Path, code: int) -> str:
    """A script that ends with an exit code once a file is there."""
    return f"while [ ! -e {flag} ]; do sleep 0.1; done; exit {code}"


def test_what_became_of_each_job_is_told_and_slurm_did_nothing_wrong(slurm: Slurm) -> None:
    flag = slurm.folder / "over"
    whole = ("--nodes=1", f"--gres=gpu:{GPUS}", "--mem=64G")
    ends = slurm.submit("ends", *whole, "--nodelist=n1", script=until(flag, 0))
    fails = slurm.submit("fails", *whole, "--nodelist=n2", script=until(flag, 3))
    slurm.await_state("RUNNING", ends, fails)
    cancelled = place(slurm, "cancelled", ["n3"])
    requeued = place(slurm, "requeued", ["n4"])
    victim = place(slurm, "victim", ["n5", "n6"], "--partition=idle")
    lost = place(slurm, "lost", ["n7"], "--partition=idle", "--no-requeue")
    stays = place(slurm, "stays", ["n8"])
    waits = submit(slurm, "waits", 2)
    first = dump(slurm, "first")
    flag.touch()
    slurm.await_state("COMPLETED", ends)
    slurm.await_state("FAILED", fails)
    slurm.await_state("RUNNING", waits)
    slurm.run("scancel", cancelled)
    slurm.run("scontrol", "requeue", requeued)
    urgent = submit(slurm, "urgent", 3, "--partition=urgent", "--exclude=n[1-4,8]")
    slurm.await_state("CANCELLED", cancelled)
    slurm.await_state("PREEMPTED", lost)
    slurm.await_state("PENDING", victim, requeued)
    slurm.await_state("RUNNING", urgent)
    late = submit(slurm, "late", 8)
    for node in ("n4", "n8"):
        slurm.run("scontrol", "update", f"NodeName={node}", "State=DRAIN", "Reason=disk")
    certificate = certified(slurm, first, dump(slurm, "later"))
    assert became(certificate) == {
        ends: "finished",
        fails: "failed",
        cancelled: "cancelled",
        requeued: "requeued",
        victim: "preempted",
        lost: "preempted",
    }
    history = certificate["history"]
    assert (history["stayed"], history["placed"], history["arrived"]) == (1, 2, 3)
    assert history["waiting"] == [f"root/{late}"]
    assert stays not in became(certificate)


def test_a_job_that_starts_again_after_its_requeue_has_arrived(slurm: Slurm) -> None:
    again = place(slurm, "again", ["n1", "n2"])
    first = dump(slurm, "first")
    slurm.run("scontrol", "requeue", again)
    slurm.await_state("PENDING", again)
    slurm.run("scontrol", "update", f"JobId={again}", "StartTime=now", "ExcNodeList=n[1-2]")
    slurm.await_state("RUNNING", again)
    certificate = certified(slurm, first, dump(slurm, "later"))
    assert became(certificate) == {again: "requeued"}
    assert certificate["history"]["placed"] == 2


def test_a_better_plan_is_found_where_slurm_made_one_impossible(slurm: Slurm) -> None:
    """A small job that comes first takes the leaf which a gang wants and could have had."""
    flag = slurm.folder / "over"
    whole = (f"--gres=gpu:{GPUS}", "--mem=64G", "--nodes=1")
    ends = slurm.submit("ends", *whole, "--nodelist=n1", script=until(flag, 0))
    slurm.await_state("RUNNING", ends)
    stays = place(slurm, "stays", ["n8"])
    leaving = place(slurm, "leaving", ["n5", "n6", "n7"])
    gang = submit(slurm, "gang", 4, "--switches=1")
    small = slurm.submit("small", *whole, "--nice=-100", "--exclude=n[2-4]")
    slurm.wait(
        lambda: all(slurm.job(job)["Reason"] != "None" for job in (gang, small)),
        lambda: slurm.run("squeue"),
    )
    slurm.run("scontrol", "top", small)
    first = dump(slurm, "first")
    flag.touch()
    slurm.await_state("RUNNING", small)
    slurm.run("scancel", leaving)
    slurm.await_state("CANCELLED", leaving)
    assert (slurm.hosts(small), slurm.job(gang)["JobState"]) == (["n1"], "PENDING")
    certificate = certified(slurm, first, dump(slurm, "later"))
    assert certificate["verdict"] == "BETTER"
    plan = certificate["counterExample"]["plan"]
    places = {
        a["job"]: {b["node"] for b in plan["assignments"] if b["job"] == a["job"]}
        for a in plan["assignments"]
    }
    assert places[f"root/{gang}"] == {"n1", "n2", "n3", "n4"}
    assert places[f"root/{small}"] <= {"n5", "n6", "n7"}
    assert became(certificate) == {ends: "finished", leaving: "cancelled"}
    assert certificate["history"]["stayed"] == 1, stays
