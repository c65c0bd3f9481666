"""A plan remembers how its input was read: what follows reads the cluster alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import ROOT, Cli
from tests.formats.cluster_objects import Object, node, pod

HELD = [{"name": "kantopt/hold"}]
LEVEL = "example.org/row"
FIXTURES = ROOT / "tests/formats/fixtures"


def cluster(**of_the_gated: Any) -> list[Object]:
    """Two nodes, a pod that runs, one that a gate holds back, one that just waits."""
    nodes = [node(name, {LEVEL: "r1", "kubernetes.io/hostname": f"{name}.lan"}) for name in "ab"]
    for item in nodes:
        item["metadata"]["uid"] = f"node-{item['metadata']['name']}"
    system = {"name": "kube-system", "uid": "cluster-1"}
    return [
        *nodes,
        {"apiVersion": "v1", "kind": "Namespace", "metadata": system},
        pod("runs", on="a"),
        pod("held", owner="Job/train", schedulingGates=HELD, **of_the_gated),
        pod("waits", owner="Job/other"),
    ]


def write(name: str, objects: list[Object]) -> None:
    Path(name).write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))


@pytest.fixture(autouse=True)
def _planned(files: Path, cli: Cli) -> None:
    write("cluster.json", cluster())
    options = ("--gated", "--pending", "default/held", "--topology", LEVEL)
    assert cli("plan", "cluster.json", *options, "-O", "plan.json", "-q").code == 0


def test_a_plan_says_how_its_input_was_read() -> None:
    read_as = json.loads(Path("plan.json").read_text())["metadata"]["readAs"]
    assert read_as == {
        "source": "kubernetes",
        "gated": True,
        "pending": ["default/held"],
        "topology": [LEVEL],
    }


def test_a_plan_for_slurm_says_so_and_jobs_that_were_held_are_there_again(cli: Cli) -> None:
    held = sorted(map(str, (FIXTURES / "slurm/gpus-22.05-text").iterdir()))
    options = ("--gated", "--pending", "root/*", "--engine", "fast")
    assert cli("plan", *held, *options, "-O", "slurm.json", "-q").code == 0
    plan = json.loads(Path("slurm.json").read_text())
    assert plan["metadata"]["readAs"] == {"source": "slurm", "gated": True, "pending": ["root/*"]}
    assert [item["job"] for item in plan["assignments"]] == ["root/22", "root/22"]
    assert cli("verify", *held, "slurm.json").code == 0
    rest = cli("verify", *(x for name in held for x in ("--against", name)), "slurm.json")
    assert rest.code == 0, rest.out + rest.err


def test_a_plan_of_native_documents_says_so(cli: Cli) -> None:
    assert cli("plan", "snap.yaml", "jobs.yaml", "-O", "native.json", "-q").code == 0
    read_as = json.loads(Path("native.json").read_text())["metadata"]["readAs"]
    assert read_as == {"source": "kantopt"}


def test_gated_pods_are_there_against_today_without_being_told_again(cli: Cli) -> None:
    write("today.json", cluster())
    done = cli("verify", "--against", "today.json", "plan.json", "-o", "name")
    assert (done.code, done.out) == (0, "")
    rest = cli("verify", "--against", "today.json", "plan.json", "-o", "json").out
    assert [item["job"] for item in json.loads(rest)["assignments"]] == ["default/train"]


def test_a_plan_verifies_on_its_dump_without_the_options_it_was_made_with(cli: Cli) -> None:
    assert cli("verify", "cluster.json", "plan.json").code == 0
    assert cli("metrics", "cluster.json", "plan.json").code == 0


def test_what_was_pending_need_not_be_any_more(cli: Cli) -> None:
    today = cluster()
    for item in today:
        if item["metadata"]["name"] == "held":
            item["spec"]["nodeName"] = "a"
            item["status"]["phase"] = "Running"
            del item["spec"]["schedulingGates"]
    write("today.json", today)
    done = cli("verify", "--against", "today.json", "plan.json", "-o", "name")
    assert "matches nothing" not in done.err
    assert done.code in (0, 12)


def test_a_pattern_given_now_has_to_match(cli: Cli) -> None:
    done = cli("verify", "--against", "cluster.json", "plan.json", "--pending", "nobody/*")
    assert done.code == 64


def test_a_plan_knows_its_cluster_its_nodes_and_who_makes_its_pods(cli: Cli) -> None:
    plan = json.loads(Path("plan.json").read_text())
    assert plan["metadata"]["snapshot"]["clusterUid"] == "cluster-1"
    (target,) = plan["nodes"]
    assert target["hostname"] == f"{target['name']}.lan"
    (held,) = plan["assignments"][0]["pods"]
    assert (held["ownerKind"], held["ownerUid"]) == ("Job", "Job/train")


def test_an_owner_that_is_no_controller_makes_nothing_anew(cli: Cli) -> None:
    objects = cluster(metadata={"ownerReferences": [{"kind": "Job", "name": "t", "uid": "j"}]})
    write("cluster.json", objects)
    arguments = ("plan", "cluster.json", "--gated", "-O", "plan.json", "-q")
    assert cli(*arguments).code == 0
    plan = json.loads(Path("plan.json").read_text())
    pods = [pod for item in plan["assignments"] for pod in item["pods"] if pod["name"] == "held"]
    assert "ownerUid" not in pods[0]
