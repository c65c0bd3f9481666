"""Answers as pages: every command that shows a table writes one, whole, to a file or stdout."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("files")


def data_of(page: str) -> dict[str, Any]:
    """What the page's script is given."""
    text = page.partition('<script type="application/json" id="data">')[2]
    data: dict[str, Any] = json.loads(text.partition("</script>")[0])
    return data


def test_a_plan_is_written_as_a_page_where_the_file_is_named_so(cli: Cli) -> None:
    done = cli("plan", "snap.yaml", "jobs.yaml", "--engine", "fast", "-O", "plan.html")
    assert done.code == 0
    page = Path("plan.html").read_text()
    assert page.startswith("<!doctype html>")
    headline = done.out.splitlines()[0]
    assert headline in page
    assert data_of(page)["picture"]["nodes"]["name"] == ["gpu-001", "gpu-002", "gpu-003"]
    assert len(data_of(page)["picture"]["waves"]) >= 1


def test_plan_and_render_write_the_same_page(cli: Cli) -> None:
    asked = ("plan", "snap.yaml", "jobs.yaml", "--engine", "fast", "--deterministic")
    assert cli(*asked, "-O", "plan.json").code == 0
    page = cli(*asked, "-o", "html").out
    assert cli("render", "snap.yaml", "jobs.yaml", "plan.json", "--to", "html").out == page


def test_a_cluster_as_it_stands_says_who_waits_and_why(cli: Cli) -> None:
    page = cli("render", "snap.yaml", "jobs.yaml", "huge.yaml", "--to", "html").out
    waiting = data_of(page)["picture"]["waiting"]
    assert [(pods, wanted) for _, pods, wanted, _ in waiting] == [(2, 2), (4, 4)]
    assert all(why for *_, why in waiting)
    assert "2 jobs wait with 6 pods" in page


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (("certify", "snap.yaml", "jobs.yaml", "--deterministic"), "BETTER PLAN FOUND"),
        (("explain", "snap.yaml", "jobs.yaml", "team-a/llm-8"), "job team-a/llm-8, priority 1000"),
        (("capacity", "snap.yaml", "jobs.yaml", "team-a/llm-8"), "team-a/llm-8"),
    ],
)
def test_other_answers_are_pages_with_the_cluster_on_a_map(
    cli: Cli, asked: tuple[str, ...], words: str
) -> None:
    page = cli(*asked, "-o", "html").out
    assert page.startswith("<!doctype html>")
    assert words in page.replace("&#39;", "'")
    assert len(data_of(page)["picture"]["nodes"]["name"]) == 3


def test_an_answer_that_was_kept_is_shown_as_a_page(cli: Cli) -> None:
    assert cli("plan", "snap.yaml", "jobs.yaml", "--engine", "fast", "-O", "plan.yaml").code == 0
    page = cli("show", "plan.yaml", "-o", "html").out
    assert "ACTIONS" in page
    assert data_of(page)["picture"] is None


@pytest.mark.parametrize(
    ("asked", "words", "nodes"),
    [
        (("metrics", "snap.yaml", "jobs.yaml"), "Metrics of prod-a as it is", 3),
        (("verify", "snap.yaml"), "SOUND: no rule is broken", 0),
        (("verify", "--against", "snap.yaml", "plan.yaml"), "can still be taken", 0),
    ],
)
def test_measures_and_verdicts_are_pages_as_well(
    cli: Cli, asked: tuple[str, ...], words: str, nodes: int
) -> None:
    assert cli("plan", "snap.yaml", "jobs.yaml", "--engine", "fast", "-O", "plan.yaml").code == 0
    done = cli(*asked, "-O", "answer.html")
    page = Path("answer.html").read_text()
    assert page.startswith("<!doctype html>")
    assert words in done.out
    assert words in page
    picture = data_of(page)["picture"]
    assert (len(picture["nodes"]["name"]) if picture else 0) == nodes
    assert cli(*asked, "-o", "html").out == page
