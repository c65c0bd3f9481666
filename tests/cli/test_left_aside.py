"""Jobs that wait and are not asked about, or held back: the verdict counts them."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import kantopt
from tests.cli.conftest import Cli
from tests.formats.cluster_objects import node, pod

DOCUMENTS = """\
apiVersion: kantopt/v1alpha1
kind: ClusterSnapshot
metadata: {name: small}
priorityClasses: [{name: high, value: 1000}, {name: usual, value: 5, globalDefault: true}]
nodes: [{name: a, allocatable: {cpu: 8, pods: 110}}]
jobs:
- {name: half, priority: 9, minCount: 1, podSets: [
    {count: 3, requests: {cpu: 1}, assignments: [{node: a, count: 1}]}]}
---
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- {name: asked, priority: 9, podSets: [{count: 1, requests: {cpu: 1}}]}
- {name: first, priorityClassName: high, podSets: [{count: 4, requests: {cpu: 8}}]}
- {name: equal, priority: 9, podSets: [{count: 1, requests: {cpu: 1}, notModelled: [claims]}]}
- {name: lesser, podSets: [{count: 1, requests: {cpu: 1}}]}
"""
SAID = "in this order; left aside: 3 jobs (7 pods) no less important."


@pytest.fixture
def small(files: Path) -> str:
    (files / "small.yaml").write_text(DOCUMENTS)
    return "small.yaml"


@pytest.mark.parametrize(
    "command",
    [
        ("plan", "--for", "asked"),
        ("plan", "--pending", "asked"),
        ("defrag", "--goal", "fit=asked"),
    ],
    ids=str,
)
def test_who_may_come_first_is_counted_in_the_verdict(
    cli: Cli, small: str, command: tuple[str, ...]
) -> None:
    done = cli(command[0], small, *command[1:], "-O", "plan.json", "--engine", "fast")
    assert SAID in " ".join(done.out.split())
    plan = json.loads(Path("plan.json").read_text())
    assert plan["leftAside"] == {"jobs": 3, "pods": 7}
    assert cli("verify", small, "plan.json").code == 0
    certified = " ".join(cli("certify", small, "plan.json").out.split())
    assert SAID in certified
    assert "left out: 3 pending jobs (7 pods) that are not asked about" in certified


def test_nothing_is_said_where_all_are_asked_about_or_lesser(cli: Cli, small: str) -> None:
    for command in (
        ("plan",),
        ("plan", "--for", "first"),
        ("plan", "--pending", "*", "--require", "asked"),
        ("defrag", "--goal", "empty-nodes=+1"),
    ):
        done = cli(command[0], small, *command[1:], "-o", "json", "--engine", "fast")
        assert "leftAside" not in json.loads(done.out)


def test_explain_and_metrics_ask_about_the_same_jobs_as_plan(cli: Cli, small: str) -> None:
    """Also where the cluster is a native document; others do not even count as waiting."""
    asked = ("--pending", "asked", "-o", "json")
    told = json.loads(cli("explain", small, "asked", *asked, "--time-limit", "60s").out)
    assert told.get("othersPending", 0) == 0
    assert "left aside: 3 jobs (7 pods) no less important" in told["notes"]
    alone = kantopt.explain(kantopt.read(small, pending="asked"), job="asked", time_limit=60)
    assert (alone.others_pending, alone.verdict.status) == (0, "FITS_NOW")
    measured = cli("metrics", small, *asked[:2]).out
    assert re.findall(r"^ *(\d+) +0 +(\d+) +(\d+)$", measured, re.MULTILINE) == [("9", "1", "1")]


@pytest.mark.parametrize("by_model", [False, True])
def test_a_job_that_is_not_asked_about_is_not_explained(
    cli: Cli, small: str, *, by_model: bool
) -> None:
    Path("asked.yaml").write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nextends: mixed\npending: [default/asked]\n"
    )
    option = ("--model", "asked.yaml") if by_model else ("--pending", "asked")
    for job in ("first", "half"):
        done = cli("explain", small, job, *option)
        said = f"explain: found default/{job}, expected a job that is asked about: default/asked"
        assert (done.code, done.err) == (64, f"kantopt: error: {said}\n")


def test_pods_of_a_dump_that_were_not_asked_for_are_counted_alike(cli: Cli, files: Path) -> None:
    items = [
        node("a"),
        pod("asked", priority=5),
        pod("more", priority=9),
        pod("equal-0", priority=5, owner="ReplicaSet/r"),
        pod("equal-1", priority=5, owner="ReplicaSet/r"),
        pod("less", priority=4),
    ]
    (files / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    for option, name, counted in (
        ("--pending", "asked", {"jobs": 2, "pods": 3}),
        ("--for", "asked", {"jobs": 2, "pods": 3}),
        ("--pending", "equal-0", {"jobs": 3, "pods": 3}),
        ("--pending", "more", None),
    ):
        pattern = name if option == "--for" else f"default/{name}"
        done = cli("plan", "dump.json", option, pattern, "-o", "json", "--engine", "fast")
        assert json.loads(done.out).get("leftAside") == counted, (option, name)


def test_jobs_of_slurm_that_were_not_asked_for_are_counted_alike(cli: Cli, files: Path) -> None:
    waits = "JobState=PENDING Partition=p NumNodes=1-1 NumCPUs=1 NumTasks=1 CPUs/Task=1"
    (files / "slurm.txt").write_text(
        "NodeName=a CPUTot=4 RealMemory=1000 State=IDLE Partitions=p\n"
        "PartitionName=p Nodes=a State=UP\n"
        f"JobId=1 UserId=u(1) Account=x Priority=5 {waits}\n"
        f"JobId=2 UserId=u(1) Account=x Priority=7 {waits}\n"
        f"JobId=3 UserId=u(1) Account=x Priority=4 {waits}\n"
    )
    for asked, counted in (("1", {"jobs": 1, "pods": 1}), ("2", None)):
        done = cli("plan", "slurm.txt", "--pending", f"*/{asked}", "-o", "json", "--engine", "fast")
        assert json.loads(done.out).get("leftAside") == counted, asked


def test_pods_of_a_dump_that_are_held_back_are_counted_in_the_verdict(
    cli: Cli, files: Path
) -> None:
    gates = [{"name": "kantopt/hold"}]
    items = [
        node("a"),
        pod("free"),
        *(pod(f"held-{k}", owner="Job/held", schedulingGates=gates) for k in range(2)),
    ]
    (files / "dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    )
    said = "in this order; held back: 1 job (2 pods), which count with --gated."
    for options, counted in (
        ((), {"jobs": 1, "pods": 2}),
        (("--pending", "default/*"), {"jobs": 1, "pods": 2}),
        (("--pending", "default/free"), None),
        (("--for", "free"), None),
        (("--gated",), None),
    ):
        asked = ("plan", "dump.json", *options, "--engine", "fast")
        plan = json.loads(cli(*asked, "-o", "json").out)
        assert plan.get("heldBack") == counted, options
        assert (said in cli(*asked).out) == (counted is not None), options


def test_jobs_of_slurm_that_are_held_back_are_counted_alike(cli: Cli, files: Path) -> None:
    waits = "JobState=PENDING Partition=p NumNodes=2-2 NumCPUs=2 NumTasks=2 CPUs/Task=1"
    (files / "slurm.txt").write_text(
        "NodeName=a CPUTot=4 RealMemory=1000 State=IDLE Partitions=p\n"
        "NodeName=b CPUTot=4 RealMemory=1000 State=IDLE Partitions=p\n"
        "PartitionName=p Nodes=a,b State=UP\n"
        f"JobId=1 UserId=u(1) Account=x Priority=5 Reason=JobHeldUser {waits}\n"
        f"JobId=2 UserId=u(1) Account=x Priority=5 Reason=Dependency {waits}\n"
    )
    first, second = cli("plan", "slurm.txt", "--engine", "fast").out.splitlines()[:2]
    assert first == "Nothing to do: all that is pending is left out."
    assert second.endswith("; held back: 2 jobs (4 tasks), which count with --gated.")
    done = cli("plan", "slurm.txt", "--gated", "-o", "json", "--engine", "fast")
    assert "heldBack" not in json.loads(done.out)


def test_an_input_without_pending_jobs_is_told_from_one_whose_pending_jobs_are_left_out(
    cli: Cli, small: str
) -> None:
    Path("dump.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), pod("p", on="a")]})
    )
    first = cli("plan", "dump.json").out.splitlines()[0]
    assert first == "Nothing to do: no job is pending in the input."
    claims = (
        DOCUMENTS.partition("---")[0].partition("jobs:")[0]
        + "---\napiVersion: kantopt/v1alpha1\nkind: JobList\njobs:\n"
        + "- {name: a, podSets: [{count: 1, requests: {cpu: 1}, notModelled: [claims]}]}\n"
    )
    Path("claims.yaml").write_text(claims)
    first = cli("plan", "claims.yaml").out.splitlines()[0]
    assert first == "Nothing to do: all that is pending is left out."
    out = cli("defrag", small, "--goal", "empty-nodes=+0").out
    assert out.startswith("Nothing to do.\n")


def test_what_is_held_back_is_counted_anew_in_a_plan_that_is_given_again(
    cli: Cli, files: Path
) -> None:
    gates = [{"name": "kantopt/hold"}]
    for held in (1, 3):
        pods = [pod(f"held-{k}", owner="Job/held", schedulingGates=gates) for k in range(held)]
        (files / "dump.json").write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": [node("a"), *pods]})
        )
        asked = ("plan", "dump.json", "--last-plan", "last.json", "-O", "plan.json")
        done = cli(*asked)
        assert ("NO CHANGE" in done.out) == (held == 3), done.out
        plan = json.loads(Path("plan.json").read_text())
        assert plan["heldBack"] == {"jobs": 1, "pods": held}
