"""``kantopt show``: any answer again, as the command that made it showed it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("files")

ASKED = {
    "plan": ("plan", "snap.yaml", "jobs.yaml", "--workers", "1"),
    "certify": ("certify", "snap.yaml", "jobs.yaml"),
    "explain": ("explain", "snap.yaml", "jobs.yaml", "llm-8"),
    "capacity": ("capacity", "snap.yaml", "--gpus", "8"),
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("form", ["table", "name"])
def test_an_answer_looks_as_it_did_at_first(cli: Cli, name: str, form: str) -> None:
    first = cli(*ASKED[name], "-O", "answer.json", "-o", "json")
    assert first.out == ""
    again = cli("show", "answer.json", "-o", form)
    assert again.code == 0
    assert again.err == ""
    asked = cli(*ASKED[name], "-o", form, "-q")
    assert without_moments(again.out) == without_moments(asked.out)


def without_moments(text: str) -> list[str]:
    return [line for line in text.splitlines() if "wall time" not in line]


def test_json_and_yaml_are_the_document_again(cli: Cli) -> None:
    cli(*ASKED["plan"], "-O", "answer.json", "-o", "json")
    assert cli("show", "answer.json", "-o", "json").out == Path("answer.json").read_text()


@pytest.mark.parametrize(
    ("file", "begins"), [("y.html", "<!doctype"), ("y.json", "{"), ("y", "api")]
)
def test_a_file_gets_what_its_name_says_and_the_table_is_shown(
    cli: Cli, file: str, begins: str
) -> None:
    cli(*ASKED["plan"], "-O", "answer.json", "-o", "json")
    done = cli("show", "answer.json", "-O", file)
    assert Path(file).read_text().startswith(begins)
    assert done.out == cli("show", "answer.json").out


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("snap.yaml", 'found "ClusterSnapshot" (a string), expected one of Plan, Certif'),
        ("nothing.json", "nothing.json: "),
    ],
)
def test_what_is_no_answer_is_refused(cli: Cli, file: str, said: str) -> None:
    done = cli("show", file)
    assert done.code in (65, 66)
    assert done.out == ""
    assert said in done.err


def test_a_plan_that_contradicts_itself_is_refused(cli: Cli) -> None:
    cli(*ASKED["plan"], "-O", "answer.json", "-o", "json")
    plan = json.loads(Path("answer.json").read_text())
    goal = {"objective": "nowhere", "text": "t", "unit": "nodes", "moreIsBetter": True}
    plan["goals"] = [{**goal, "before": 0, "after": 1}]
    Path("answer.json").write_text(json.dumps(plan))
    done = cli("show", "answer.json")
    assert done.code == 65
    assert 'goals[0].objective: found no objective "nowhere", expected one of the obj' in done.err


def test_a_page_is_no_document_and_the_error_says_so(cli: Cli) -> None:
    cli(*ASKED["plan"], "-O", "answer.html")
    done = cli("show", "answer.html")
    assert done.code == 65
    assert "found an HTML page, expected YAML or JSON (a page is for people;" in done.err
