"""Reference of the commands, one page for each, made of what they say with ``--help``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from kantopt.cli.app import COMMANDS, command_line
from scripts.pages.markdown import plain
from scripts.pages.texts import ROOT

FOLDER = "reference/commands"


def command_pages() -> Iterator[tuple[str, str]]:
    """Give the path and the text of each page."""
    group = typer.main.get_command(command_line([]))
    assert isinstance(group, TyperGroup)
    yield f"{FOLDER}/index.md", _overview(group)
    for name in COMMANDS:
        yield f"{FOLDER}/{name}.md", _page(group, name)


def _overview(group: TyperGroup) -> str:
    lines = [
        "# Commands",
        "",
        "All commands with all their options, made of what `kantopt COMMAND --help` prints.",
        "",
        "| command | does |",
        "|---|---|",
    ]
    for name in COMMANDS:
        does = plain(group.commands[name].get_short_help_str(200))
        lines.append(f"| [kantopt {name}]({name}.md) | {does} |")
    return "\n".join([*lines, "", "## Exit codes", "", exit_codes(), ""])


def exit_codes() -> str:
    """Return the table of exit codes that stands in the README."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.partition("\n## Exit codes\n")[2].partition("\n## ")[0].strip()


def _page(group: TyperGroup, name: str) -> str:
    above = group.make_context("kantopt", [], resilient_parsing=True)
    page = _Page(f"kantopt {name}")
    group.commands[name].format_help(typer.Context(group.commands[name], above, name), page)
    return page.text()


class _Page:
    """Takes the help of a command as its formatter does, and makes a page of it."""

    def __init__(self, title: str) -> None:
        self._lines = [f"# {title}"]
        self._code = False
        """Whether what is written is an example, or a paragraph."""

    def text(self) -> str:
        return "\n".join([*self._lines, ""])

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        self._lines += ["", "```", f"{prog} {args}", "```"]

    @contextlib.contextmanager
    def section(self, name: str) -> Iterator[None]:
        self._lines += ["", f"## {name}"]
        self._code = True
        yield
        self._code = False

    @contextlib.contextmanager
    def indentation(self) -> Iterator[None]:
        yield

    def write_paragraph(self) -> None:
        self._lines.append("")

    def write_text(self, text: str) -> None:
        for paragraph in text.split("\n\n"):
            self._lines += ["", plain(paragraph)]

    def write_dl(self, rows: Sequence[tuple[str, str]], *_: Any, **__: Any) -> None:
        self._lines += ["", "| given | does |", "|---|---|"]
        self._lines += [f"| `{names}` | {plain(does)} |" for names, does in rows]

    def write(self, text: str) -> None:
        block = [line.removeprefix("  ") for line in text.rstrip("\n").split("\n")]
        self._lines += ["", "```sh", *block, "```"] if self._code else ["", *block]
