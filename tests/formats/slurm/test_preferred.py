"""What jobs of Slurm prefer, beside what they must have."""

from __future__ import annotations

import pytest

from kantopt.formats.slurm.cluster import import_slurm
from kantopt.problem.build import build_instance
from kantopt.schema.extends import load_model
from kantopt.schema.files import parse_documents

WAITS = "JobState=PENDING Reason=Resources Partition=main OverSubscribe=OK"


@pytest.mark.parametrize(
    ("constraint", "prefer", "nodes", "fits"),
    [
        ("a", "b", 1, ["a", "b"]),  # as a real 22.05 has it: it starts on b
        ("a", "(null)", 1, ["a"]),
        ("(null)", "b", 1, ["a", "b", "c"]),
        ("a", "a&d", 1, ["a"]),
        ("a", "b", 2, ["a"]),  # all of its nodes are of one or of the other
    ],
)
def test_nodes_of_what_a_job_prefers_do_whatever_its_constraint_says(
    constraint: str, prefer: str, nodes: int, fits: list[str]
) -> None:
    hosts = "".join(
        f"NodeName={name} CPUTot=8 RealMemory=9000 ActiveFeatures={name} State=IDLE\n"
        for name in "abc"
    )
    job = (
        f"JobId=1 {WAITS} NumNodes={nodes}-{nodes} NumCPUs={nodes} NumTasks={nodes} "
        f"MinMemoryNode=1G Features={constraint} Prefer={prefer}\n"
    )
    read = import_slurm(parse_documents(f"{hosts}{job}".encode(), "dump"))
    question = build_instance(read.snapshot, read.pending.jobs, load_model("mixed"))
    allowed = [question.nodes[n].name for p in question.podsets for n in sorted(p.allowed)]
    assert allowed == fits
    assert any("--prefer" in line for line in read.notes) is (nodes > 1)
