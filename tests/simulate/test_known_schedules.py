"""The script that compares start times with known ones: it finds those that differ."""

from __future__ import annotations

import csv
import random
from pathlib import Path
from typing import Literal

import pytest

from scripts.known_schedules import main
from tests.simulate.backfill_reference import Asked, starts_on_hosts
from tests.simulate.test_backfill import drawn, log_of

HOSTS = 8


def written(folder: Path, jobs: list[Asked], starts: list[int]) -> None:
    """The two files of Batsim's that are read."""
    folder.mkdir()
    (folder / "out_schedule.csv").write_text(
        f"nb_computing_machines,nb_jobs\n{HOSTS},{len(jobs)}\n"
    )
    rows = [
        {
            "job_id": i,
            "submission_time": f"{job.arrival}.0",
            "requested_number_of_resources": job.processors,
            "requested_time": f"{job.estimate}.0",
            "starting_time": f"{start}.000001",
            "execution_time": f"{job.duration}.0",
        }
        for i, (job, start) in enumerate(zip(jobs, starts, strict=True))
    ]
    with open(folder / "out_jobs.csv", "w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.mark.parametrize("kind", ["easy", "conservative"])
def test_a_schedule_by_the_definitions_is_found_equal_and_a_changed_one_is_not(
    tmp_path: Path, kind: Literal["easy", "conservative"], capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = drawn(random.Random(3), HOSTS, 40, 30, 2.0)
    starts = starts_on_hosts(HOSTS, jobs, kind)
    written(tmp_path / kind, jobs, starts)
    assert main(["batsim", str(tmp_path / kind)]) == 0
    assert "40 jobs,    0 start at another time" in capsys.readouterr().out
    starts[7] += 1
    (tmp_path / "other").mkdir()
    written(tmp_path / "other" / kind, jobs, starts)
    assert main(["batsim", str(tmp_path / "other" / kind)]) == 1
    assert "40 jobs,    1 start at another time" in capsys.readouterr().out


def test_parts_of_a_log_start_as_the_reference_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "log.swf"
    log.write_text(log_of(HOSTS, drawn(random.Random(5), HOSTS, 50, 30, 2.0)))
    assert main(["log", str(log), "--jobs", "20", "--windows", "3"]) == 0
    parts = capsys.readouterr().out.splitlines()
    assert [int(part.split(" jobs, ")[0].split()[-1]) for part in parts] == [20, 20, 20, 20, 10, 10]
