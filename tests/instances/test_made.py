"""The generated instances are what the script writes, and all of ours can be read."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from kantopt.planning.question import read_question
from kantopt.verify.rules import check_standing

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "scripts"
sys.path.insert(0, str(SCRIPTS))  # where Python looks when it runs the script itself
try:
    FILES: dict[Path, str] = runpy.run_path(str(SCRIPTS / "make_instances.py"))["files"]()
finally:
    sys.path.remove(str(SCRIPTS))
NATIVE = sorted(path for path in FILES if path.stem != "expected")


@pytest.mark.parametrize("path", sorted(FILES), ids=lambda path: path.stem)
def test_a_generated_file_is_what_the_script_writes(path: Path) -> None:
    assert path.read_text("utf-8") == FILES[path], "run scripts/make_instances.py"


@pytest.mark.parametrize("folder", ["golden", "infeasible"])
def test_no_file_lies_beside_the_generated_ones(folder: str) -> None:
    found = set((ROOT / "instances" / folder).iterdir())
    assert found == {path for path in FILES if path.parent.name == folder}


@pytest.mark.parametrize("path", NATIVE, ids=lambda path: path.stem)
def test_nothing_is_wrong_with_a_cluster_before_planning(path: Path) -> None:
    question = read_question([str(path)])
    assert question.model is not None
    assert not check_standing(question.instance(question.model))


def test_the_readme_describes_every_instance() -> None:
    text = (ROOT / "instances" / "README.md").read_text("utf-8")
    for path in NATIVE:
        assert f"`{path.stem}`" in text, path.stem
    for folder in sorted(p.name for p in (ROOT / "instances").iterdir() if p.is_dir()):
        assert f"`{folder}/`" in text, folder
