"""``kantopt simulate`` and ``kantopt policies``."""

from __future__ import annotations

import csv
import json
import random
import re
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
import yaml

from kantopt.errors import UsageError
from kantopt.schema.policies import policies_folder, shipped_policies
from kantopt.schema.published import published_schema
from kantopt.simulate.runs import How
from tests.cli.conftest import Cli, finish, start

TRACE = """\
apiVersion: kantopt/v1alpha1
kind: Trace
metadata: {name: five}
jobs:
- {name: a, arrival: 0s, duration: 1m40s, podSets: [{count: 1, requests: {nvidia.com/gpu: 8}}]}
- {name: b, arrival: 10s, duration: 50s, podSets: [{count: 1, requests: {nvidia.com/gpu: 4}}]}
- {name: c, arrival: 20s, duration: 30s, podSets: [{count: 2, requests: {nvidia.com/gpu: 8}}]}
- {name: d, arrival: 30s, duration: 40s, podSets: [{count: 2, requests: {nvidia.com/gpu: 2}}]}
endings:
- {job: team-b/batch-1, after: 15s}
"""


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""
    (files / "trace.yaml").write_text(TRACE)


def test_policies_are_compared_on_a_trace(cli: Cli) -> None:
    done = cli("simulate", "snap.yaml", "trace.yaml", "--policy", "fifo", "--policy", "e-binpack")
    assert done.code == 0
    assert "prod-a: 2 policies on 1 trace" in done.out
    assert done.err == ""


