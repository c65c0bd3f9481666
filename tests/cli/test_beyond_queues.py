"""What queues may evict beyond all plans is said of every job that waits, and nothing proved."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import node
from tests.formats.test_reclaims import KAI, of, queue

SAID = "jobs of queue a may be evicted for it that no plan evicts"


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Queue a has more than it deserves, and its job is no less important."""
    running = of(KAI, "r", "a", 8, 9, on="a")
    queues = [queue(KAI, "a", 4), queue(KAI, "b", 8)]
    items = [node("a", {"rack": "1"}), *queues, *running, *of(KAI, "w", "b", 8, 9)]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "dump.json").write_text(json.dumps(dump))
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("options", [("--for", "default/g-w"), ("--require", "default/g-w")])
def test_a_required_job_is_not_ruled_out(cli: Cli, options: tuple[str, str]) -> None:
    done = cli("plan", "dump.json", *options)
    assert done.code == 3
    assert SAID in done.out
    assert "provably" not in done.out


def test_a_goal_to_place_it_is_not_ruled_out(cli: Cli) -> None:
    options = ("--goal", "fit=default/g-w", "--max-evictions", "5", "--require-goal")
    done = cli("defrag", "dump.json", *options)
    assert done.code == 3
    assert SAID in done.out
    assert "missed by 1 job; not ruled out" in done.out


def test_a_plan_for_all_that_waits_says_so(cli: Cli) -> None:
    done = cli("plan", "dump.json")
    assert done.code == 0
    assert SAID in done.out
    assert "OPTIMAL for what is modelled: " in done.out
    assert "; more may be evicted, by queues, for 1 job." in done.out


def test_no_price_of_room_for_it_is_ruled_out(cli: Cli) -> None:
    options = ("--topology", "rack", "--for", "default/g-w", "--clear", "rack")
    done = cli("plan", "dump.json", *options)
    assert done.code == 3
    assert SAID in done.out


def test_no_certificate_rules_it_out(cli: Cli) -> None:
    done = cli("certify", "dump.json", "--require", "default/g-w", "-o", "json")
    found = json.loads(done.out)
    assert (found["verdict"], found.get("requiredImpossible", False)) == ("OPEN", False)
