"""Answers about a cluster of Slurm are in the words of Slurm; documents are in ours."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, Cli

SLURM = sorted(map(str, (ROOT / "tests/formats/fixtures/slurm/gpus-22.05-text").iterdir()))
OURS = re.compile(r"\bpods?\b|\bpod ?sets?\b|nvidia|cordoned", re.IGNORECASE)


@pytest.mark.parametrize(
    "command",
    [
        ["plan", "--engine", "fast", "--time-limit", "90", "-o", "wide"],
        ["explain", "root/18", "-o", "wide", "--time-limit", "5"],
        ["capacity", "--pods", "2", "--gpus", "8", "--time-limit", "5"],
        ["metrics"],
        ["certify", "-o", "wide", "--time-limit", "5"],
        ["verify"],
    ],
    ids=lambda command: command[0],
)
def test_tables_of_what_slurm_prints_have_no_word_of_kubernetes(
    cli: Cli, command: list[str]
) -> None:
    done = cli(command[0], *SLURM, *command[1:])
    assert done.code in (0, 3, 4), done.err
    assert not OURS.findall(done.out)
    assert not OURS.findall(done.err)


def test_a_plan_keeps_our_words_and_shows_those_of_slurm_again(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    assert (
        cli(
            "plan", *SLURM, "--engine", "fast", "--time-limit", "90", "-o", "json", "-O", str(path)
        ).code
        == 0
    )
    assert "pods fit" in path.read_text()
    shown = cli("show", str(path)).out
    assert "tasks fit" in shown
    assert not OURS.findall(shown)


def test_a_page_is_in_the_words_of_slurm(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    assert cli("plan", *SLURM, "--engine", "fast", "--time-limit", "90", "-O", str(path)).code == 0
    text = path.read_text()
    assert '"pod":"task"' in text
    assert "tasks fit" in text
    assert "pods fit" not in text
