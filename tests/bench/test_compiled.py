"""Benchmarks measure what an installation runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kantopt.schema.extends import models_folder
from scripts.bench import compiled
from scripts.bench.compiled import compiled_sources
from scripts.bench.process import environment


def test_sources_without_bytecode_are_copied_and_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "scripts.bench.compiled.cache_from_source", lambda _: str(tmp_path / "none")
    )
    sources = compiled_sources(tmp_path)
    code = "import kantopt.cli.plan as p, os; print(p.__file__, os.path.isfile(p.__cached__))"
    code += "; from kantopt.schema.extends import shipped_models as m; print(*m())"
    asked = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(sources),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    place, models = asked.stdout.splitlines()
    assert place == f"{tmp_path}/sources/kantopt/cli/plan.py True"
    assert models.split() == sorted(path.stem for path in models_folder().glob("*.yaml"))


def test_sources_with_bytecode_are_run_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiled, "cache_from_source", lambda source: source)
    assert compiled_sources(tmp_path) == Path(__file__).resolve().parents[2]
    assert not list(tmp_path.iterdir())


def test_sources_of_which_one_has_changed_since_are_not_those_of_an_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = tmp_path / "old.pyc"
    old.touch()
    os.utime(old, (0, 0))
    monkeypatch.setattr(
        compiled,
        "cache_from_source",
        lambda source: str(old) if Path(source).name == "moves.py" else source,
    )
    assert compiled_sources(tmp_path) == tmp_path / "sources"
