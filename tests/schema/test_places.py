"""Line and column of what is wrong in a document."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.errors import Problem
from kantopt.schema.places import located

YAML = """\
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- name: a
  podSets:
  - count: x
    requests: {cpu: 1, "nvidia.com/gpu": 8GB}
---
apiVersion: kantopt/v1alpha1
kind: JobList
jobs: [{name: b, podSets: []}]
"""
JSON = '{\n "jobs": [\n  {"name": "a",\n   "podSets": [{"count": "x"}]}]}\n'


def said(file: str, path: str) -> str:
    return located([Problem(file, path, "this", "that")])[0].hint


@pytest.mark.parametrize(
    ("index", "path", "line", "column"),
    [
        ("#1", "jobs[0].podSets[0].count", 6, 5),
        ("#1", 'jobs[0].podSets[0].requests["nvidia.com/gpu"]', 7, 24),
        ("#1", "jobs[0].podSets[0].minCount", 6, 5),
        ("#2", "jobs[0].podSets", 11, 18),
        ("#2", "metadata", 9, 1),
    ],
)
def test_places_in_yaml(tmp_path: Path, index: str, path: str, line: int, column: int) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(YAML)
    assert said(f"{file}{index}", path) == f"line {line}, column {column}"


def test_places_in_json(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(JSON)
    assert said(str(file), "jobs[0].podSets[0].count") == "line 4, column 17"


def test_what_cannot_be_read_again_has_no_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    for file in ("<stdin>", str(tmp_path / "gone.yaml"), str(broken)):
        assert said(file, "jobs[0]") == ""


def test_a_hint_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "jobs.json"
    file.write_text(JSON)
    problem = Problem(str(file), "jobs", "this", "that", "did you mean these?")
    assert str(located([problem])[0]).endswith("(did you mean these?; line 2, column 2)")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 50_000,
        "[" * 50_000 + "]" * 50_000,
        '{"a":' * 50_000,
        "".join(f"{' ' * i}a:\n" for i in range(2_000)),
        "- " * 50_000 + "a",
    ],
    ids=["open", "flow", "json", "block", "dashes"],
)
@pytest.mark.parametrize("path", ["", "line 1, column 101", "jobs[0]"])
def test_what_is_nested_deeply_ends_in_words(tmp_path: Path, text: str, path: str) -> None:
    file = tmp_path / "deep.yaml"
    file.write_text(text)
    assert said(str(file), path) == ""


def test_nothing_is_read_again_for_problems_without_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "jobs.yaml"
    file.write_text(YAML)
    monkeypatch.setattr("kantopt.schema.places.read_text", lambda _: pytest.fail("read again"))
    assert said(str(file), "") == ""
