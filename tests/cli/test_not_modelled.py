"""Pods of a dump that ask for what is not modelled are counted in the verdict's own line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.formats.cluster_objects import Object, node, pod

SHARE = {"gpu-fraction": "0.5"}


@pytest.fixture
def dump(files: Path) -> str:
    """Two pods that wait and one that runs ask for parts of a GPU; one does not."""
    items = [
        node("a"),
        node("b"),
        pod("held", on="a", annotations=SHARE, owner="ReplicaSet/x"),
        pod("p0", annotations=SHARE),
        pod("p1", annotations=SHARE),
        pod("q", owner="ReplicaSet/other"),
    ]
    path = files / "dump.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    return str(path)


def test_they_are_left_out_and_left_where_they_are(cli: Cli, dump: str) -> None:
    done = cli("plan", dump, "--engine", "fast")
    assert "OPTIMAL for what is modelled: no plan is better" in done.out
    left = "2 pods left out and 1 left where it is: 3 that ask for part of a GPU."
    assert left in " ".join(done.out.split())
    plan = json.loads(cli("plan", dump, "-o", "json", "--engine", "fast").out)
    assert plan["summary"]["placedPods"] == 1
    assert plan["notModelled"] == [
        {"features": ["gpu-shares"], "assumed": False, "pending": 2, "running": 1}
    ]


def test_assumed_they_are_planned_and_the_verdict_says_so(cli: Cli, dump: str) -> None:
    done = cli("plan", dump, "--assume", "gpu-shares", "-O", "plan.json", "--engine", "fast")
    words = "; 3 pods planned all the same: 3 that ask for part of a GPU."
    assert "OPTIMAL for what is modelled" in done.out
    assert words in " ".join(done.out.split())
    plan = json.loads(Path("plan.json").read_text())
    assert plan["summary"]["placedPods"] == 3
    assert plan["model"]["assume"] == ["gpu-shares"]
    # The plan brings along what it assumes, so that it can be judged.
    assert cli("verify", dump, "plan.json").code == 0


def test_a_plan_that_leaves_them_out_is_judged_valid_and_certified(cli: Cli, dump: str) -> None:
    cli("plan", dump, "-O", "plan.json", "--engine", "fast")
    assert cli("verify", dump, "plan.json").code == 0
    done = cli("certify", dump, "plan.json")
    assert done.code == 0
    assert done.out.startswith("CERTIFIED OPTIMAL for what is modelled: no legal plan is better")
    assert "2 pods left out and 1 left where it is" in " ".join(done.out.split())


def test_what_a_scheduler_did_with_them_is_held_against_nobody(cli: Cli, files: Path) -> None:
    def dump_of(name: str, *items: Object) -> str:
        nodes = [node("a"), node("b")]
        data = {"apiVersion": "v1", "kind": "List", "items": [*nodes, *items]}
        (files / name).write_text(json.dumps(data))
        return str(files / name)

    def plain(on: str = "") -> Object:
        return pod("q", on=on, owner="ReplicaSet/plain", requests={"cpu": "6"})

    def share(name: str, on: str = "", cpu: str = "6") -> Object:
        owner = "ReplicaSet/share" if cpu == "6" else "ReplicaSet/db"
        return pod(name, on=on, owner=owner, annotations=SHARE, requests={"cpu": cpu})

    before = dump_of("before.json", share("p"), plain(), share("r", "b", "2"))
    # One came to a node, another was replaced elsewhere: neither is for us to judge.
    after = dump_of("after.json", share("p", "b"), plain("a"), share("r3", "a", "2"))
    done = cli("certify", before, "--after", after, "--time-limit", "20s")
    assert done.code == 0
    assert done.out.startswith("CERTIFIED OPTIMAL for what is modelled")


def test_who_asks_about_a_job_that_is_left_out_learns_why(cli: Cli, dump: str) -> None:
    done = cli("explain", dump, "default/app")
    assert done.code == 64
    assert "default/app is left out: it has pods that ask for part of a GPU" in done.err
    assert "--assume gpu-shares" in done.err
    assert cli("explain", dump, "default/app", "--assume", "gpu-shares").code == 0
    for option in ("--for", "--require"):
        done = cli("plan", dump, option, "default/app")
        assert done.code == 65
        assert "--assume gpu-shares" in done.err


def test_an_unknown_name_is_refused_with_what_may_be_meant(cli: Cli, dump: str) -> None:
    done = cli("plan", dump, "--assume", "gpu-share")
    assert done.code == 64
    assert "did you mean gpu-shares?" in done.err


@pytest.mark.parametrize("command", ["explain", "capacity"])
def test_answers_about_one_job_say_who_is_left_where_it_is(
    cli: Cli, dump: str, command: str
) -> None:
    """What such an answer proves holds while these pods stay, or if they may be planned at all."""
    left = "1 pod left where it is: 1 that ask for part of a GPU (--assume gpu-shares)"
    assert left in " ".join(cli(command, dump, "default/other").out.split())
    assumed = cli(command, dump, "default/other", "--assume", "gpu-shares").out
    planned = "1 pod planned all the same: 1 that ask for part of a GPU"
    assert planned in " ".join(assumed.split())
