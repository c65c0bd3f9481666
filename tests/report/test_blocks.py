"""Text of full width in a pipe, wrapped text on a terminal, and never anything cut."""

from __future__ import annotations

import io

import pytest

from kantopt.report.blocks import Block, Listing, Paragraph, Screen, Table, render, screen_of

LONG = "a reason of many words " * 8
TABLE = Table(
    "TITLE",
    ("NAME", "COUNT", "WHY"),
    (("a", "1", LONG.strip()), ("longer", "22", "short")),
    frozenset({1}),
    ("warn", ""),
)


def test_plain_columns_are_padded_and_whole() -> None:
    lines = render([Paragraph("Head."), TABLE], Screen()).splitlines()
    assert lines[:3] == ["Head.", "", "TITLE"]
    assert lines[3] == "NAME    COUNT  WHY"
    assert lines[4] == f"a           1  {LONG.strip()}"
    assert lines[5] == "longer     22  short"


def test_on_a_screen_the_last_column_is_wrapped() -> None:
    text = render([TABLE], Screen(width=60))
    assert max(map(len, text.splitlines())) <= 60
    assert text.count("reason") == 8
    assert "\x1b" not in text


def test_on_a_screen_a_wide_column_before_the_last_is_wrapped_between_words() -> None:
    names = ", ".join(f"gpu-{i}" for i in range(20))
    rows = (("capacity", f"20 nodes: {names}", "0 pods admitted"), ("gang", "job a", "all or none"))
    lines = render([Table("", ("RULE", "SUBJECT", "AMOUNT"), rows)], Screen(width=60)).splitlines()
    assert max(map(len, lines)) <= 60
    column = lines[0].index("AMOUNT")
    assert lines[1].startswith("capacity  20 nodes: gpu-0,")
    assert lines[1][column:] == "0 pods admitted"
    assert " ".join(line[10:column].strip() for line in lines[1:-1]) == rows[0][1]
    assert lines[-1].split() == ["gang", "job", "a", "all", "or", "none"]


def test_no_name_is_broken_on_a_screen() -> None:
    name = "ip-10-0-114-142.eu-central-1.compute.internal"
    table = Table("", ("JOB", "NODES"), ((name, f"{name} -> {name}"),))
    assert render([table], Screen(width=80)).splitlines()[1].split() == [name, name]
    assert render([table], Screen(width=60)).splitlines()[1] == f"{name}  {name} -> {name}"


def test_on_a_screen_too_narrow_the_terminal_wraps() -> None:
    text = render([TABLE], Screen(width=20))
    assert LONG.strip() in text


def test_colours_change_no_word() -> None:
    blocks: list[Block] = [Paragraph("Head.", "good"), TABLE, Listing("L", (LONG, "x"), "bad")]
    coloured = render(blocks, Screen(colour=True))
    assert "\x1b[32m" in coloured
    for code in ("0", "1", "2", "32", "33", "1;31"):
        coloured = coloured.replace(f"\x1b[{code}m", "")
    assert coloured == render(blocks, Screen())


@pytest.mark.parametrize("screen", [Screen(), Screen(width=60), Screen(colour=True)])
def test_a_terminal_does_not_obey_what_a_name_holds(screen: Screen) -> None:
    evil = "job\x1b]0;owned\x07\n\ud800[bold]"
    blocks: list[Block] = [Paragraph(evil), Table("", ("N",), ((evil,),)), Listing("", (evil,))]
    text = render(blocks, screen)
    assert text.count("job\\x1b]0;owned\\x07\\n\\ud800[bold]") == 3
    assert "\x07" not in text


def test_a_stream_that_is_no_terminal_has_no_width() -> None:
    assert screen_of(io.StringIO(), "auto") == Screen(None, False)
    assert screen_of(io.StringIO(), "always") == Screen(None, True)
    assert screen_of(None, "auto") == Screen(None, False)


def test_a_terminal_that_does_not_tell_its_width(monkeypatch: pytest.MonkeyPatch) -> None:
    class Odd(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    assert screen_of(Odd(), "auto") == Screen(100, True)
    monkeypatch.delenv("COLUMNS")
    assert screen_of(Odd(), "never") == Screen(80, False)


def test_a_word_to_be_copied_in_the_last_column_has_room_as_long_as_others_can_give_way() -> None:
    command = "set=default/gang-0000:required=block"
    row = ("require one block instead of a leaf", "pods farther apart, 160 pods moved", command)
    lines = render(
        [Table("", ("DO THIS", "COST", "TRY IT"), (row,))], Screen(width=80)
    ).splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.endswith(command) for line in lines)
