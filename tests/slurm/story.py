"""A busy cluster, a plan for it by the commands of the guide, and the script that follows it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from kantopt import clock
from kantopt.cli.endings import run
from tests.slurm.cluster import GPUS, Slurm

ROOT = Path(__file__).resolve().parents[2]
SNAPSHOT = {
    "nodes.txt": "scontrol show node",
    "jobs.txt": "scontrol -d show job",
    "partitions.txt": "scontrol show partition",
    "reservations.txt": "scontrol show reservation",
    "topology.txt": "scontrol show topology",
    "config.txt": "scontrol show config",
}
"""How ``docs/with-slurm.md`` takes a snapshot: a file, and what prints it."""


@dataclass(frozen=True, slots=True)
class Story:
    """Jobs of a busy cluster, by what becomes of them."""

    mover: str
    """Runs on the first leaf, alone, and may go elsewhere."""
    stays: str
    """Runs on some of the second leaf."""
    victim: str
    """Runs on the rest of the second leaf, in a partition that others may preempt."""
    gang: str
    """Waits: it wants a leaf for itself."""
    rival: str
    """Waits for the victim's nodes, and must not get them while the plan is followed."""


def submit(slurm: Slurm, name: str, nodes: int, *options: str) -> str:
    """Submit a gang that takes all GPUs of some nodes."""
    words = (f"--nodes={nodes}", "--ntasks-per-node=1", "--cpus-per-task=4", "--mem=64G")
    return slurm.submit(name, *words, f"--gres=gpu:h100:{GPUS}", *options)


def place(slurm: Slurm, name: str, nodes: list[str], *options: str) -> str:
    """Run a job on these nodes that has not asked for them: all others are kept from it."""
    others = ",".join(node for node in slurm.nodes if node not in nodes)
    reserve = ("ReservationName=others", "StartTime=now", "Duration=60", "Users=root")
    slurm.run("scontrol", "create", "reservation", *reserve, f"Nodes={others}", "Flags=IGNORE_JOBS")
    job = submit(slurm, name, len(nodes), *options)
    slurm.await_state("RUNNING", job)
    slurm.run("scontrol", "delete", "ReservationName=others")
    assert sorted(slurm.hosts(job)) == sorted(nodes)
    return job


def begin(slurm: Slurm, *options: str) -> Story:
    """Make the cluster busy; the gang and its rival wait, as Slurm alone leaves them.

    ``options`` are more words for the submission of the gang; ``--array=7`` makes it that task.
    """
    first, second = slurm.leaves[0], slurm.leaves[1]
    half = len(second) // 2
    mover = place(slurm, "mover", first[:1])
    stays = place(slurm, "stays", second[:half])
    victim = place(slurm, "victim", second[half:], "--partition=idle")
    gang = submit(slurm, "gang", len(first), "--switches=1", *options)
    gang += "".join(f"_{word.removeprefix('--array=')}" for word in options)
    elsewhere = ",".join(first + second[:half])
    rival = submit(slurm, "rival", half, "--partition=idle", f"--exclude={elsewhere}")
    slurm.wait(
        lambda: all(slurm.job(job)["Reason"] != "None" for job in (gang, rival)),
        lambda: slurm.run("squeue"),
    )
    return Story(mover, stays, victim, gang, rival)


def dump(slurm: Slurm, name: str) -> Path:
    """Take a snapshot as the guide says, in a folder of its own; return the folder."""
    folder = slurm.folder / name
    folder.mkdir(exist_ok=True)
    for file, command in SNAPSHOT.items():
        (folder / file).write_text(slurm.run("env", "SLURM_TIME_FORMAT=%s", *command.split()))
    return folder


def script(slurm: Slurm, *options: str) -> Path:
    """Take a snapshot, plan, with more options if need be, and render; return the script."""
    folder = slurm.folder
    time.sleep(1.0 - time.time() % 1.0)  # what runs has started in a second before that of the dump
    inputs = [str(dump(slurm, "snapshot") / name) for name in SNAPSHOT]
    plan, path = str(folder / "plan.json"), folder / "plan.sh"
    kantopt("plan", *inputs, "-q", "-o", "json", "-O", plan, *options)
    kantopt("render", plan, "--to", "slurm", "-O", str(path))
    return path


def kantopt(*words: str) -> None:
    """Run a command of ours in this process, as if it had just begun."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_START", time.monotonic())
        assert run(words) == 0, " ".join(words)


def follow(
    slurm: Slurm, path: Path, *options: str, user: str | None = None, programs: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the script, perhaps as a user, or with programs of a folder in place of Slurm's."""
    environment = dict(slurm.environment)
    if programs is not None:
        environment["PATH"] = f"{programs}{os.pathsep}{environment['PATH']}"
    return subprocess.run(
        ["sh", str(path), *options],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        user=user,
    )


def interrupt(slurm: Slurm, path: Path, at: str, how: int | tuple[str, ...], *options: str) -> str:
    """Run the script; when it says something send a signal or run a command; return all it said."""
    running = subprocess.Popen(
        ["sh", str(path), *options],
        env=slurm.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert running.stdout is not None
    said = []
    with contextlib.closing(running.stdout):
        for line in running.stdout:
            said.append(line)
            if at in line:
                if isinstance(how, int):
                    running.send_signal(how)
                else:
                    slurm.run(*how)
    running.wait(60)
    return "".join(said)


def reservations(slurm: Slurm) -> str:
    """Return what there is of reservations."""
    return slurm.run("scontrol", "--oneliner", "show", "reservation")


def state_of(slurm: Slurm, story: Story) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return state and nodes of each job."""
    jobs = {name: getattr(story, name) for name in Story.__slots__}
    return {name: (slurm.job(j)["JobState"], tuple(slurm.hosts(j))) for name, j in jobs.items()}
