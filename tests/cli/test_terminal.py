"""On a terminal: colours, wrapping and the line of progress; in a pipe none of them."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import termios
from pathlib import Path

import pytest

from kantopt.cli.progress import Progress
from kantopt.errors import BadDataError
from kantopt.planning.solving.news import News
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from tests.cli.conftest import Cli, finish, start

ESCAPE = "\x1b["


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


def on_terminal(*arguments: str, **environment: str) -> str:
    """Run with stdout on a terminal and return what it shows."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with os.fdopen(slave, "w") as screen:
        process = start(arguments, stdout=screen, **environment)
    shown = b""
    try:
        while data := os.read(master, 65536):
            shown += data
    except OSError:  # Linux says EIO when the last writer is gone
        pass
    os.close(master)
    assert finish(process).code == 0
    return shown.decode().replace("\r\n", "\n")


def test_a_terminal_gets_colours_and_wrapped_reasons() -> None:
    text = on_terminal("plan", "snap.yaml", "huge.yaml")
    assert ESCAPE in text
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text)
    assert max(map(len, bare.splitlines())) <= 80
    # Wrapped, not cut: all words of the reason are there.
    assert "capacity:" in bare
    assert "\N{HORIZONTAL ELLIPSIS}" not in bare


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_declined(environment: dict[str, str]) -> None:
    assert ESCAPE not in on_terminal("plan", "snap.yaml", "jobs.yaml", **environment)


def test_an_empty_no_color_declines_nothing() -> None:
    assert ESCAPE in on_terminal("models", NO_COLOR="")


def test_asked_for_colours_win() -> None:
    assert ESCAPE in on_terminal("models", "--color", "always", NO_COLOR="1")
    assert ESCAPE not in on_terminal("models", "--color", "never")


def test_a_pipe_gets_plain_text_of_full_width(cli: Cli) -> None:
    out = cli("plan", "snap.yaml", "huge.yaml").out
    assert ESCAPE not in out
    assert any("capacity: " in line and len(line) > 80 for line in out.splitlines())
    assert not any(line != line.rstrip() for line in out.splitlines())
    assert ESCAPE in cli("plan", "snap.yaml", "huge.yaml", "--color", "always").out


def test_progress_is_one_line_that_goes_away(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kantopt.cli.progress._is_terminal", lambda: True)
    with Progress(verbose=False, quiet=False, limit_seconds=10.0) as progress:
        progress.tell(News(0.5, "fgd", (1, 2)))
        progress._draw(0, None)
    shown = capsys.readouterr().err
    assert "of 10 s, best plan by fgd" in shown
    assert shown.endswith("\r\x1b[K")
    assert "\n" not in shown


def test_the_line_says_what_is_done_and_how_far_the_first_open_objective_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kantopt.cli.progress._is_terminal", lambda: True)
    monkeypatch.setattr("kantopt.cli.progress.elapsed", lambda: 5.0)

    def drawn() -> str:
        progress._draw(0, None)
        return capsys.readouterr().err.removeprefix("\r").removesuffix("\x1b[K")

    with Progress(verbose=False, quiet=False, limit_seconds=10.0) as progress:
        assert drawn() == "[######......] 5 of 10 s, reading"
        progress.reach("planning")
        assert drawn() == "[######......] 5 of 10 s, planning (Ctrl-C takes what there is)"
        progress.tell(News(0.5, "fgd", (1, 12), (1, 9)))
        progress.tell(News(0.5, "search"))
        assert "best plan by fgd, tier 2: 12, bound 9 (Ctrl-C" in drawn()
        monkeypatch.setattr("kantopt.cli.progress.elapsed", lambda: 30.0)
        assert drawn().startswith("[############] 30 of 10 s, ")
    capsys.readouterr()
    with Progress(verbose=False, quiet=False) as progress:
        progress.reach("measuring")
        assert drawn() == "30 s, measuring"


def test_the_line_names_objectives_as_the_table_does_and_is_cut_between_parts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("kantopt.cli.progress._is_terminal", lambda: True)
    monkeypatch.setattr("kantopt.cli.progress.elapsed", lambda: 5.0)

    def drawn(width: int) -> str:
        monkeypatch.setattr("kantopt.cli.progress._width", lambda: width)
        progress._draw(0, None)
        return capsys.readouterr().err.removeprefix("\r").removesuffix("\x1b[K")

    tiers = (
        Tier(Metric.UNPLACED, "milli-GPU", priority=1000),
        Tier(Metric.UNPLACED, "milli-GPU", priority=100),
    )
    with Progress(verbose=False, quiet=False, limit_seconds=10.0) as progress:
        progress.tell(News(0.5, "best-fit", (0, 16000), (0, 4000), tiers))
        bar, state = "[######......] 5 of 10 s, ", "unplaced[100, GPUs]: 16, bound 4"
        hint = " (Ctrl-C takes what there is)"
        assert drawn(200) == f"{bar}best plan by best-fit, {state}{hint}"
        assert drawn(len(bar + state + hint) + 1) == f"{bar}{state}{hint}"
        assert drawn(len(bar + state + hint)) == f"{bar}{state}"
        assert drawn(40) == f"{bar}{state}"[:39]
    with Progress(verbose=True, quiet=False) as progress:
        progress.tell(News(0.5, "best-fit", (0, 16000), (0, 4000), tiers))
        assert capsys.readouterr().err.endswith(f"t=0.5s best-fit [0 16000] {state}\n")


@pytest.mark.parametrize(
    ("arguments", "slow"),
    [
        (("explain", "snap.yaml", "huge.yaml", "huge"), "kantopt.planning.question.read_question"),
        (("verify", "snap.yaml"), "kantopt.planning.document.judge.judge"),
        (("metrics", "snap.yaml"), "kantopt.planning.report_metrics.report_metrics"),
        (("convert", "--from", "openb", "snap.yaml"), "kantopt.planning.convert.convert"),
        (("render", "--to", "svg", "snap.yaml"), "kantopt.planning.question.read_question"),
        (("plan", "snap.yaml"), "kantopt.planning.question.read_question"),
        (("certify", "snap.yaml"), "kantopt.planning.question.question_of"),
        (("defrag", "snap.yaml"), "kantopt.planning.question.read_question"),
    ],
)
def test_whatever_takes_long_shows_that_it_is_at_work_unless_quiet(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], slow: str
) -> None:
    def wait(*_: object, **__: object) -> None:
        signal.raise_signal(signal.SIGALRM)  # the clock strikes
        raise BadDataError([])

    monkeypatch.setattr("kantopt.cli.progress._is_terminal", lambda: True)
    monkeypatch.setattr("kantopt.cli.progress._FIRST_SECONDS", 600.0)
    monkeypatch.setattr(slow, wait)
    assert " s, " in cli(*arguments).err
    monkeypatch.setattr(slow, lambda *_, **__: (_ for _ in ()).throw(BadDataError([])))
    assert cli(*arguments, "-q").err == "kantopt: error: \n"


def test_quiet_and_pipes_show_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (True, False):
        with Progress(verbose=False, quiet=quiet, limit_seconds=10.0) as progress:
            progress.tell(News(0.5, "fgd", (1, 2)))
    assert capsys.readouterr().err == ""
