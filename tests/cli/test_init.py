"""``kantopt init``: something to begin with, and nothing overwritten."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.conftest import Cli

pytestmark = pytest.mark.usefixtures("files")


def test_what_it_writes_can_be_planned(cli: Cli) -> None:
    done = cli("init", "first")
    assert done.code == 0
    paths = done.out.splitlines()
    assert paths == ["first/cluster.yaml", "first/jobs.yaml"]
    assert f"next: kantopt plan {' '.join(paths)}" in done.err
    assert all(Path(path).read_text().startswith("# ") for path in paths)
    assert "snapshot.yaml" not in Path(paths[1]).read_text()
    planned = cli("plan", *paths, "--engine", "fast")
    assert planned.code == 0
    assert planned.out.startswith("Place ")


@pytest.mark.parametrize("system", ["kubernetes", "kueue", "volcano", "kai", "koordinator"])
def test_what_it_writes_can_be_planned_as_objects_of_any_system(cli: Cli, system: str) -> None:
    cli("init", "first")
    files = ("first/cluster.yaml", "first/jobs.yaml")
    assert cli("convert", "--to", system, *files, "-O", "k.yaml").code == 0
    assert cli("plan", "k.yaml", "--gated", "--engine", "fast").code == 0


def test_the_cluster_is_of_now_and_else_the_same_each_time(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = []
    for moment in ("2026-09-01T03:00:00Z", "2027-01-15T10:30:07Z"):
        monkeypatch.setenv("KANTOPT_NOW", moment)
        assert cli("init", moment).code == 0
        assert f'capturedAt: "{moment}"' in Path(moment, "cluster.yaml").read_text()
        texts.append(Path(moment, "jobs.yaml").read_text())
    then, now = texts
    assert 'creationTime: "2026-08-31T22:00:00Z"' in then
    assert 'creationTime: "2027-01-15T05:30:07Z"' in now
    assert re.sub(r'"20[^"]+"', "", then) == re.sub(r'"20[^"]+"', "", now)


def test_it_overwrites_nothing(cli: Cli) -> None:
    before = Path("jobs.yaml").read_text()
    done = cli("init")
    assert done.code == 73
    assert "jobs.yaml: cannot be written: it is there already" in done.err
    assert Path("jobs.yaml").read_text() == before
    assert not Path("cluster.yaml").exists()


def test_a_folder_that_cannot_be_made_is_said(cli: Cli) -> None:
    Path("file").write_text("")
    done = cli("init", "file/inside")
    assert done.code == 73
    assert done.err.startswith("kantopt: error: file/inside: cannot be made: ")
