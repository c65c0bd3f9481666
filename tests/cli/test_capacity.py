"""``kantopt capacity`` as it is called."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from kantopt.schema.published import published_schema
from tests.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("files")
ASKED = ("capacity", "snap.yaml", "jobs.yaml", "llm-8", "--time-limit", "20s")
SHORT = ("capacity", "snap.yaml", "--time-limit", "20s")


def test_the_answer_is_a_table_a_document_or_lines(cli: Cli) -> None:
    shown = cli(*ASKED)
    assert shown.code == 4  # two of three nodes have a pod that is not movable
    assert shown.out.startswith("0 more of team-a/llm-8 fit now, 0 if pods may move; nobody is")
    found = json.loads(cli(*ASKED, "-o", "json").out)
    jsonschema.validate(found, published_schema("Capacity"))
    assert found["verdict"]["status"] == "WAITS"
    assert yaml.safe_load(cli(*ASKED, "-o", "yaml").out)["rooms"] == found["rooms"]
    lines = cli(*SHORT, "--gpus", "4", "-o", "name").out.splitlines()
    assert lines == [f"{when} 4 4 OPTIMAL 0" for when in ("now", *MOVED)]
    beside = cli(*ASKED, "-O", "found.json")
    assert beside.out == shown.out
    assert json.loads(Path("found.json").read_text("utf-8"))["kind"] == "Capacity"


MOVED = ("after-moves", "after-defragmentation")


def test_ten_domains_are_shown_and_all_of_them_if_it_is_wide(cli: Cli) -> None:
    nodes = [
        {"name": f"n{i:02}", "labels": {"rack": f"r{i:02}"}, "allocatable": {"cpu": 1 + i % 3}}
        for i in range(24)
    ]
    snapshot = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "ClusterSnapshot",
        "topology": {"levels": [{"name": "rack", "nodeLabel": "rack"}]},
        "nodes": nodes,
    }
    Path("many.json").write_text(json.dumps(snapshot), encoding="utf-8")
    asked = ("capacity", "many.json", "--cpu", "1")
    shown, wide = cli(*asked).out, cli(*asked, "-o", "wide").out
    assert "8 with 1, 8 with 2, 8 with 3" in shown
    assert "14 others     20" in shown
    assert re.search(r"node +24 +48", shown), "what all have stands where levels are compared"
    assert shown.count("\nr0") + shown.count("\nr1") + shown.count("\nr2") == 10
    assert wide.count("\nr0") + wide.count("\nr1") + wide.count("\nr2") == 24
    assert "24 nodes" in wide


def test_the_same_bytes_come_out_if_work_is_counted(cli: Cli) -> None:
    asked = (*SHORT, "--gpus", "8", "--max-moves", "1", "--deterministic", "-o", "json")
    assert cli(*asked).out == cli(*asked).out


def test_the_limit_of_moves_is_the_models_unless_one_is_given(cli: Cli) -> None:
    asked = (*SHORT, "--gpus", "8", "-o", "json")
    limits = [
        json.loads(cli(*asked, *more).out)["rooms"][1].get("maxMoves")
        for more in ((), ("-m", "defrag"), ("-m", "defrag", "--max-moves", "3"))
    ]
    assert limits == [None, 32, 3]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("jobs.yaml", "llm-9"), "capacity: found llm-9, expected a job of the input"),
        ((), "capacity: found no pending job and none named, expected NAMESPACE/NAME"),
        (("--pods", "4"), "--pods: found no resource with it, expected what each pod asks for"),
        (("--cpu", "many"), '--cpu: found "many", expected an amount such as 12, 500m or 120Gi'),
        (("--request", "gpu"), '--request: found "gpu", expected NAME=AMOUNT'),
        (("--gpus", "1", "--required", "row"), "--required: found row, expected rack"),
        (("--gpus", "1", "--job", "llm-8"), "--job: found a job in short as well"),
    ],
)
def test_what_cannot_be_asked_is_said(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli("capacity", "snap.yaml", *arguments)
    assert (done.code, done.out) == (64, "")
    assert message in done.err


def test_a_job_alone_in_the_input_needs_no_name(cli: Cli) -> None:
    assert "of team-a/llm-8 fit now" in cli("capacity", "snap.yaml", "jobs.yaml").out


def test_the_more_levels_there_are_the_fewer_domains_of_each_are_shown(cli: Cli) -> None:
    levels = ("zone", "block", "rack")
    nodes = [
        {"name": f"n{i:02}", "labels": {x: f"{x}{i:02}" for x in levels}, "allocatable": {"cpu": 1}}
        for i in range(30)
    ]
    snapshot = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "ClusterSnapshot",
        "topology": {"levels": [{"name": x, "nodeLabel": x} for x in levels]},
        "nodes": nodes,
    }
    Path("levels.json").write_text(json.dumps(snapshot), encoding="utf-8")
    shown = cli("capacity", "levels.json", "--cpu", "1").out
    assert shown.count("27 others") == 4
    assert len(shown.splitlines()) <= 60
