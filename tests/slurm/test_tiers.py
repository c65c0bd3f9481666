"""Jobs start where planned while others of a higher tier wait for the same nodes."""

from __future__ import annotations

import signal
from pathlib import Path

from tests.render.plans import bind, make_plan
from tests.slurm.cluster import Slurm
from tests.slurm.story import follow, interrupt, reservations, submit
from tests.slurm.test_two_plans import job_of, script_of

RESERVE = ("scontrol", "create", "reservation", "Users=root,games", "StartTime=now", "Duration=60")


def wait_behind(slurm: Slurm) -> tuple[str, str, Path]:
    """One of a higher tier waits for two nodes, one is free and planned for another user's job."""
    full = submit(slurm, "full", 7, "--partition=urgent", "--time=3:00:00", "--nodelist=n[2-8]")
    slurm.await_state("RUNNING", full)
    ahead = submit(slurm, "ahead", 2, "--partition=urgent")
    slurm.wait(lambda: slurm.job(ahead)["Reason"] == "Resources", lambda: slurm.run("squeue"))
    job = submit(slurm, "passes", 1, "--uid=games", "--time=2-0")
    plan = make_plan([job_of(slurm, job, 1)], [[bind(f"a/{job}", "n1", count=1)]], captured_at=None)
    return ahead, job, script_of(slurm, plan)


def test_a_job_passes_one_of_a_higher_tier_and_goes_on_without_a_reservation(slurm: Slurm) -> None:
    ahead, job, path = wait_behind(slurm)
    said = (
        f"Step 1: job {job} passes job {ahead} of partition urgent, which waits for the same nodes."
    )
    dry = follow(slurm, path, "--dry-run").stdout
    assert said in dry
    assert f"scontrol update JobId={job} ReservationName=kantopt_" in dry
    assert slurm.job(job)["JobState"] == "PENDING"
    done = follow(slurm, path, "--wait", "30")
    assert done.returncode == 0, done.stdout
    assert said in done.stdout
    runs = slurm.job(job)
    assert (runs["JobState"], runs["NodeList"], runs["TimeLimit"]) == (
        "RUNNING",
        "n1",
        "2-00:00:00",
    )
    assert "Reservation" not in runs
    assert "No reservations" in reservations(slurm)
    assert slurm.job(ahead)["JobState"] == "PENDING"


def test_what_a_killed_run_has_let_in_goes_on_without_the_reservation(slurm: Slurm) -> None:
    _, job, path = wait_behind(slurm)
    name = path.read_text().partition("\nreservation=")[2].partition("\n")[0]
    interrupt(slurm, path, " passes job ", signal.SIGKILL)
    assert name in reservations(slurm)
    # As if it had come further.
    slurm.run("scontrol", "update", f"ReservationName={name}", "Users=root,games", "Flags+=FLEX")
    slurm.run("scontrol", "update", f"JobId={job}", f"ReservationName={name}")
    assert follow(slurm, path, "--undo").returncode == 0
    assert "No reservations" in reservations(slurm)
    waits = slurm.job(job)
    assert (waits["JobState"], waits["ReqNodeList"]) == ("PENDING", "(null)")
    assert "Reservation" not in waits
    said = interrupt(slurm, path, " passes job ", signal.SIGTERM)
    assert "Of the plan:" in said
    assert "No reservations" in reservations(slurm)
    assert "Reservation" not in slurm.job(job)
    assert follow(slurm, path, "--wait", "30").returncode == 0
    assert "Reservation" not in slurm.job(job)
    assert "No reservations" in reservations(slurm)
    # A run that was killed when the job had started within the reservation.
    slurm.run(*RESERVE, f"ReservationName={name}", "Nodes=n1", "Flags=IGNORE_JOBS,OVERLAP,FLEX")
    slurm.run("scontrol", "update", f"JobId={job}", f"ReservationName={name}")
    assert slurm.job(job)["Reservation"] == name
    assert follow(slurm, path).returncode == 0
    assert slurm.job(job)["JobState"] == "RUNNING"
    assert "Reservation" not in slurm.job(job)
    assert "No reservations" in reservations(slurm)


def test_others_of_its_step_start_beside_a_job_that_passes(slurm: Slurm) -> None:
    full = submit(slurm, "full", 7, "--partition=urgent", "--time=3:00:00", "--nodelist=n[2-8]")
    slurm.await_state("RUNNING", full)
    ahead = submit(slurm, "ahead", 2, "--partition=urgent")
    slurm.wait(lambda: slurm.job(ahead)["Reason"] == "Resources", lambda: slurm.run("squeue"))
    half = ("--gres=gpu:4", "--mem=1G", "--time=2-0")
    low = slurm.submit("low", *half)
    high = slurm.submit("high", "--partition=urgent", *half[:2])
    coming = [bind(f"a/{job}", "n1", count=1) for job in (low, high)]
    jobs = [job_of(slurm, job, 1) for job in (low, high)]
    done = follow(
        slurm, script_of(slurm, make_plan(jobs, [coming], captured_at=None)), "--wait", "30"
    )
    assert done.returncode == 0, done.stdout
    assert f"job {high} passes" not in done.stdout
    for job in (low, high):
        assert slurm.hosts(job) == ["n1"]
        assert "Reservation" not in slurm.job(job)
    assert "No reservations" in reservations(slurm)
