"""Nobody leaves for a job that Slurm would not start: it waits, or its nodes are reserved."""

from __future__ import annotations

from pathlib import Path

from tests.render.plans import bind, evict, make_plan
from tests.slurm.cluster import Slurm
from tests.slurm.story import begin, follow, interrupt, reservations, script, submit
from tests.slurm.test_two_plans import job_of, script_of

RESERVE = ("scontrol", "create", "reservation", "Users=root", "Duration=120")


def refused(slurm: Slurm, path: Path, *said: str) -> None:
    """See that the script refuses, with these words, and leaves everything as it was."""
    before = (
        slurm.run("squeue", "--noheader", "--all", "--format=%i %T %N %n %Q"),
        reservations(slurm),
    )
    done = follow(slurm, path)
    assert done.returncode == 3, done.stdout
    for words in said:
        assert words in done.stdout, done.stdout
    after = (
        slurm.run("squeue", "--noheader", "--all", "--format=%i %T %N %n %Q"),
        reservations(slurm),
    )
    assert after == before


def test_jobs_that_wait_for_others_or_for_a_time_are_not_made_room_for(slurm: Slurm) -> None:
    victim = submit(slurm, "victim", 2, "--partition=idle", "--nodelist=n[1-2]")
    rest = submit(slurm, "rest", 6, "--nodelist=n[3-8]")
    slurm.await_state("RUNNING", victim, rest)
    after = submit(slurm, "after", 1, f"--dependency=afterok:{rest}")
    later = submit(slurm, "later", 1, "--begin=now+1hour")
    path = script(slurm, "--engine", "fast", "--gated")
    refused(
        slurm,
        path,
        f"job {after} waits for others (afterok:{rest}(unfulfilled))",
        f"job {later} may not start before ",
    )


def test_what_keeps_a_job_since_the_snapshot_makes_a_plan_stale(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    job = f"JobId={story.gang}"
    for change, back, said in (
        (f"Dependency=afterany:{story.stays}", "Dependency=", "waits for others"),
        ("StartTime=now+1hour", "StartTime=now", "may not start before"),
    ):
        slurm.run("scontrol", "update", job, change)
        refused(slurm, path, f"job {story.gang} {said}")
        slurm.run("scontrol", "update", job, back)
    assert follow(slurm, path, "--dry-run").returncode == 0


def test_nodes_that_others_reserve_before_the_end_of_a_job_make_a_plan_stale(slurm: Slurm) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    reserve = (*RESERVE, "ReservationName=disks", "Nodes=n2", "Flags=MAINT,IGNORE_JOBS")
    slurm.run(*reserve, "StartTime=now+30minutes")
    refused(slurm, path, f"node n2 is reserved by disks before job {story.gang} would end")
    slurm.run("scontrol", "update", f"JobId={story.gang}", "TimeLimit=20")
    assert follow(slurm, path, "--dry-run").returncode == 0
    slurm.run("scontrol", "delete", "ReservationName=disks")
    slurm.run(*reserve[:-1], "StartTime=now", "Flags=IGNORE_JOBS")
    refused(slurm, path, "node n2 is reserved by disks")


def test_jobs_of_a_reservation_start_on_its_nodes(slurm: Slurm) -> None:
    flags = ("StartTime=now", "ReservationName=team", "Nodes=n[1-4]", "Flags=IGNORE_JOBS")
    slurm.run(*RESERVE, *flags)
    team = "--reservation=team"
    victim = submit(slurm, "victim", 2, team, "--nodelist=n[1-2]")
    stays = submit(slurm, "stays", 1, team, "--nodelist=n3")
    slurm.await_state("RUNNING", victim, stays)
    gang = submit(slurm, "gang", 3, team)
    rival = submit(slurm, "rival", 2, team, "--partition=idle", "--hold")
    leaving = [evict(f"a/{victim}", node, count=1) for node in slurm.hosts(victim)]
    coming = [bind(f"a/{gang}", node, count=1) for node in ("n1", "n2", "n4")]
    jobs = [job_of(slurm, victim, 2), job_of(slurm, gang, 3)]
    path = script_of(slurm, make_plan(jobs, [leaving, coming]))
    # Others of the reservation do not come to what is kept.
    said = interrupt(
        slurm, path, f"job {victim} leaves", ("scontrol", "release", rival), "--wait", "60"
    )
    assert "Done." in said, said
    assert slurm.hosts(gang) == ["n1", "n2", "n4"]
    states = [slurm.job(job)["JobState"] for job in (victim, stays, rival)]
    assert states == ["PENDING", "RUNNING", "PENDING"]
    assert "kantopt" not in reservations(slurm)


def test_what_waits_for_a_limit_of_its_qos_makes_a_plan_stale_unless_that_is_counted(
    slurm: Slurm,
) -> None:
    story = begin(slurm)
    path = script(slurm, "--engine", "fast")
    programs = slurm.folder / "programs"
    programs.mkdir()
    stub = programs / "squeue"
    for reason, counted, code in (
        ("QOSGrpGRES", False, 3),
        ("QOSGrpGRES", True, 0),
        ("QOSGrpCpuLimit", True, 0),
        ("QOSGrpJobsLimit", True, 3),
        ("QOSGrpGRESRunMinutes", True, 3),
    ):
        stub.write_text(f'#!/bin/sh\n/usr/bin/squeue "$@" | sed "s/|[A-Z][a-z]*$/|{reason}/"\n')
        stub.chmod(0o755)
        text = path.read_text()
        assert "\nlimited=''\n" in text
        if counted:
            text = text.replace("\nlimited=''\n", f"\nlimited={story.gang}\n")
        other = slurm.folder / "other.sh"
        other.write_text(text)
        done = follow(slurm, other, "--dry-run", programs=programs)
        assert done.returncode == code, done.stdout
        said = f"job {story.gang} is kept from starting ({reason})"
        assert (said in done.stdout) is (code == 3)
