"""What a shell completes, and what help shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from kantopt.cli.app import COMMANDS
from kantopt.cli.help import EXAMPLES, GROUPS
from tests.cli.conftest import Cli, environment

pytestmark = pytest.mark.usefixtures("files")


def completed(*words: str, behind: tuple[str, ...] = ()) -> list[str]:
    """Ask as bash does; the last word is being written, others may stand behind the cursor."""
    line = " ".join(("kantopt", *words, *behind))
    asked = {"_KANTOPT_COMPLETE": "complete_bash", "COMP_WORDS": line}
    code = "import sys; sys.argv = ['kantopt']; from kantopt.__main__ import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=environment(**asked, COMP_CWORD=str(len(words))),
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("expl",), {"explain"}),
        (("plan", "-m", "pre"), {"preemption"}),
        (("plan", "snap.yaml", "jobs.yaml", "--for", "team-"), {"team-a/llm-8", "team-b/batch-1"}),
        (("explain", "snap.yaml", "jobs.yaml", "team-a"), {"team-a/llm-8"}),
        (("drain", "-f", "snap.yaml", "gpu-00"), {"gpu-001", "gpu-002", "gpu-003"}),
        (("defrag", "--goal", "empty-n"), {"empty-nodes="}),
        (("plan", "--strategy", "fg"), {"fgd"}),
        (("simulate", "--policy", "fi"), {"fifo"}),
        (("plan", "missing.yaml", "--for", "team"), set()),
    ],
)
def test_words_are_completed(words: tuple[str, ...], found: set[str]) -> None:
    assert set(completed(*words)) == found


def test_nodes_are_completed_from_files_behind_the_cursor() -> None:
    assert set(completed("drain", "gpu-00", behind=("-f", "snap.yaml"))) == {
        "gpu-001",
        "gpu-002",
        "gpu-003",
    }


def test_help_lists_options_in_groups_and_every_one_once(cli: Cli) -> None:
    text = cli("plan", "--help").out
    titles = [f"{title}:" for title in ("Options", *GROUPS, "Examples")]
    places = [text.index(f"\n{title}\n") for title in titles]
    assert places == sorted(places)
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", text, re.MULTILINE)
    assert len(options) == len(set(options)) > 30


def test_help_names_arguments_as_people_write_them(cli: Cli) -> None:
    for command, usage in (
        ("plan", "FILE..."),
        ("drain", "NODE..."),
        ("explain", "FILE... [JOB]"),
        ("simulate", "SNAPSHOT TRACE..."),
        ("init", "[FOLDER]"),
        ("show", "FILE"),
    ):
        text = cli(command, "--help").out
        assert text.startswith(f"Usage: kantopt {command} [OPTIONS] {usage}\n")
        assert f"\n  {usage}  " in text
    for command in COMMANDS:
        text = cli(command, "--help").out
        assert "<list[str]>" not in text
        assert "default: (" not in text


def test_every_group_has_options_that_some_command_has(cli: Cli) -> None:
    helps = "".join(cli(command, "--help").out for command in COMMANDS)
    for name in (name for names in GROUPS.values() for name in names):
        assert f"--{name.replace('_', '-')}" in helps, name


def test_every_command_has_an_example_with_options_that_it_has(cli: Cli) -> None:
    for command in COMMANDS:
        text = cli(command, "--help").out
        for line in EXAMPLES[command]:
            assert f"  {line}\n" in text
            for part in re.split(r" && ", line.partition("  #")[0]):
                name = part.split()[1]
                known = cli(name, "--help").out
                assert all(f"{option}" in known for option in re.findall(r"--[a-z-]+", part))


def test_help_is_the_same_for_a_narrow_terminal() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "kantopt", "plan", "--help"],
        capture_output=True,
        text=True,
        env=environment(COLUMNS="60"),
        cwd=os.getcwd(),
    )
    assert all(len(line) <= 80 for line in done.stdout.splitlines())
