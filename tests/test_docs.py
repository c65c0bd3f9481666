"""What the documents name is there: files, folders, functions, commands, options."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer

from kantopt.cli.app import COMMANDS, command_line
from kantopt.render.slurm import SLURM_SCRIPT
from kantopt.schema.model import Metric, Rule
from scripts.bench.command import TRIALS, bench_app
from scripts.bench.suites import SUITES

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
    *(ROOT / folder / "README.md" for folder in ("models", "instances")),
    *sorted((ROOT / "docs").glob("*.md")),
]
CALL = re.compile(r"\bkantopt (" + "|".join(COMMANDS) + r")\b([^`|&>;]*)")
BENCH = re.compile(r"\bscripts/bench ([a-z][a-z-]*)([^`|&>;]*)")
SCRIPT = re.compile(r"(scripts/\w+\.py)\b([^`|&>;]*)")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
SPAN = re.compile(r"`([^`\n]+)`")
OTHERS = (
    "kantopt/v1alpha1",
    "kantopt/min-runtime",
    "kantopt/last-checkpoint-time",
    "kantopt/hold",
    "kantopt/cordoned-by",
    "kantopt/gpus",
)
"""Names with a slash that are no paths: an API version, annotations, a label, a scheduling gate."""


def text_of(script: str) -> str:
    """The text of a script, and of those whose options it takes over."""
    text = (ROOT / script).read_text(encoding="utf-8")
    shared = re.findall(r"from (scripts\.\w+) import parser_of", text)
    return "".join([text, *(text_of(f"{name.replace('.', '/')}.py") for name in shared)])


def lines_of(document: Path) -> Iterator[str]:
    """Lines, those that a backslash breaks put together, without comments of a shell."""
    text = document.read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        yield line.partition("  # ")[0]


@cache
def paths() -> frozenset[str]:
    """Every file and folder, and what is left of its path without the folders above it."""
    found = set()
    for folder in ("kantopt", "scripts", "tests", "docs", "models", "instances"):
        for path in (ROOT / folder, *(ROOT / folder).rglob("*")):
            parts = path.relative_to(ROOT).parts
            found |= {"/".join(parts[k:]) for k in range(len(parts))}
    return frozenset(found | {path.name for path in ROOT.iterdir()})


def is_path(text: str) -> bool:
    return (
        re.fullmatch(r"[\w./*-]+", text) is not None
        and ("/" in text or text.endswith((".py", ".md", ".yaml", ".csv")))
        and text not in OTHERS
        and not text.partition("/")[0].endswith(".io")  # taints and labels
    )


def there(text: str) -> bool:
    """Whether a path is one of ours; ``NAME`` stands for a rule or metric."""
    text = text.replace("NAME", "*").rstrip("/")
    if "*" in text:
        return any(True for start in (ROOT, ROOT / "kantopt") for _ in start.glob(text))
    return text in paths()


@cache
def options_of(command: str) -> frozenset[str]:
    group = typer.main.get_command(command_line([]))
    found = group.commands[command]  # type: ignore[attr-defined]
    return frozenset({"--help", *(name for each in found.params for name in each.opts)})


@cache
def options_of_bench() -> frozenset[str]:
    found = typer.main.get_command(bench_app())
    return frozenset({"--help", *(name for each in found.params for name in each.opts)})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_and_folder_that_a_document_names_exists(document: Path) -> None:
    spans = [span for line in lines_of(document) for span in SPAN.findall(line)]
    named = [span.partition(":")[0] for span in spans]
    assert not [text for text in named if is_path(text) and not there(text)]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_that_a_document_gives_a_command_is_one_of_its_own(document: Path) -> None:
    wrong = []
    for line in lines_of(document):
        for command, rest in CALL.findall(line):
            wrong += [(command, o) for o in OPTION.findall(rest) if o not in options_of(command)]
        for suite, rest in BENCH.findall(line):
            wrong += [(suite, o) for o in OPTION.findall(rest) if o not in options_of_bench()]
        for script, rest in SCRIPT.findall(line):
            text = text_of(script)
            wrong += [(script, o) for o in OPTION.findall(rest) if f'"{o}"' not in text]
    assert not wrong


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_option_that_a_document_explains_is_one_of_some_command(document: Path) -> None:
    scripts = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "scripts").glob("*.py"))
    known = options_of_bench().union({"--version"}, *(options_of(name) for name in COMMANDS))
    known |= set(
        OPTION.findall(SLURM_SCRIPT.read_text(encoding="utf-8").partition("Exit status")[0])
    )
    spans = [span for line in lines_of(document) for span in SPAN.findall(line)]
    named = [option for span in spans if span.startswith("--") for option in OPTION.findall(span)]
    assert not [option for option in named if option not in known and f'"{option}"' not in scripts]


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_benchmark_that_a_document_runs_is_a_suite(document: Path) -> None:
    runs = BENCH.findall("\n".join(lines_of(document)))
    assert not [suite for suite, _ in runs if suite not in (*SUITES, *TRIALS)]


@pytest.mark.parametrize("name", [*Rule, *Metric])
def test_every_rule_and_metric_is_stated_with_the_problem(name: str) -> None:
    text = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    assert re.search(rf"^- \*\*[RM]\d+\*\* `{name}`\. ", text, re.MULTILINE)