def test_the_document_tables_and_pictures_agree(cli: Cli) -> None:
    done = cli(
        *("simulate", "snap.yaml", "trace.yaml", "--policy", "fifo", "-o", "json"),
        *("--tables", "tables", "--pictures", "pictures"),
    )
    document = json.loads(done.out)
    assert document["kind"] == "Simulation"
    assert document["judged"] == 4
    with Path("tables/jobs.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [f"default/{j}" for j in "abcd"]
    assert {path.name for path in Path("pictures").iterdir()} == {
        "gpus-over-time.svg",
        "fragmentation-over-time.svg",
        "waiting-times.svg",
    }


def test_it_is_told_how_many_states_were_judged(cli: Cli) -> None:
    asked = ("simulate", "snap.yaml", "trace.yaml", "--policy", "fifo")
    assert "judged" not in cli(*asked).out
    said = "one of 3 states in which something came was judged, 1 in all"
    assert said in cli(*asked, "--verify-every", "3").out


def test_processes_do_not_change_the_answer(cli: Cli) -> None:
    asked = ("simulate", "snap.yaml", "trace.yaml", "-o", "json", "--policy", "fifo")
    asked += ("--policy", "e-spread", "--policy", "fgd")
    assert cli(*asked).out == cli(*asked, "--workers", "2").out


def test_a_policy_gives_the_same_alone_and_beside_others(cli: Cli) -> None:
    asked = ("simulate", "snap.yaml", "trace.yaml", "-o", "name")
    alone = cli(*asked, "--policy", "e-spread").out.splitlines()
    beside = cli(*asked, "--policy", "fifo", "--policy", "e-spread").out.splitlines()
    assert alone == [line for line in beside if line.startswith("e-spread\t")]


def test_several_traces_have_names_of_their_own(cli: Cli) -> None:
    Path("again.yaml").write_text(TRACE)
    done = cli(
        *("simulate", "snap.yaml", "trace.yaml", "again.yaml", "--policy", "fifo", "-o", "json")
    )
    assert json.loads(done.out)["traces"] == ["five", "five-2"]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("snap.yaml",), 65, "expected one Trace at least among the files"),
        (("trace.yaml",), 65, "expected a ClusterSnapshot, Kubernetes objects"),
        (("snap.yaml", "trace.yaml", "--policy", "fif"), 64, "did you mean fifo?"),
        (("snap.yaml", "trace.yaml", "--policy", "fifo"), 64, "found fifo 2 times"),
        (("snap.yaml", "trace.yaml", "--policy", "own.yaml"), 66, "own.yaml"),
        (("snap.yaml", "trace.yaml", "--warm-up", "1d"), 64, "expected some of it"),
        (("snap.yaml", "trace.yaml", "--tables", "snap.yaml"), 64, "expected a folder"),
    ],
)
def test_what_cannot_be_simulated(
    cli: Cli, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = cli("simulate", *arguments, "--policy", "fifo")
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_policies_are_listed_and_printed(cli: Cli) -> None:
    listed = cli("policies").out
    for name in shipped_policies():
        assert name in listed
    printed = yaml.safe_load(cli("policies", "fifo").out)
    assert printed["queueing"] == {"backfill": "none"}


@pytest.mark.parametrize("name", shipped_policies())
def test_a_shipped_policy_bears_the_name_of_its_file(name: str) -> None:
    text = (policies_folder() / f"{name}.yaml").read_text("utf-8")
    assert yaml.safe_load(text)["metadata"]["name"] == name
    assert text.startswith(
        "# yaml-language-server: $schema=../../kantopt/schema/json/Policy.v1alpha1.json\n# "
    )


SWEEP = ("simulate", "snap.yaml", "trace.yaml", "--policy", "fifo", "--sweep")


def test_a_sweep_is_a_table_a_document_lines_and_csv(cli: Cli) -> None:
    grid = ("--add-nodes", "gpu-001:0,1", "--scale-load", "1,2")
    shown = cli(*SWEEP, *grid)
    assert shown.code == 0
    assert "With 1 more node of type gpu-001, load x 1 and fifo, the 95th percentile" in shown.out
    done = cli(*SWEEP, *grid, "-o", "json", "--workers", "2", "--tables", "tables")
    found = json.loads(done.out)
    jsonschema.validate(found, published_schema("Sweep"))
    assert (found["nodes"], found["loads"]) == ([0, 1], ["1", "2"])
    with Path("tables/sweep.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == sum(value is not None for v in found["values"] for value in v["values"])
    lines = cli(*SWEEP, *grid, "-o", "name").out.splitlines()
    assert len(lines) == len(found["values"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--add-nodes", "gpu-001"), '--add-nodes: found "gpu-001", expected NODE:N[,N]'),
        (("--add-nodes", "gpu-0x1:1"), "did you mean gpu-001?"),
        (("--scale-load", "1,0"), '--scale-load: found "0", expected factors from 0.01 to 100'),
        (("--scale-load", "1e-9"), '--scale-load: found "1e-9", expected factors from 0.01'),
        (("--scale-load", "1e999999999"), '"1e999999999", expected factors from 0.01'),
        (("--pictures", "there"), "--pictures: found --sweep, of which there are tables only"),
        (("--checkpoint", "kept"), "--checkpoint: found --sweep, of which nothing is saved"),
    ],
)
def test_a_grid_that_cannot_be_is_said(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli(*SWEEP, *arguments)
    assert (done.code, done.out) == (64, "")
    assert message in done.err


def test_the_seed_of_the_planner_is_that_of_all_cells(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = []

    def seen(asked: object, how: How, *rest: object) -> None:
        seeds.append(how.seed)
        raise UsageError("seen")

    monkeypatch.setattr("kantopt.cli.simulate.run_sweep", seen)
    cli(*SWEEP, "--seed", "7")
    assert seeds == [7]


@pytest.mark.parametrize("option", ["--tables", "--pictures"])
def test_a_folder_that_cannot_be_made_is_said_before_the_simulation(cli: Cli, option: str) -> None:
    done = cli("simulate", "snap.yaml", "trace.yaml", "--policy", "fifo", option, "snap.yaml/in")
    assert (done.code, done.out) == (73, "")
    assert "snap.yaml/in: cannot be made: not a directory" in done.err


@pytest.mark.parametrize("window", ["25:00-06:00", "22:60-06:00", "22:00-24:01"])
def test_hours_that_no_day_has_are_refused(cli: Cli, window: str) -> None:
    own = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "Policy",
        "defragmentation": {"window": window},
    }
    Path("own.yaml").write_text(yaml.safe_dump(own))
    done = cli("simulate", "snap.yaml", "trace.yaml", "--policy", "own.yaml")
    assert done.code == 65
    assert f'defragmentation.window: found "{window}"' in done.err


def test_of_a_trace_in_which_nothing_happens_that_is_said(cli: Cli) -> None:
    Path("snap.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\n"
        "nodes: [{name: a, allocatable: {nvidia.com/gpu: 8}}]\n"
    )
    Path("none.yaml").write_text("apiVersion: kantopt/v1alpha1\nkind: Trace\n")
    asked = ("simulate", "snap.yaml", "none.yaml", "--policy", "fifo")
    done = cli(*asked)
    assert (done.code, done.out) == (64, "")
    assert "found nothing that happens, expected jobs that come, or --until" in done.err
    assert cli(*asked, "--until", "1h").code == 0


def test_without_a_cluster_that_is_said_of_the_files(cli: Cli) -> None:
    done = cli("simulate", "trace.yaml", "--policy", "fifo")
    assert done.code == 65
    assert "error: the files: found nothing, expected a ClusterSnapshot" in done.err


def test_axes_without_a_sweep_are_refused(cli: Cli) -> None:
    done = cli(*SWEEP[:-1], "--ray", "auto")
    assert done.code == 64
    assert "--ray: found no --sweep, expected it beside" in done.err


def test_ray_that_is_not_installed_is_said(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = cli(*SWEEP, "--ray", "auto")
    assert done.code == 64
    assert "--ray: found no Ray in this Python, expected it installed" in done.err


def test_a_failed_cell_of_a_sweep_is_named_in_answer_and_exit_code(cli: Cli) -> None:
    done = cli(*SWEEP, "--warm-up", "9d")
    assert done.code == 70
    assert "FAILED" in done.out
    assert "0 nodes more, load x 1, fifo on five: " in done.out


ASKED = ("simulate", "snap.yaml", "trace.yaml", "--policy", "e-binpack", "--policy", "kantopt-fast")


def test_a_simulation_goes_on_from_what_was_saved(cli: Cli) -> None:
    whole = cli(*ASKED, "-o", "json").out
    kept = ("--checkpoint", "kept.json", "--checkpoint-every", "1ms")
    assert cli(*ASKED, *kept, "-o", "json").out == whole
    assert set(json.loads(Path("kept.json").read_text())["runs"]) == {"0", "1"}
    assert cli(*ASKED, *kept, "--resume", "-o", "json").out == whole


def test_a_file_of_another_simulation_is_refused(cli: Cli) -> None:
    cli(*ASKED, "--checkpoint", "kept.json")
    done = cli(*ASKED, "--until", "1m", "--checkpoint", "kept.json", "--resume")
    assert done.code == 65
    assert "found another simulation" in done.err
    kept = json.loads(Path("kept.json").read_text())
    Path("old.json").write_text(json.dumps({**kept, "form": "that of another build"}))
    done = cli(*ASKED, "--checkpoint", "old.json", "--resume")
    assert done.code == 65
    assert "found a file of another version of kantopt, expected one of this version" in done.err
    done = cli(*ASKED, "--checkpoint", "trace.yaml", "--resume")
    assert done.code == 64
    Path("own.json").write_text("{}")
    assert cli(*ASKED, "--checkpoint", "own.json", "--resume").code == 65
    assert cli(*ASKED, "--resume").code == 64


@pytest.mark.parametrize("workers", ["1", "2"])
def test_killed_at_any_moment_and_resumed_it_gives_the_same_bytes(
    files: Path, workers: str
) -> None:
    jobs = "".join(
        f"- {{name: j{i}, arrival: {7 * i}s, duration: {30 + 13 * i % 90}s, "
        f"podSets: [{{count: 1, requests: {{nvidia.com/gpu: {1 + i % 8}}}}}]}}\n"
        for i in range(250)
    )
    head = TRACE.split("- {name: a", 1)[0]
    (files / "long.yaml").write_text(head + jobs)
    asked = ["simulate", "snap.yaml", "long.yaml", "--policy", "conservative"]
    asked += ["--policy", "virtual-finish", "--policy", "fgd"]
    asked += ["-o", "json", "-q", "--workers", workers]
    whole = finish(start(asked))
    assert whole.code == 0
    kept = [*asked, "--checkpoint", "kept.json", "--checkpoint-every", "200ms", "--resume"]
    rng = random.Random(int(workers))
    killed = 0
    for _ in range(3):
        process = start(kept)
        try:
            process.wait(timeout=rng.uniform(0.6, 1.5))
        except subprocess.TimeoutExpired:
            process.kill()
            killed += 1
        process.communicate()
    assert killed
    assert finish(start(kept)).out == whole.out


@pytest.mark.parametrize("workers", ["1", "2"])
def test_interrupted_it_tells_what_was_simulated_and_keeps_it(files: Path, workers: str) -> None:
    jobs = "".join(
        f"- {{name: j{i}, arrival: {7 * i}s, duration: 30s, "
        "podSets: [{count: 1, requests: {nvidia.com/gpu: 1}}]}\n"
        for i in range(4000)
    )
    (files / "long.yaml").write_text(TRACE.split("- {name: a", 1)[0] + jobs)
    asked = ["simulate", "snap.yaml", "long.yaml", "--policy", "fgd", "--policy", "conservative"]
    kept = [*asked, "--checkpoint", "kept.json", "--workers", workers]
    process = start([*kept, "--log-format", "json"])
    assert process.stderr is not None
    for line in process.stderr:
        if "jobs done" in line:
            break
    process.send_signal(signal.SIGINT)
    done = finish(process)
    assert done.code == 130
    assert re.search(r"interrupted; simulated [12] of 2 runs, so far: .*fgd on five", done.out)
    assert "0" in json.loads(Path("kept.json").read_text())["runs"]
    resumed = finish(start([*kept, "--resume", "-o", "json", "-q"]))
    assert resumed.out == finish(start([*asked, "-o", "json", "-q"])).out
