"""``plan --for`` and ``plan --clear`` as they are called."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("files")
ASKED = ("plan", "snap.yaml", "jobs.yaml", "--for", "llm-8", "--time-limit", "20s")


def test_a_plan_for_one_job_leaves_the_others_alone(cli: Cli) -> None:
    done = cli(*ASKED, "-o", "json")
    plan = json.loads(done.out)
    assert done.code == 0
    assert plan["solver"]["status"] == "OPTIMAL"
    assert "warnings" not in plan
    assert {item["job"].split("/")[1] for item in plan["assignments"]} == {"llm-8"}
    assert plan["model"]["metadata"]["name"] == "preemption"
    assert cli(*ASKED, "-m", "training", "-o", "name").code == 0


def test_prices_are_a_table_a_document_or_lines(cli: Cli) -> None:
    shown = cli(*ASKED, "--clear", "rack")
    assert shown.code == 0
    assert "RACK" in shown.out
    prices = json.loads(cli(*ASKED, "--clear", "rack", "-o", "json").out)
    assert prices["kind"] == "PriceList"
    assert {price["domain"] for price in prices["prices"]} == {"r1", "r2"}
    assert len(cli(*ASKED, "--clear", "rack=r1", "-o", "name").out.splitlines()) == 1
    beside = cli(*ASKED, "--clear", "rack", "-O", "prices.json")
    assert (beside.code, beside.out) == (0, shown.out)
    assert json.loads(Path("prices.json").read_text("utf-8"))["kind"] == "PriceList"


def test_the_exit_code_says_that_no_domain_has_room(cli: Cli) -> None:
    text = Path("jobs.yaml").read_text("utf-8")
    Path("jobs.yaml").write_text(text.replace("count: 2", "count: 200"), encoding="utf-8")
    done = cli(*ASKED, "--clear", "rack")
    assert done.code == 4
    assert "No rack has room" in done.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--clear", "rack"), "--clear: found no job, expected --for JOB beside it"),
        (("--for", "llm-9"), "did you mean llm-8?"),
        (("--for", "llm-8", "--clear", "row"), "--clear: found row, expected"),
    ],
)
def test_what_cannot_be_asked_is_said(cli: Cli, arguments: tuple[str, ...], message: str) -> None:
    done = cli("plan", "snap.yaml", "jobs.yaml", *arguments)
    assert done.code == 64
    assert message in done.err


def test_prices_of_a_cluster_of_yesterday_are_refused(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KANTOPT_NOW", "2026-09-02T03:00:00Z")
    done = cli(*ASKED, "--clear", "rack", "--max-snapshot-age", "15m")
    assert (done.code, done.out) == (65, "")


def gpus(name: str, priority: int, number: int, more: str = "") -> str:
    """A job of one pod, as a line of YAML."""
    podset = f"{{name: w, count: 1, requests: {{nvidia.com/gpu: {number}}}{more}}}"
    return f"- {{name: {name}, priority: {priority}, podSets: [{podset}]}}\n"


def test_what_becomes_of_it_together_with_others_is_asked_within_the_limits(cli: Cli) -> None:
    """Alone it evicts nobody of its priority; what is evicted for the other makes room for it."""
    head = "apiVersion: kantopt/v1alpha1\nkind: "
    Path("full.yaml").write_text(
        f"{head}ClusterSnapshot\nmetadata: {{name: full}}\nnodes:\n"
        "- {name: a, allocatable: {nvidia.com/gpu: 8}}\njobs:\n"
        + gpus("runs", 10, 8, ", assignments: [{node: a, count: 1}]")
    )
    two = gpus("small", 10, 2) + gpus("first", 50, 4)
    Path("two.yaml").write_text(f"{head}JobList\njobs:\n{two}")
    asked = ("plan", "full.yaml", "two.yaml", "--for", "small")
    together = "job default/small: planned together with 1 other pending job it is placed"
    assert together in cli(*asked).out
    assert together not in cli(*asked, "--max-evictions", "0").out
    assert "(kantopt plan --max-evictions 1)" in cli(*asked, "--max-evictions", "1").out
