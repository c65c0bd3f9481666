"""What partitions give jobs for each GPU, of held jobs as a real 22.05 shows them."""

from __future__ import annotations

import pytest

from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents

CLUSTER = (
    "NodeName=n1 CPUTot=64 RealMemory=512000 Gres=gpu:8 State=IDLE Partitions=main\n"
    "PartitionName=main\n   Nodes=n1 State=UP JobDefaults=DefCpuPerGPU=4,DefMemPerGPU=2000\n\n"
)
HELD = (
    "JobId=1 JobState=PENDING Reason=JobHeldUser Priority=0 Partition=main OverSubscribe=OK "
    "NumNodes=1-1 NumCPUs=1 NumTasks=1 CPUs/Task=1 TRES=cpu=1,mem=500G,node=1 MinCPUsNode=1 "
    "MinMemoryNode=0 TresPerNode=gres:gpu:2\n"
)


@pytest.mark.parametrize(
    ("old", "new", "wants"),
    [
        ("", "", {"cpu": 8, "memory": "4000Mi"}),
        ("CPUs/Task=1", "CPUs/Task=3", {"cpu": 1, "memory": "4000Mi"}),
        ("MinMemoryNode=0", "MinMemoryNode=1000M", {"cpu": 8, "memory": "1000Mi"}),
        ("MinMemoryNode=0", "MinMemoryCPU=1000M", {"cpu": 8, "memory": "8000Mi"}),
        ("Reason=JobHeldUser Priority=0", "Reason=Resources Priority=9", {"cpu": 1}),
    ],
)
def test_a_held_job_gets_what_its_partition_gives_each_gpu(
    old: str, new: str, wants: dict[str, str | int]
) -> None:
    raws = parse_documents((CLUSTER + HELD.replace(old, new)).encode(), "dump")
    read = import_slurm(raws, gated=True)
    requests = dict(read.pending.jobs[0].pod_sets[0].requests)
    assert requests == {"memory": "500Gi", "nvidia.com/gpu": 2} | wants
    assert any("gives each GPU" in note for note in read.notes) is ("Priority=9" not in new)
