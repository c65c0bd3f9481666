"""Values at the edge of what can be written: one line and the documented exit code, never 1."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import JOBS, SNAPSHOT, Cli, environment

MODEL = "apiVersion: kantopt/v1alpha1\nkind: Model\n"
FAST = ("--engine", "fast")


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


def at(moment: str) -> str:
    return SNAPSHOT.replace("2026-09-01T03:00:00Z", moment)


def with_topology(request: str) -> str:
    return JOBS.rstrip().removesuffix("}") + f", topologyRequest: {request}}}\n"


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"m.yaml": f"{MODEL}objectives: [{{fragment_rate: {{resource: cpu, size: 0}}}}]\n"},
            "m.yaml: objectives[0].fragment_rate.size: found 0, expected more than nothing",
        ),
        ({"snap.yaml": at("9999-12-31T23:00:00-05:00")}, "snap.yaml: metadata.capturedAt: found"),
        ({"snap.yaml": at("0001-01-01T00:00:00+05:00")}, "snap.yaml: metadata.capturedAt: found"),
        (
            {
                "snap.yaml": at("9999-12-31T23:30:00Z"),
                "m.yaml": f"{MODEL}extends: mixed\n"
                'schedule: {windows: [{cron: "0 2 * * SAT", duration: 4h}]}\n',
            },
            "snap.yaml: metadata.capturedAt: found",
        ),
        ({"jobs.yaml": with_topology('{preferred: ""}')}, "preferred: found"),
        ({"jobs.yaml": with_topology('{required: ""}')}, "required: found"),
        ({"m.yaml": f'{MODEL}extends: "a\\0b/c.yaml"\n'}, "m.yaml: extends: found"),
    ],
)
def test_a_value_that_means_nothing_is_named(cli: Cli, changed: dict[str, str], said: str) -> None:
    Path("m.yaml").write_text(f"{MODEL}extends: mixed\n")
    for name, text in changed.items():
        Path(name).write_text(text)
    done = cli("plan", "snap.yaml", "jobs.yaml", "-m", "m.yaml", *FAST)
    assert done.code == 65, done.err
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_clock_beyond_the_calendar_is_a_usage_error(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KANTOPT_NOW", "9999-12-31T23:00:00-05:00")
    done = cli("plan", "snap.yaml", "jobs.yaml", *FAST, "--max-snapshot-age", "1d")
    assert done.code == 64
    assert done.err.startswith("kantopt: error: KANTOPT_NOW: found")


def test_waves_that_end_beyond_the_calendar_have_no_moments(cli: Cli) -> None:
    moved = SNAPSHOT.replace("movable: false", "movable: true\n  moveMode: live")
    moved = moved.replace("nvidia.com/gpu: 4}", 'nvidia.com/gpu: 4, memory: "32Pi"}')
    moved = moved.replace('cpu: "96"', 'cpu: "96", memory: "64Pi"')
    Path("snap.yaml").write_text(moved)
    slow = ("defrag", "snap.yaml", "--goal", "empty-nodes=+1", "--bandwidth", "1")
    done = cli(*slow, *FAST, "--now", "9899-12-31T00:00:00Z", "-o", "json")
    assert done.code == 0, done.err
    plan = json.loads(done.out)
    assert plan["moves"]
    assert "earliestEnd" not in plan["timing"]


def test_a_lock_file_with_a_number_that_no_process_has(cli: Cli) -> None:
    import fcntl

    who = {"pid": 12345678901234567890, "host": socket.gethostname(), "since": "2026"}
    Path("run.lock").write_text(json.dumps(who))
    with open("run.lock") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = cli("plan", "snap.yaml", "jobs.yaml", *FAST, "--lock-file", "run.lock")
    assert done.code == 75
    assert "another process" in done.err


def test_quotas_that_add_up_to_more_than_64_bits_leave_the_exact_search_its_numbers(
    cli: Cli,
) -> None:
    quota = f'[{{name: cpu, nominalQuota: "{2**62}m", borrowingLimit: "{2**62}m"}}]'
    queues = [f"{{name: {q}, cohort: c, resources: {quota}}}" for q in ("q", "r", "s")]
    Path("snap.yaml").write_text(f"{SNAPSHOT}queues: [{', '.join(queues)}]\n")
    Path("jobs.yaml").write_text(JOBS.replace("  podSets", "  queueName: q\n  podSets"))
    done = cli("plan", "snap.yaml", "jobs.yaml", "--engine", "exact", "-o", "json")
    assert done.code == 0
    plan = json.loads(done.out)
    assert plan["solver"]["status"] == "OPTIMAL"
    assert "the solver" not in done.err


def with_few_files(most: int) -> subprocess.CompletedProcess[str]:
    """Plan where the system opens so many files at a time, those for input and output included."""

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    return subprocess.run(
        [sys.executable, "-m", "kantopt", "plan", "snap.yaml", "jobs.yaml"],
        capture_output=True,
        text=True,
        env=environment(),
        cwd=os.getcwd(),
        preexec_fn=few,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize("most", [6, 7, 8])
def test_six_open_files_are_enough(most: int) -> None:
    done = with_few_files(most)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_system_that_opens_no_more_files_is_told_in_one_line() -> None:
    done = with_few_files(5)
    assert done.returncode in (66, 71)
    assert done.stderr.startswith("kantopt: error: ")
    assert done.stderr.count("\n") == 1


def test_of_thousands_of_problems_the_first_are_told(cli: Cli, tmp_path: Path) -> None:
    jobs = "\n".join(
        f"- {{name: j{i}, queueName: gone, podSets: [{{name: w, count: 1}}]}}" for i in range(1030)
    )
    path = tmp_path / "jobs.yaml"
    head = "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\nnodes: [{name: a}]\n"
    head += "queues: [{name: q}]\n"
    path.write_text(f"{head}---\napiVersion: kantopt/v1alpha1\nkind: JobList\njobs:\n{jobs}\n")
    done = cli("plan", str(path))
    assert done.code == 65
    *told, rest = done.err.splitlines()
    assert len(told) == 20
    assert all("queueName" in line and "line " in line for line in told)
    assert rest == "kantopt: error: and 1,010 problems more; -v lists them all"
    assert len(cli("plan", "-v", str(path)).err.splitlines()) == 1030
