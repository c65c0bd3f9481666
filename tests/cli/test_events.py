"""What a run tells other programs of itself on stderr."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.conftest import Cli


@pytest.fixture(autouse=True)
def _in_folder(files: object) -> None:
    """All of these run in the folder."""


def told(cli: Cli, *arguments: str) -> list[dict[str, Any]]:
    done = cli("plan", "snap.yaml", "jobs.yaml", "-o", "json", *arguments)
    assert done.code == 0
    return [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]


def test_parts_of_the_work_are_told_as_they_begin(cli: Cli) -> None:
    news = told(cli, "--log-format", "json")
    events = [each["event"] for each in news]
    assert (events[:2], events[-1]) == (["reading", "planning"], "done")
    times = [each["t"] for each in news]
    assert times == sorted(times)
    better = [each for each in news if "values" in each]
    assert better
    assert all(len(each["values"]) == len(each["bounds"]) > 0 for each in better)


def test_text_tells_of_better_plans_only(cli: Cli) -> None:
    done = cli("plan", "snap.yaml", "jobs.yaml", "-v", "--engine", "fast")
    assert done.err.startswith("t=")
    assert "reading" not in done.err


def test_quiet_is_quiet(cli: Cli) -> None:
    assert not told(cli, "--log-format", "json", "-q")
