"""Nodes that a plan empties take nobody any more, and are left so."""

from __future__ import annotations

from pathlib import Path

from tests.slurm.cluster import Slurm
from tests.slurm.story import SNAPSHOT, dump, follow, kantopt, place, submit


def emptying(slurm: Slurm, node: str) -> Path:
    """Take a snapshot, plan to empty a node, and render; return the script."""
    folder = dump(slurm, "snapshot")
    inputs = [word for name in SNAPSHOT for word in ("-f", str(folder / name))]
    plan, path = str(slurm.folder / "plan.json"), slurm.folder / "plan.sh"
    kantopt("drain", node, *inputs, "-q", "-o", "json", "-O", plan)
    kantopt("render", plan, "--to", "slurm", "-O", str(path))
    return path


def state_of(slurm: Slurm, node: str) -> str:
    words = ("--noheader", "--partition=main", f"--nodes={node}", "--format=%T")
    return slurm.run("sinfo", *words).strip()


def test_nobody_starts_on_a_node_that_a_plan_has_emptied(slurm: Slurm) -> None:
    mover = place(slurm, "mover", ["n1"])
    rest = place(slurm, "rest", [f"n{k}" for k in range(2, 8)])
    path = emptying(slurm, "n1")
    waits = submit(slurm, "waits", 1, "--exclude=n[2-8]")
    assert "# Drains first, and leaves drained: n1." in path.read_text()
    done = follow(slurm, path, "--dry-run")
    assert "  scontrol update NodeName=n1 State=DRAIN" in done.stdout, done.stdout
    assert "drain" not in state_of(slurm, "n1")
    done = follow(slurm, path)
    assert done.returncode == 0, done.stdout
    said = "Left drained: n1. Opened by: scontrol update NodeName=n1 State=RESUME"
    assert said in done.stdout
    assert slurm.hosts(mover) == ["n8"]
    assert state_of(slurm, "n1") == "drained"
    assert [slurm.job(job)["JobState"] for job in (rest, waits)] == ["RUNNING", "PENDING"]
    # To undo is to give back what jobs had: the node was drained for good.
    done = follow(slurm, path, "--undo")
    assert (done.returncode, said in done.stdout) == (0, True), done.stdout
    assert state_of(slurm, "n1") == "drained"


def test_a_run_that_fails_says_which_nodes_it_leaves_drained(slurm: Slurm) -> None:
    mover = place(slurm, "mover", ["n1"])
    path = emptying(slurm, "n1")
    slurm.run("scontrol", "update", f"JobId={mover}", "Requeue=0")
    done = follow(slurm, path)
    assert done.returncode == 3
    assert "drain" not in state_of(slurm, "n1")
    slurm.run("scontrol", "update", f"JobId={mover}", "Requeue=1")
    programs = slurm.folder / "programs"
    programs.mkdir()
    stub = programs / "scontrol"
    stub.write_text('#!/bin/sh\n[ "$1" != requeuehold ] || exit 1\nexec /usr/bin/scontrol "$@"\n')
    stub.chmod(0o755)
    done = follow(slurm, path, programs=programs)
    assert done.returncode == 1
    assert "Left drained: n1." in done.stdout, done.stdout
    assert state_of(slurm, "n1") == "draining"
    done = follow(slurm, path)  # goes on, and finds the node drained
    assert done.returncode == 0, done.stdout
    assert slurm.hosts(mover) != ["n1"]
