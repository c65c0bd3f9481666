"""What people mistype on the command line and in documents, and what they are told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kantopt.schema.stays import LIFTABLE
from tests.cli.conftest import Cli
from tests.formats.cluster_objects import node, pod

TYPO = """\
apiVersion: kantopt/v1alpha1
kind: JobList
jobs:
- {name: a, podSets: [{count: 1, requests: {nvidia.com/gpus: 8}}]}
- {name: b, podSets: [{count: 1, requests: {nvidia.com/gpus: 8, memroy: 1Gi}}]}
"""


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump with a pod that runs, one that waits, and one that has ended either way."""
    ended = [
        pod("done-1", on="gpu-b1", owner="Job/done", phase="Succeeded"),
        pod("bad-1", on="gpu-b1", owner="Job/bad", namespace="team-a", phase="Failed"),
    ]
    pods = [pod("run", on="gpu-b1"), pod("wait", namespace="team-a", owner="Job/wait"), *ended]
    items = [node("gpu-b1"), node("gpu-b2"), *pods]
    dump = {"apiVersion": "v1", "kind": "List", "items": items}
    (tmp_path / "cluster.json").write_text(json.dumps(dump))
    monkeypatch.chdir(tmp_path)


def test_a_resource_that_no_node_offers_is_named_with_the_verdict(files: Path, cli: Cli) -> None:
    Path("typo.yaml").write_text(TYPO)
    told = (
        "default/a and 1 more ask for nvidia.com/gpus, which no node offers "
        "(did you mean nvidia.com/gpu?)"
    )
    for command, *more in (
        ("plan",),
        ("plan", "-o", "wide"),
        ("explain", "a"),
        ("capacity", "a"),
        ("plan", "--for", "a", "--clear", "rack"),
        ("certify",),
    ):
        answer = cli(command, "snap.yaml", "typo.yaml", *more)
        head = answer.out.splitlines()[:6]
        assert told in head, answer.out
        assert answer.out.count(told) == 1
        other = "default/b asks for memroy, which no node offers" in answer.out
        assert other == (command != "explain"), "which is about its job alone"
    assert told in cli("plan", "snap.yaml", "typo.yaml", "-o", "json").err


def test_of_a_dump_too(cli: Cli, dump: None) -> None:
    data = json.loads(Path("cluster.json").read_text())
    data["items"].append(pod("typo", owner="Job/typo", requests={"nvidia.com/gpus": "1"}))
    Path("cluster.json").write_text(json.dumps(data))
    told = "pods that ask for nvidia.com/gpus, which no node offers (did you mean nvidia.com/gpu?)"
    lines = cli("plan", "cluster.json").out.splitlines()
    assert lines[3].startswith(told), lines


@pytest.mark.parametrize(
    "command", [("explain",), ("capacity",), ("plan", "--for"), ("plan", "--require")]
)
def test_a_namespace_that_is_not_there_is_an_error(
    cli: Cli, dump: None, command: tuple[str, ...]
) -> None:
    name, *option = command
    done = cli(name, "cluster.json", "-n", "teama", *option, "wait")
    assert done.code == 64
    assert 'found "teama", expected a namespace that has jobs (did you mean team-a?)' in done.err
    other = cli(name, "cluster.json", "-n", "zzz", *option, "wait")
    assert "(there are: default, team-a)" in other.err


def test_a_namespace_for_nothing_is_an_error(cli: Cli, dump: None) -> None:
    done = cli("plan", "cluster.json", "-n", "team-a")
    assert done.code == 64
    assert "--namespace: found no job that it is for" in done.err
    assert "--pending 'team-a/*'" in done.err


def test_a_file_among_nodes_is_told_from_a_node(cli: Cli, dump: None) -> None:
    done = cli("drain", "gpu-b1", "cluster.json")
    assert (done.code, done.out) == (64, "")
    assert "found the file cluster.json" in done.err
    assert "did you mean -f cluster.json?" in done.err
    assert cli("drain", "gpu-b1", "more.yaml", "-f", "cluster.json").code == 64


@pytest.mark.parametrize("command", ["explain", "capacity"])
def test_a_missing_file_is_no_job(cli: Cli, dump: None, command: str) -> None:
    done = cli(command, "cluster.json", "jobs.yaml")
    assert done.code == 66
    assert "jobs.yaml: cannot be read" in done.err


def test_a_node_that_is_not_there_is_told_with_those_that_are(cli: Cli, dump: None) -> None:
    done = cli("drain", "gpu-b9", "-f", "cluster.json")
    assert done.code == 65
    assert "did you mean gpu-b" in done.err
    far = cli("drain", "other", "-f", "cluster.json")
    assert "nodes: gpu-b1, gpu-b2" in far.err


@pytest.mark.parametrize(
    ("name", "phase"),
    [("done-1", "Succeeded"), ("done", "Succeeded"), ("team-a/bad", "Failed")],
)
def test_what_has_ended_is_said_to_have_ended(cli: Cli, dump: None, name: str, phase: str) -> None:
    done = cli("explain", "cluster.json", name)
    assert done.code == 64
    assert f"has ended ({phase}) and holds no place any more" in done.err
    assert "did you mean" not in done.err
    pattern = cli("plan", "cluster.json", "--pending", f"*{name}")
    assert f"only what has ended ({phase})" in pattern.err


@pytest.mark.parametrize(
    ("found", "meant"),
    [
        ("512GB", "512G or 512Gi"),
        ("512 gb", "512G or 512Gi"),
        ("1.5KB", "1.5k or 1.5Ki"),
        ("64GiB", "64Gi"),
        ("64gi", "64Gi"),
    ],
)
def test_a_quantity_of_bytes_is_told_as_kubernetes_writes_it(
    files: Path, cli: Cli, found: str, meant: str
) -> None:
    Path("typo.yaml").write_text(TYPO.replace("1Gi", found))
    done = cli("plan", "snap.yaml", "typo.yaml")
    assert done.code == 65
    assert f"expected a quantity such as 500m, 16Gi or 8 (did you mean {meant}?; line" in done.err
    short = cli("capacity", "snap.yaml", "--memory", found)
    assert f"did you mean {meant}?" in short.err
    limit = cli("plan", "snap.yaml", "--memory-limit", found)
    assert f"did you mean {meant}?" in limit.err


def test_what_is_far_from_a_quantity_has_no_suggestion(files: Path, cli: Cli) -> None:
    Path("typo.yaml").write_text(TYPO.replace("1Gi", "lots"))
    done = cli("plan", "snap.yaml", "typo.yaml")
    assert "expected a quantity such as 500m, 16Gi or 8 (line" in done.err


def test_a_mistyped_cause_is_refused_whatever_is_read(cli: Cli, files: Path) -> None:
    done = cli("plan", str(files / "snap.yaml"), "--disturb", "anotated")
    assert done.code == 64
    assert '--disturb: found "anotated", expected ' in done.err
    assert "(did you mean annotated?)" in done.err
    told = " ".join(cli("plan", "--help").out.replace("│", " ").split()).replace("- ", "-")
    assert all(cause in told for cause in LIFTABLE)
