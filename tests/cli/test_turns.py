"""Of jobs that wait for their turn to evict by queues a plan says so, and proves nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import node
from tests.formats.test_kueue_preemption import waits
from tests.planning.test_turns import FULL, W


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of two jobs that wait would evict one of its own queue."""
    dump = {"apiVersion": "v1", "kind": "List"}
    items = [node("a"), *FULL, W, waits("v", "b", 4, 8)]
    (tmp_path / "dump.json").write_text(json.dumps({**dump, "items": items}))
    monkeypatch.chdir(tmp_path)


def test_a_plan_says_who_waits_for_its_turn(cli: Cli) -> None:
    done = cli("plan", "dump.json")
    assert done.code == 0
    assert "OPTIMAL for what is modelled: " in done.out
    said = "; for 1 job (default/v) nobody is evicted, as other waiting jobs are served first."
    assert said in done.out
    assert "evicts nobody, as others that wait come first; quota: queue b" in done.out
    told = cli("plan", "dump.json", "-o", "json")
    assert [item["noTurn"] for item in json.loads(told.out)["unplaced"]] == [True]


def test_required_jobs_that_have_no_turn_beside_each_other_are_not_ruled_out(cli: Cli) -> None:
    done = cli("plan", "dump.json", "--require", "default/v", "--require", "default/w")
    assert done.code == 3
    assert "provably" not in done.out
