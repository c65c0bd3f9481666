"""What a run reads is still there afterwards, whatever names its outputs are given."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import SNAPSHOT, Cli


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


@pytest.mark.parametrize("option", ["-O", "--metrics-file", "--lock-file"])
@pytest.mark.parametrize("path", ["snap.yaml", "./snap.yaml", "link.yaml"])
@pytest.mark.parametrize("command", ["plan", "defrag"])
def test_an_answer_never_takes_the_place_of_an_input(
    cli: Cli, command: str, option: str, path: str
) -> None:
    Path("link.yaml").symlink_to("snap.yaml")
    done = cli(command, "jobs.yaml", "snap.yaml", option, path)
    assert done.code == 64
    assert f"{path}: found an input of this run, expected another file to write" in done.err
    assert Path("snap.yaml").read_text() == SNAPSHOT


@pytest.mark.parametrize(
    "arguments",
    [
        ("certify", "snap.yaml"),
        ("certify", "other.yaml", "--after", "snap.yaml"),
        ("certify", "snap.yaml", "-O", "new.yaml", "--counter-example"),
        ("verify", "snap.yaml"),
        ("verify", "plan.json", "--against", "snap.yaml"),
        ("explain", "snap.yaml", "jobs.yaml", "llm-8"),
        ("metrics", "snap.yaml"),
        ("render", "--to", "svg", "snap.yaml"),
        ("convert", "--from", "kubernetes", "snap.yaml"),
    ],
)
def test_no_command_writes_over_what_it_reads(cli: Cli, arguments: tuple[str, ...]) -> None:
    last = () if arguments[-1].startswith("--") else ("-O",)
    assert cli(*arguments, *last, "snap.yaml").code == 64
    assert Path("snap.yaml").read_text() == SNAPSHOT


@pytest.mark.parametrize(
    "outputs",
    [
        ("plan", "snap.yaml", "jobs.yaml", "-O", "one.json", "--metrics-file", "./one.json"),
        ("plan", "snap.yaml", "jobs.yaml", "-O", "one.json", "--lock-file", "one.json"),
        ("plan", "snap.yaml", "jobs.yaml", "--last-plan", "one.json", "--lock-file", "one.json"),
        ("plan", "snap.yaml", "jobs.yaml", "--metrics-file", "one.json", "--lock-file", "one.json"),
        ("defrag", "snap.yaml", "-O", "one.json", "--metrics-file", "one.json"),
        ("certify", "snap.yaml", "-O", "one.json", "--counter-example", "one.json"),
    ],
    ids=" ".join,
)
def test_two_outputs_are_two_files(cli: Cli, outputs: tuple[str, ...]) -> None:
    done = cli(*outputs)
    assert (done.code, Path("one.json").exists()) == (64, False)
    assert done.err.endswith("one.json: found two outputs of this run, expected a file for each\n")


def test_the_answer_may_be_the_last_plan_as_well(cli: Cli) -> None:
    arguments = ("plan", "snap.yaml", "jobs.yaml", "-O", "one.json", "--last-plan", "one.json")
    assert [cli(*arguments).code for _ in range(2)] == [0, 0]
