"""The commands of docs/with-slurm.md do what it says, on files of a real Slurm."""

from __future__ import annotations

import glob
import re
import shlex
import shutil
from pathlib import Path

import pytest

from kantopt.cli.endings import run

ROOT = Path(__file__).resolve().parents[3]
DUMP = ROOT / "tests" / "formats" / "fixtures" / "slurm" / "gpus-22.05-text"
NAMES = {"job-detail": "jobs", "node": "nodes", "partition": "partitions"}
NAMES |= {"reservation": "reservations"}


def commands() -> list[list[str]]:
    text = (ROOT / "docs" / "with-slurm.md").read_text(encoding="utf-8")
    before = text.partition("## Following a plan")[0]  # that needs a Slurm to follow it
    lines = re.findall(r"^kantopt (.*)$", before, re.MULTILINE)
    return [shlex.split(line, comments=True) for line in lines]


def expanded(words: list[str]) -> list[str]:
    found: list[str] = []
    for word in words:
        found += sorted(glob.glob(word)) if word == "*.txt" else [word]
    return found


def test_the_commands_of_the_guide_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in DUMP.iterdir():
        shutil.copy(path, tmp_path / f"{NAMES.get(path.stem, path.stem)}.txt")
    for name in ("jobs", "nodes"):
        shutil.copy(tmp_path / f"{name}.txt", tmp_path / f"{name}.later")
    monkeypatch.chdir(tmp_path)
    asked = commands()
    assert [words[0] for words in asked] == [
        "plan", "explain", "plan", "certify", "certify", "verify", "defrag", "convert", "convert",
    ]  # fmt: skip
    for words in asked:
        proved = (0, 10, 11) if words[0] == "certify" else (0,)
        assert run(expanded(words)) in proved, words
    capsys.readouterr()
    again = (tmp_path / "again.slurm").read_text(encoding="utf-8")
    assert again.startswith("NodeName=n1 ")
    assert "JobId=12 JobName=big" in again


@pytest.mark.parametrize("said", ["scontrol: error: ", ""])
def test_a_cluster_without_a_topology_says_so(
    said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With topology/none, which is the default, Slurm prints nothing but this, to stderr."""
    nodes, topology = tmp_path / "nodes.txt", tmp_path / "topology.txt"
    nodes.write_text("NodeName=n1 CPUTot=8 RealMemory=8000 State=IDLE Partitions=main\n")
    topology.write_text(f"{said}No topology information available\n")
    assert run(["convert", "--from", "slurm", str(topology), str(nodes)]) == 0
    assert "levels" not in capsys.readouterr().out
