"""``kantopt render``: what it refuses, and how it says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.schema.answers.plan import NodeRef
from kantopt.schema.dump import dump_json
from kantopt.schema.jobs import PodRef
from kantopt.schema.read_as import ReadAs
from tests.cli.conftest import Cli
from tests.render.plans import bind, evict, make_plan


def test_the_command_names_what_it_refuses(files: Path, cli: Cli) -> None:
    held = evict("team-b/x", "n1", PodRef(name="x-0", uid="8c5c"), heir="team-a/w")
    made = make_plan([], [[held], [bind("team-a/w", "n1", PodRef(name="w-0", uid="77aa"))]])
    Path("plan.json").write_text(dump_json(made))
    refused = cli("render", "plan.json", "--to", "kubectl", "--shell")
    assert (refused.code, refused.out) == (64, "")
    assert "--evict-anyway" in refused.err
    done = cli("render", "plan.json", "--to", "kubectl", "--shell", "--evict-anyway")
    assert done.code == 0
    assert done.out.startswith("#!/bin/sh\n")
    unknown = cli("render", "plan.json", "--to", "kubectl", "--gate", "nosuch", "--evict-anyway")
    assert unknown.code == 64
    assert "found 'nosuch'" in unknown.err or 'found "nosuch"' in unknown.err


def test_what_is_left_to_the_reader_is_counted_when_a_plan_is_rendered(
    files: Path, cli: Cli
) -> None:
    pods = [PodRef(name=f"w-{i}", uid=f"77a{i}") for i in range(6)]
    made = make_plan([], [[bind("team-a/w", "n1", *pods)]])
    nodes = (NodeRef(name="n1", uid="u1", hostname="n1"),)
    Path("plan.json").write_text(dump_json(made.model_copy(update={"nodes": nodes})))
    for shell in ((), ("--shell",)):
        done = cli("render", "plan.json", "--to", "kubectl", *shell)
        assert done.code == 0
        (line,) = done.err.splitlines()
        assert line.startswith("kantopt: warning: kubectl: 0 of 6 bindings are enforced")
        assert "6 left to you: no scheduling gate holds back w-0" in line
        assert "kantopt/hold" in line
        assert "--gated" in line
    assert cli("render", "plan.json", "--to", "kubectl", "--quiet").err == ""
    for target in ("volcano", "koordinator", "kueue", "slurm"):
        assert "warning: " in cli("render", "plan.json", "--to", target).err, target


def test_for_kai_it_is_said_that_patches_of_gated_pods_are_what_it_keeps_to(cli: Cli) -> None:
    done = cli("render", "plan.json", "--to", "kai")
    assert (done.code, done.out) == (64, "")
    assert "BindRequests" in done.err
    assert "--to kubectl" in done.err


def test_a_plan_that_is_enforced_as_a_whole_is_rendered_without_a_word(
    files: Path, cli: Cli
) -> None:
    held = PodRef(name="w-0", uid="77aa", scheduling_gates=("kantopt/hold",), owner_kind="Job")
    made = make_plan([], [[bind("team-a/w", "n1", held)]])
    nodes = (NodeRef(name="n1", uid="u1", hostname="n1"),)
    Path("plan.json").write_text(dump_json(made.model_copy(update={"nodes": nodes})))
    done = cli("render", "plan.json", "--to", "kubectl", "--shell")
    assert (done.code, done.err) == (0, "")
    other = PodRef(name="w-1", uid="77ab", scheduling_gates=("theirs",), owner_kind="Job")
    made = make_plan([], [[bind("team-a/w", "n1", held), bind("team-a/v", "n1", other)]])
    Path("plan.json").write_text(dump_json(made.model_copy(update={"nodes": nodes})))
    done = cli("render", "plan.json", "--to", "kubectl", "--shell")
    assert "1 of 2 bindings are enforced" in done.err
    assert "w-1 keeps the gate theirs unless --gate names it" in done.err


@pytest.mark.parametrize(
    ("source", "to", "fitting"),
    [
        ("slurm", "kubectl", "expected slurm"),
        ("slurm", "volcano", "expected slurm"),
        ("kubernetes", "slurm", "expected one of kubectl, eviction-requests"),
    ],
)
def test_a_plan_is_for_clusters_of_the_kind_it_was_made_for(
    cli: Cli, tmp_path: Path, source: str, to: str, fitting: str
) -> None:
    plan = make_plan([], [])
    read_as = ReadAs.model_validate({"source": source})
    metadata = plan.metadata.model_copy(update={"read_as": read_as})
    path = tmp_path / "plan.json"
    path.write_text(dump_json(plan.model_copy(update={"metadata": metadata})))
    done = cli("render", str(path), "--to", to)
    assert (done.code, done.out) == (64, "")
    assert fitting in done.err
    assert cli("render", str(path), "--to", "slurm" if source == "slurm" else "kueue").code == 0
