"""What partitions give jobs for each GPU, of held jobs as a real 22.05 shows them."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.planning.capacity.asked import Short, job_in_short
from kantopt.planning.capacity.run import capacity
from kantopt.planning.question import question_of
from kantopt.planning.solving.options import Options
from kantopt.schema.extends import load_model
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


PLAIN = "NodeName=n{} CPUTot=8 RealMemory=8000 Gres=gpu:8 State=IDLE Partitions=main\n"


@pytest.mark.parametrize(
    ("partition", "asked", "wants"),
    [
        ("", Short(gpus=8), {"cpu": 1, "memory": "8000Mi"}),  # all memory of a node
        ("DefMemPerNode=500", Short(gpus=8), {"cpu": 1, "memory": "500Mi"}),
        ("DefMemPerCPU=500", Short(gpus=1), {"cpu": 1, "memory": "500Mi"}),
        ("DefMemPerCPU=500", Short(requests={"cpu": "4"}), {"cpu": "4", "memory": "2000Mi"}),
        ("DefMemPerCPU=500", Short(requests={"cpu": "1", "memory": "1Gi"}), {"memory": "1Gi"}),
        (
            "JobDefaults=DefCpuPerGPU=2,DefMemPerGPU=100 DefMemPerCPU=500",
            Short(gpus=4),
            {"cpu": 8, "memory": "400Mi"},
        ),
        ("JobDefaults=DefMemPerGPU=100", Short(requests={"cpu": "2"}), {"memory": "8000Mi"}),
    ],
)
def test_a_job_in_short_has_what_slurm_gives_who_names_no_cpus_or_memory(
    partition: str, asked: Short, wants: dict[str, str | int]
) -> None:
    text = PLAIN.format(1) + PLAIN.format(2)
    text += "PartitionName=other State=UP Nodes=n1 DefMemPerNode=7\n"
    text += f"PartitionName=main State=UP Default=YES Nodes=n[1-2] {partition}\n"
    question = question_of(parse_documents(text.encode(), "dump"))
    requests = dict(job_in_short(question, asked).pod_sets[0].requests)
    assert {name: requests.get(name) for name in wants} == wants
    config = "Configuration data as of 1788000000\nSelectTypeParameters = CR_CORE\n"
    question = question_of(parse_documents((text + config).encode(), "dump"))
    assert "memory" in asked.requests or (
        "memory" not in job_in_short(question, asked).pod_sets[0].requests
    )


def test_no_job_fits_where_all_cpus_are_taken() -> None:
    runs = (
        "JobId={0} JobState=RUNNING NodeList=n{0} Partition=main NumNodes=1 NumCPUs=8 NumTasks=1 "
        "CPUs/Task=8 MinMemoryNode=1G\n  Nodes=n{0} CPU_IDs=0-7 Mem=1024 GRES=\n"
    )
    text = PLAIN.format(1) + PLAIN.format(2) + runs.format(1)
    text += "PartitionName=main State=UP Default=YES Nodes=n[1-2] DefMemPerNode=500\n"
    question = question_of(parse_documents(text.encode(), "dump"))
    wanted = job_in_short(question, Short(gpus=1))
    found = capacity(
        question, load_model("mixed"), wanted, 0, Options(workers=1), Deadline.within(20)
    )
    assert found.rooms[0].bound == 8  # on the other node
