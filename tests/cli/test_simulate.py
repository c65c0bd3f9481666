"""``kantopt simulate`` and ``kantopt policies``."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import yaml

from kantopt.schema.policies import policies_folder, shipped_policies
from tests.cli.conftest import Cli

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
        (("trace.yaml",), 65, "a ClusterSnapshot or a list of Kubernetes objects"),
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
