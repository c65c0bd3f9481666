"""Questions about jobs of each kind, and how answers are told."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kantopt.report.blocks import Paragraph, Table
from scripts.bench import explanations
from scripts.bench.command import main
from scripts.bench.explanations import COLUMNS, Explained, asked, explained_blocks
from scripts.bench.row import to_cells

ROW = Explained(1250, 0, "leaf", "WAITS", True, True, None, 2, 2.25)


def test_each_kind_of_job_is_there() -> None:
    made, named = asked(96, 1)
    assert asked(96, 1)[0] == made
    jobs = {f"{job.namespace}/{job.name}": job for job in made.jobs}
    assert len(set(named.values())) == len(named) == 12
    assert set(named.values()) <= set(jobs)
    runs = [kind for kind, name in named.items() if jobs[name].pod_sets[0].assignments]
    assert runs == ["running-gang", "running-pod"]


def test_an_answer_is_whole_unless_something_is_missing() -> None:
    assert ROW.whole
    assert replace(ROW, minimal=True, proved=False).whole
    assert not replace(ROW, minimal=False).whole
    assert not replace(ROW, complete=False).whole
    assert to_cells(ROW, COLUMNS)[COLUMNS.index("seconds")] == "2.25"
    table, text = explained_blocks([ROW, replace(ROW, complete=False, seconds=4.0)])
    assert isinstance(table, Table)
    assert table.rows[0][-3:] == ("-", "2", "2.25")
    assert isinstance(text, Paragraph)
    assert text.text == "1 of 2 answers are whole; seconds: median 4.00, longest 4.00."


def test_the_command_asks_and_tells(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = explanations.asked

    def few(nodes: int, seed: int) -> tuple[explanations.Documents, dict[str, str]]:
        documents, named = real(nodes, seed)
        return documents, {"selector": named["selector"]}

    monkeypatch.setattr(explanations, "asked", few)
    code = main(["explanations", "--nodes", "64", "--seeds", "1", "--limits", "30s"])
    assert code == 0
    assert "NEVER" in capsys.readouterr().out
