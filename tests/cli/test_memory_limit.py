"""``--memory-limit``: it ends the search, not the answer."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from kantopt import memory
from kantopt.cli.options import parse_size
from tests.cli.conftest import Cli, finish, start
from tests.cli.test_endings import hard_question

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/statm").exists(), reason="the system does not tell what is in use"
)


@pytest.mark.parametrize(
    ("text", "size"), [("4Gi", 2**32), ("500M", 5 * 10**8), (" 1024 ", 1024), ("1.5Ki", 1536)]
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "0", "-1Gi", "4 GB", "1m"])
def test_what_is_no_size_is_a_usage_error(cli: Cli, files: Path, text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_size(text)
    done = cli("plan", "snap.yaml", "jobs.yaml", f"--memory-limit={text}")
    assert (done.code, done.out) == (64, "")
    assert "expected an amount of memory such as 4Gi" in done.err


@pytest.mark.parametrize("engine", ["fast", "auto"])
def test_with_next_to_no_memory_the_null_plan_is_written(files: Path, engine: str) -> None:
    limited = ["--memory-limit", "1Mi", "--engine", engine]
    done = finish(start(["plan", "snap.yaml", "jobs.yaml", *limited, "-O", "plan.json"]))
    assert done.code == 3, done.err
    plan = json.loads(Path("plan.json").read_text())
    assert plan["solver"]["status"] == "UNKNOWN"
    assert plan["warnings"][0].startswith("the memory limit of 1 MiB ended the search")
    assert "not examined: reading took all the memory" in plan["warnings"]
    assert finish(start(["verify", "snap.yaml", "jobs.yaml", "plan.json"])).code == 0


def test_a_limit_that_is_not_reached_changes_nothing(files: Path) -> None:
    plans = []
    for limited in ([], ["--memory-limit", "8Gi"]):
        done = finish(start(["plan", "snap.yaml", "jobs.yaml", *limited, "-o", "json"]))
        plans.append(json.loads(done.out))
    assert plans[0] == plans[1]
    assert plans[0]["solver"]["status"] == "OPTIMAL"


def test_where_nothing_is_told_the_limit_says_that_it_has_no_effect(
    cli: Cli, files: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "resident_bytes", lambda _: 0)
    done = cli("plan", "snap.yaml", "jobs.yaml", "--memory-limit", "1Mi", "--engine", "fast")
    assert done.code == 3, "nothing was examined"
    assert done.err.startswith("kantopt: warning: the memory limit has no effect")


def test_the_search_ends_at_the_limit_and_the_plan_says_so(files: Path) -> None:
    hard_question()
    # Enough to read and to load the solver, too little to search in.
    limited = ["--memory-limit", "130Mi", "--time-limit", "40s", "--engine", "exact"]
    done = finish(start(["plan", "hard.json", *limited, "-O", "plan.json"]))
    assert done.code == 0, done.err
    plan = json.loads(Path("plan.json").read_text())
    assert "the memory limit ended the exact search" in plan["warnings"]
    assert not [text for text in plan["warnings"] if "time limit" in text]
    assert plan["solver"]["status"] == "FEASIBLE"
    assert plan["summary"]["placedPods"] > 0
    assert finish(start(["verify", "hard.json", "plan.json"])).code == 0
