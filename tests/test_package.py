"""What is installed runs by itself, from wheel and from sdist: files that ship are all there."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling", reason="hatchling is not installed")

ROOT = Path(__file__).resolve().parent.parent
PIP = ("-m", "pip", "--disable-pip-version-check", "--quiet")


def python(*arguments: str, folder: Path, path: str = "") -> str:
    """Run Python away from the checkout."""
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": path, "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sdist(folder: Path) -> Path:
    code = f"from hatchling.build import build_sdist; print(build_sdist({str(folder)!r}))"
    name = python("-c", code, folder=ROOT).split()[-1]
    return folder / name


@pytest.mark.parametrize("source", ["wheel", "sdist"])
def test_it_installs_and_runs_from_anywhere(tmp_path: Path, source: str) -> None:
    target = str(ROOT) if source == "wheel" else str(sdist(tmp_path))
    asked = ("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path), target)
    python(*PIP, *asked, folder=tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "kantopt/py.typed" in names
    assert not [name for name in names if name.startswith(("scripts/", "tests/"))]
    installed = tmp_path / "installed"
    python(*PIP, "install", "--no-deps", "--target", str(installed), str(wheel), folder=tmp_path)
    path = str(installed)
    paths = python("-m", "kantopt", "init", "example", folder=tmp_path, path=path).split()
    plan = python("-m", "kantopt", "plan", *paths, "--engine", "fast", folder=tmp_path, path=path)
    assert plan.startswith("Place ")
    for command in ("models", "policies"):
        assert python("-m", "kantopt", command, folder=tmp_path, path=path)
    assert "kantopt/v1alpha1" in python(
        "-m", "kantopt", "schema", "plan", folder=tmp_path, path=path
    )
