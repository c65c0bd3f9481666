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
    assert done.code in (0, 3, 4, 11), done.err
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


def test_messages_are_in_the_words_of_slurm_and_those_for_programs_in_ours(cli: Cli) -> None:
    done = cli("plan", *SLURM, "--for", "team-a/1", "--engine", "fast")
    assert done.code == 64
    assert "of which all tasks have a node" in done.err
    assert not OURS.findall(done.err)
    news = cli("plan", *SLURM, "--for", "team-a/1", "--engine", "fast", "--log-format", "json")
    assert "of which all pods have a node" in news.err
    after = cli("plan", "--for", "batch/backfill", *NATIVE).err
    said = "of which all pods have a node"
    assert said in after, "the next command speaks as its own input wants it"


@pytest.mark.parametrize(
    "command",
    [
        ["explain", "root/18", "--time-limit", "5"],
        ["capacity", "--pods", "2", "--gpus", "8", "--time-limit", "5"],
        ["certify", "--time-limit", "5"],
    ],
    ids=lambda command: command[0],
)
def test_an_answer_is_shown_again_in_the_words_of_slurm(
    cli: Cli, tmp_path: Path, command: list[str]
) -> None:
    kept = tmp_path / "answer.json"
    assert cli(command[0], *SLURM, *command[1:], "-o", "json", "-O", str(kept)).code in (
        0,
        3,
        4,
        11,
    )
    shown = cli("show", str(kept), "-o", "wide")
    assert shown.code == 0
    assert "task" in shown.out
    assert not OURS.findall(shown.out)


@pytest.mark.parametrize(
    "options",
    [
        ["defrag", "--goal", "fragment-rate=GPU:4", "--engine", "fast"],
        ["defrag", "--goal", "empty-nodes=1,class=GPU", "--engine", "fast"],
        ["explain", "team-b/2", "--what-if", "set=team-b/2:GPU=1", "--time-limit", "5"],
        ["capacity", "--request", "GPU=4", "--time-limit", "5"],
        ["metrics", "--slot", "4", "--slot-resource", "GPU"],
    ],
    ids=lambda options: "-".join(options[:2]),
)
def test_options_take_the_resources_that_are_shown(cli: Cli, options: list[str]) -> None:
    shown, ours = (
        cli(options[0], *SLURM, *[text.replace("GPU", name) for text in options[1:]])
        for name in ("gres/gpu", "nvidia.com/gpu")
    )
    assert (shown.code, "found" in shown.err) == (ours.code, False), shown.err
    assert shown.out == ours.out.replace("nvidia.com/gpu", "gres/gpu")


def test_what_conversion_notes_is_in_the_words_of_slurm(cli: Cli, tmp_path: Path) -> None:
    done = cli("convert", "--from", "slurm", *SLURM, "-O", str(tmp_path / "cluster.yaml"))
    assert "all of their tasks would restart" in done.err
    assert not OURS.findall(done.err)


def test_pictures_pages_and_simulations_are_in_the_words_of_slurm(cli: Cli, tmp_path: Path) -> None:
    assert cli("plan", *SLURM, "--engine", "fast", "-O", str(tmp_path / "plan.json")).code == 0
    for files in (SLURM, [*SLURM, str(tmp_path / "plan.json")]):
        drawn = cli("render", "--to", "svg", *files)
        assert drawn.code == 0
        assert "1 of 1 tasks:" in drawn.out
        assert not OURS.findall(drawn.out + drawn.err)
    page = cli("render", "--to", "html", *SLURM).out
    assert '"marks":["drained"]' in page
    assert '"states":["not ready","drained"' in page
    assert '"holdsJob":["JOB","JOB/COMPONENT"' in page
    (tmp_path / "trace.yaml").write_text(TRACE)
    done = cli("simulate", *SLURM, str(tmp_path / "trace.yaml"), "--policy", "fifo", "-o", "wide")
    assert done.code == 0
    assert "all of their tasks would restart" in done.err
    assert not OURS.findall(done.out + done.err)


def test_a_switch_that_is_called_pod_keeps_its_name(cli: Cli, tmp_path: Path) -> None:
    for name in SLURM:
        text = Path(name).read_text()
        (tmp_path / Path(name).name).write_text(
            re.sub(r"\bleaf1\b", "pod", text).replace("leaf[1-2]", "pod,leaf2")
        )
    asked = ("--pods", "2", "--gpus", "1", "--memory", "1Gi", "-o", "wide", "--time-limit", "60")
    done = cli("capacity", *map(str, tmp_path.iterdir()), *asked)
    assert done.code == 0
    assert re.search(r"^spine/pod +\d", done.out, re.MULTILINE)
    assert "a slot is room for one task" in done.out
    assert OURS.findall(done.out) == ["pod"]


NATIVE = [str(ROOT / "instances/quickstart" / name) for name in ("snapshot.yaml", "jobs.yaml")]
TRACE = """\
apiVersion: kantopt/v1alpha1
kind: Trace
metadata: {name: one}
jobs:
- {name: a, arrival: 0s, duration: 1m, podSets: [{count: 1, requests: {nvidia.com/gpu: 1}}]}
- {name: b, arrival: 30s, duration: 1m, podSets: [{count: 1, requests: {nvidia.com/gpu: 1}}]}
"""
