"""The site of the documentation: built strictly, whole, and read without a network."""

from __future__ import annotations

import html
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import typer

from kantopt.cli.app import COMMANDS, command_line
from kantopt.errors import KantoptError
from kantopt.schema.published import PUBLISHED, published_schema
from kantopt.simulate.sweep.on_ray import RayError
from scripts import build_docs
from scripts.pages.texts import ROOT, copy_texts, files_of_the_checkout, indented, linked

SCRIPT = ROOT / "scripts" / "build_docs.py"
LOADED = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, as the script builds it; mkdocs has nothing to warn of."""
    folder = tmp_path_factory.mktemp("built") / "site"
    asked = [sys.executable, str(SCRIPT), "--output", str(folder)]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


def page(site: Path, name: str) -> str:
    """What a page says, without the menu and the tags."""
    text = (site / name).read_text(encoding="utf-8").partition('role="main"')[2]
    return html.unescape(re.sub(r"<[^>]*>", " ", text.partition("<footer>")[0]))


def fields(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        properties = schema.get("properties", {})
        for key, value in schema.items():
            inner = value.values() if key in ("properties", "$defs") else [value]
            for each in inner if key != "default" else ():
                yield from fields(each)
        yield from properties
    elif isinstance(schema, list):
        for each in schema:
            yield from fields(each)


class Resources(HTMLParser):
    """Gathers what a browser loads with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if LOADED.get(tag) == name]


def test_every_text_has_a_page(site: Path) -> None:
    texts = [name for name in files_of_the_checkout() if name.endswith(".md")]
    assert len(texts) > 20
    for name in texts:
        path = name.replace("README.md", "index.html").removesuffix(".md")
        assert (site / (path if path.endswith(".html") else f"{path}.html")).is_file(), name


def test_every_field_of_a_document_stands_on_its_page(site: Path) -> None:
    for kind in PUBLISHED:
        words = set(page(site, f"reference/documents/{kind}.html").split())
        named = set(fields(published_schema(kind)))
        assert len(named) > 5, kind
        assert named <= words, kind


def test_every_option_of_a_command_stands_on_its_page(site: Path) -> None:
    commands = typer.main.get_command(command_line([])).commands  # type: ignore[attr-defined]
    for command in COMMANDS:
        text = page(site, f"reference/commands/{command}.html")
        params = commands[command].params
        options = {name for each in params for name in each.opts if name.startswith("--")}
        assert options, command
        assert options <= set(re.split(r"[\s,/]+", text)), command


def test_every_exit_code_of_an_error_is_explained(site: Path) -> None:
    table = page(site, "reference/commands/index.html").partition("Exit codes")[2]
    # That of simulations on Ray is loaded by chance only, where their tests ran before.
    codes = {each.exit_code for each in (KantoptError, RayError, *KantoptError.__subclasses__())}
    assert codes <= {int(word) for word in re.findall(r"\d+", table)}


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    for path in pages:
        resources = Resources()
        resources.feed(path.read_text(encoding="utf-8"))
        assert len(resources.found) > 2, path
        for name in resources.found:
            assert not re.match(r"\w+:|//", name), f"{path}: {name}"
            start = site if name.startswith("/") else path.parent  # as 404.html does
            file = start / name.partition("?")[0].lstrip("/")
            assert file.is_file(), f"{path}: {name}"
    for path in site.rglob("*.css"):
        addresses = re.findall(r"(?:url\(|@import )\s*[\"']?([^\"')]+)", path.read_text())
        assert not [name for name in addresses if re.match(r"https?:|//", name)], path


def test_lists_tables_and_code_are_shown_as_such(site: Path) -> None:
    for path in site.rglob("*.html"):
        text = path.read_text(encoding="utf-8")
        for paragraph in re.findall(r"<p>.*?</p>", text, re.DOTALL):
            assert not re.search(r"\n *(?:- |\d+\. |\|)|```", paragraph), (path, paragraph[:200])


def test_entries_of_lists_are_indented_by_four() -> None:
    text = "- a\n  b\n\n  c\n- C\n  - d\n    e\n\nf\n\n    code\n\n1. g\n   h\n"
    assert indented(text) == (
        "- a\n    b\n\n    c\n\n- C\n    - d\n        e\n\nf\n\n    code\n\n1. g\n    h\n"
    )


def test_a_path_in_a_text_is_a_link_where_it_has_a_page() -> None:
    files = ("docs/search.md", "models/README.md")
    text = "`docs/search.md`, `kantopt/cp`\n```sh\ncat `docs/search.md`\n```\n`models/README.md`"
    assert linked(text, "docs/kant.md", files) == (
        "[`docs/search.md`](search.md), `kantopt/cp`\n```sh\ncat `docs/search.md`\n```\n"
        "[`models/README.md`](../models/README.md)"
    )
    assert linked("`docs/search.md`", "docs/search.md", files) == "`docs/search.md`"


@pytest.mark.parametrize("link", ["missing.md", "search.md#no-such-heading"])
def test_a_link_that_leads_nowhere_ends_the_build(
    link: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def with_a_broken_link(folder: Path) -> None:
        copy_texts(folder)
        path = folder / "docs" / "kant.md"
        path.write_text(path.read_text(encoding="utf-8") + f"\n[more]({link})\n", encoding="utf-8")

    monkeypatch.setattr(build_docs, "copy_texts", with_a_broken_link)
    assert build_docs.build(tmp_path / "site") != 0
    assert link in capfd.readouterr().err
    assert not (tmp_path / "site").exists()


def test_a_folder_with_other_files_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--output", str(tmp_path)])
    with pytest.raises(SystemExit) as ended:
        build_docs.main()
    assert ended.value.code == 2
    assert "found other files" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]
