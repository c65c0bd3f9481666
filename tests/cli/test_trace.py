"""``kantopt trace``: documents that read back, and what the command line refuses."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.schema.files import load_native
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.schema.trace import Trace
from tests.cli.conftest import Cli


@pytest.fixture(autouse=True)
def _in_folder(files: Path) -> None:
    """All of these run in the folder."""


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_cluster_and_its_load_read_back_with_outages(cli: Cli, form: str) -> None:
    done = cli(
        *("trace", "--nodes", "40", "--for", "1d", "--seed", "3", "--mtbf", "5d", "--mttr", "4h"),
        *("-O", f"t.{form}"),
    )
    assert (done.code, done.out) == (0, "")
    snapshot, trace = [part for _, part in load_native([f"t.{form}"])]
    assert isinstance(snapshot, ClusterSnapshot)
    assert isinstance(trace, Trace)
    assert len(snapshot.nodes) == 40
    assert trace.jobs
    assert trace.outages
    assert trace.metadata.name == "kalos-3"
    assert done.err.splitlines() == [f"kantopt: note: {note}" for note in trace.notes]


def test_for_a_snapshot_its_gpus_count_and_the_trace_is_written_alone(cli: Cli) -> None:
    done = cli("trace", "snap.yaml", "--jobs", "5", "-O", "t.yaml")
    assert done.code == 0
    assert "(24 GPUs x" in done.err
    assert [type(part) for _, part in load_native(["t.yaml"])] == [Trace]
    assert [type(part) for _, part in load_native(["snap.yaml", "t.yaml"])][1] is Trace


def test_jobs_that_are_drawn_start_on_nodes_tainted_by_the_name_of_their_gpus(cli: Cli) -> None:
    names = ("nvidia.com/gpu", "dedicated")
    for name in names:
        node = f"{{name: n1, allocatable: {{{names[0]}: 8}}, taints: [{{key: {name}, "
        node += "effect: NoSchedule}]}"
        head = "apiVersion: kantopt/v1alpha1\nkind: ClusterSnapshot\nmetadata: {name: t}\n"
        Path("t.yaml").write_text(f"{head}nodes: [{node}]\n")
        assert cli("trace", "t.yaml", "--jobs", "2", "-O", "jobs.yaml").code == 0
        done = cli("simulate", "t.yaml", "jobs.yaml", "--policy", "fifo")
        refused = "2 jobs could not even start in the empty cluster (eligibility: 0 of 1 nodes fit"
        assert (refused in done.out) == (name == "dedicated")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "expected one of SNAPSHOT, --gpus, --nodes"),
        (("--gpus", "8", "--nodes", "1"), "expected one of SNAPSHOT, --gpus, --nodes"),
        (("--gpus", "8", "--load", "1", "--for", "1d", "--jobs", "3"), "at most two of them"),
        (("--gpus", "8", "--load", "0"), "--load: found 0, expected more than 0"),
        (("--gpus", "8", "--mtbf", "1d"), "expected both or none"),
        (("--gpus", "8", "--mtbf", "1d", "--mttr", "1h"), "expected nodes that can fail"),
        (
            ("--gpus", "8", "--size", "8:many"),
            "--size: found '8:many', expected NUMBER or NUMBER:WEIGHT",
        ),
        (("--gpus", "8", "--size", "0:1"), "--size: found 0 GPUs"),
        (("--gpus", "8", "--priority", "5:-1"), "found '5:-1'"),
        (("--gpus", "8", "--for", "soon"), "expected a duration"),
    ],
)
def test_what_makes_no_sense_is_a_usage_error(
    cli: Cli, arguments: tuple[str, ...], said: str
) -> None:
    done = cli("trace", *arguments)
    assert (done.code, done.out) == (64, "")
    assert said in done.err
