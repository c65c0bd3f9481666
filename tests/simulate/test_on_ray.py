"""A sweep on a Ray cluster of two nodes, one of which is killed: the same bytes as here."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="ray is not installed")

ROOT = Path(__file__).resolve().parents[2]
GPU = "nvidia.com/gpu"
CELLS = 12
LONG = 120
"""Seconds after which a program hangs."""


@pytest.fixture(autouse=True)
def _one_at_a_time(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Let nobody look for a cluster while another process that runs tests has one."""
    with (tmp_path_factory.getbasetemp().parent / "ray.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


@pytest.fixture
def cluster(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Any]:
    monkeypatch.setenv("RAY_USAGE_STATS_ENABLED", "0")
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    monkeypatch.setenv("PYTHONPATH", path)
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "object_store_memory": 80 * 2**20}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        yield made
    finally:
        made.shutdown()


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Write a cluster and three traces that take about a second each to simulate."""
    folder = tmp_path_factory.mktemp("asked")
    version = {"apiVersion": "kantopt/v1alpha1"}
    nodes = [{"name": f"n{i}", "allocatable": {GPU: 8}} for i in range(8)]
    cluster = {**version, "kind": "ClusterSnapshot", "nodes": nodes}
    (folder / "cluster.json").write_text(json.dumps(cluster), encoding="utf-8")
    paths = [str(folder / "cluster.json")]
    for seed in range(3):
        jobs = [
            {
                "name": f"j{i}",
                "arrival": f"{i * 60}s",
                "duration": f"{300 + (i * 7919 + seed * 104729) % 1200}s",
                "podSets": [{"count": 1, "requests": {GPU: 1 + (i * 31 + seed) % 8}}],
            }
            for i in range(JOBS)
        ]
        trace = {**version, "kind": "Trace", "metadata": {"name": f"t{seed}"}, "jobs": jobs}
        (folder / f"t{seed}.json").write_text(json.dumps(trace), encoding="utf-8")
        paths.append(str(folder / f"t{seed}.json"))
    return paths


JOBS = 400


def command(paths: list[str], *more: str) -> list[str]:
    grid = ("--sweep", "--add-nodes", "n0:0,2", "--scale-load", "0.9,1.1")
    asked = (*paths, "--policy", "fifo", *grid, "-o", "json", "--log-format", "json", *more)
    return [sys.executable, "-m", "kantopt", "simulate", *asked]


@pytest.fixture(scope="module")
def here(paths: list[str]) -> str:
    """What is printed without any Ray."""
    done = subprocess.run(command(paths), capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_node_that_is_killed_half_way_costs_no_byte(
    cluster: Any, paths: list[str], here: str
) -> None:
    victim = cluster.add_node(num_cpus=1, object_store_memory=80 * 2**20)
    cluster.wait_for_nodes()
    asked = command(paths, "--ray", cluster.address)
    with subprocess.Popen(
        asked, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as there:
        assert there.stderr is not None
        assert there.stdout is not None
        done = 0
        for line in there.stderr:
            done += ": done (" in line
            if done == 2:  # of twelve, one at a time on each node: the next ones are running
                cluster.remove_node(victim, allow_graceful=False)
                break
        rest, text = there.stderr.read(), there.stdout.read()
        assert there.wait(LONG) == 0, rest
    assert rest.count(": done (") == CELLS - 2
    assert text == here
    assert not json.loads(text).get("failed")


CRASHING = """
import atexit, os, signal
from ray import exceptions

class Remote:
    def __init__(self, body):
        self.remote = lambda *given: lambda: body(*given)

def init(**_):
    atexit.register(shutdown)

def remote(**_):
    return Remote

def put(thing):
    return thing

def wait(references):
    return references[:1], references[1:]

def get(reference):
    return reference()

def shutdown():
    os.kill(os.getpid(), signal.SIGSEGV)
"""
"""A Ray that dies when it is shut down, as 2.60 now and then does once a node was lost."""


def test_a_ray_that_dies_at_its_end_costs_no_answer(
    tmp_path: Path, paths: list[str], here: str
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").write_text(CRASHING, encoding="utf-8")
    raised = "class RayError(Exception): ...\n"
    (tmp_path / "ray" / "exceptions.py").write_text(raised, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    asked = command(paths, "--ray", "auto")
    done = subprocess.run(asked, capture_output=True, text=True, timeout=LONG, env=environment)
    assert done.returncode == 0, done.stderr
    assert done.stdout == here


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("127.0.0.1:1", "--ray 127.0.0.1:1: no cluster to connect to: connection refused"),
        ("auto", "--ray auto: no cluster to connect to: "),
    ],
)
def test_a_cluster_that_is_not_there_is_said_at_once(
    tmp_path: Path, paths: list[str], address: str, message: str
) -> None:
    environment = {name: text for name, text in os.environ.items() if name != "RAY_ADDRESS"}
    environment["RAY_TMPDIR"] = str(tmp_path)
    asked = command(paths, "--ray", address)
    done = subprocess.run(asked, capture_output=True, text=True, timeout=LONG, env=environment)
    assert done.returncode == 69
    assert done.stdout == ""
    assert message in done.stderr
