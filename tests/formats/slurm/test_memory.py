"""Memory of jobs that name none, and where Slurm does not count it, as a real 22.05 has it."""

from __future__ import annotations

import pytest

from kantopt.api import plan
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.formats.slurm.export import export_slurm
from kantopt.schema.files import parse_documents
from kantopt.schema.raw import RawDocument

NODES = (
    "NodeName=g1 CPUTot=64 RealMemory=512000 Gres=gpu:8 State=IDLE Partitions=main\n"
    "NodeName=m1 CPUTot=32 RealMemory=128000 Gres=gpu:8 State=IDLE Partitions=main\n"
    "NodeName=m2 CPUTot=32 RealMemory=128000 Gres=gpu:8 State=IDLE Partitions=main\n"
)
PENDING = "JobState=PENDING Reason=Resources Partition=main OverSubscribe=OK MinCPUsNode=1"
RUNNING = (
    "JobState=RUNNING Requeue=0 Partition=main OverSubscribe=OK NumNodes=1 NumCPUs=1 NumTasks=1"
)
ALL = "MinMemoryNode=0 TRES=cpu=1,mem=500G,node={}"  # Slurm expects the memory of its first node


def raws(*jobs: str, memory: bool = True) -> list[RawDocument]:
    how = "CR_CORE_MEMORY" if memory else "CR_CORE"
    config = "Configuration data as of 2026-09-01T03:00:00\n"
    config += f"SelectType = select/cons_tres\nSelectTypeParameters = {how}\n"
    return [
        *parse_documents((NODES + "\n".join(jobs) + "\n").encode(), "dump.txt"),
        *parse_documents(config.encode(), "config.txt"),
    ]


def imported(*jobs: str, memory: bool = True) -> Imported:
    return import_slurm(raws(*jobs, memory=memory))


def places(read: Imported) -> dict[str, list[str]]:
    """Nodes that each job is given by a plan."""
    found: dict[str, list[str]] = {}
    for each in plan(read.snapshot, read.pending, engine="fast").assignments:
        found.setdefault(each.job.rpartition("/")[2], []).append(each.node)
    return {name: sorted(nodes) for name, nodes in found.items()}


def test_a_job_that_names_no_memory_takes_all_of_each_node_however_much_that_is() -> None:
    wants = f"JobId=1 {PENDING} NumNodes=3-3 NumCPUs=3 NumTasks=3 {ALL.format(3)}"
    assert places(imported(wants)) == {"1": ["g1", "m1", "m2"]}


def test_who_takes_all_memory_goes_where_nobody_has_any() -> None:
    holds = f"JobId=2 {RUNNING} NodeList=g1 MinMemoryNode=1G\n  Nodes=g1 CPU_IDs=0 Mem=1024 GRES="
    wants = f"JobId=1 {PENDING} ReqNodeList=g1 NumNodes=1-1 NumCPUs=1 NumTasks=1 {ALL.format(1)}"
    read = imported(holds, wants)
    assert places(read) == {}
    (waits,) = plan(read.snapshot, read.pending, engine="fast").unplaced
    assert "1 slurm/memory-share" in waits.message


def test_nobody_who_takes_memory_joins_who_has_all_of_it() -> None:
    wants = f"JobId=1 {PENDING} NumNodes=3-3 NumCPUs=3 NumTasks=3 {ALL.format(3)}"
    other = f"JobId=2 {PENDING} NumNodes=1-1 NumCPUs=1 NumTasks=1 MinMemoryNode=1G"
    assert len(places(imported(wants, other))) == 1


def test_tasks_that_take_all_memory_are_together_on_the_fewest_nodes() -> None:
    wants = f"JobId=1 {PENDING} NumNodes=1 NumCPUs=64 NumTasks=4 CPUs/Task=16 {ALL.format(1)}"
    assert places(imported(wants)) == {"1": ["g1"]}


def test_tasks_share_the_memory_that_is_named_for_a_node() -> None:
    fields = "NumNodes=1 NumTasks={} NumCPUs={} CPUs/Task=32 MinMemoryNode=100000M"
    tres = "TRES=cpu=32,mem=100000M,node=1"
    several = f"JobId=1 {PENDING} {fields.format(3, 96)} {tres}"
    assert places(imported(several)) == {"1": ["g1", "m1", "m2"]}
    read = imported(several)
    assert [p.requests["memory"] for p in read.pending.jobs[0].pod_sets] == ["100000Mi"]
    # No number of nodes holds them in equal parts: each has the memory to itself.
    uneven = f"JobId=1 {PENDING} {fields.format(4, 128)} {tres}"
    assert places(imported(uneven)) == {"1": ["g1", "m1", "m2"]}  # two on g1
    assert places(imported(uneven.replace("100000M", "257000M"))) == {}


def test_a_job_for_whole_nodes_that_names_no_memory_fits_the_smallest() -> None:
    whole = PENDING.replace("OverSubscribe=OK", "OverSubscribe=NO")
    wants = f"JobId=1 {whole} NumNodes=3-3 NumCPUs=3 NumTasks=3 {ALL.format(3)}"
    assert places(imported(wants)) == {"1": ["g1", "m1", "m2"]}


@pytest.mark.parametrize("named", ["MinMemoryNode=400G", "MinMemoryCPU=400G"])
def test_where_slurm_does_not_count_memory_a_node_must_only_have_it(named: str) -> None:
    holds = f"JobId=2 {RUNNING} NodeList=g1 {named}\n  Nodes=g1 CPU_IDs=0 Mem=0 GRES="
    wants = [f"JobId={k} {PENDING} NumNodes=1 NumCPUs=1 NumTasks=1 {named}" for k in (3, 4)]
    assert places(imported(holds, *wants, memory=False)) == {"3": ["g1"], "4": ["g1"]}


def test_where_slurm_does_not_count_memory_who_names_none_may_go_anywhere() -> None:
    wants = f"JobId=1 {PENDING} NumNodes=3-3 NumCPUs=3 NumTasks=3 {ALL.format(3)}"
    assert places(imported(wants, memory=False)) == {"1": ["g1", "m1", "m2"]}


def test_all_memory_is_written_as_slurm_says_it() -> None:
    read = imported(f"JobId=1 {PENDING} NumNodes=3-3 NumCPUs=3 NumTasks=3 {ALL.format(3)}")
    text, _ = export_slurm(read.snapshot, read.pending.jobs)
    again = import_slurm(parse_documents(text.encode(), "again.slurm"))
    assert again.pending.jobs[0].pod_sets == read.pending.jobs[0].pod_sets
    assert again.snapshot.nodes == read.snapshot.nodes


def test_whole_nodes_must_have_what_a_job_names_for_each_of_their_cpus() -> None:
    whole = PENDING.replace("OverSubscribe=OK", "OverSubscribe=NO")
    each = "MinMemoryCPU={}M TRES=cpu=1,node=1"
    wants = f"JobId=1 {whole} NumNodes=1-1 NumCPUs=1 NumTasks=1 {each}"
    assert places(imported(wants.format(8001))) == {}  # 64 CPUs and 512000 MB, 32 and 128000
    assert places(imported(wants.format(8000))) == {"1": ["g1"]}
    assert places(imported(wants.format(8001).replace("=NO", "=OK"))) != {}


def test_who_may_share_nodes_in_one_of_its_partitions_needs_no_memory_for_all_cpus() -> None:
    parts = "PartitionName=whole Nodes=g1 State=UP OverSubscribe=EXCLUSIVE\n"
    fields = "NumNodes=1-1 NumCPUs=1 NumTasks=1 MinMemoryCPU=8001M TRES=cpu=1,node=1"
    job = f"JobId=1 {PENDING.replace('=main', '=main,whole')} {fields}"
    assert "1" in places(imported(parts, job))
    alone = f"JobId=1 {PENDING.replace('=main', '=whole')} {fields}"
    assert places(imported(parts, alone)) == {}


@pytest.mark.parametrize(("told", "memory"), [("720G", "240Gi"), ("96000M", "32000Mi")])
def test_memory_for_each_gpu_goes_before_a_default_for_each_cpu(told: str, memory: str) -> None:
    # --mem-per-gpu=60G with DefMemPerCPU; --mem-per-cpu=2000 with DefMemPerGPU: the TRES differ
    read = imported(
        f"JobId=1 {PENDING.replace('=1', '=16')} NumNodes=3-3 NumCPUs=24 NumTasks=6 CPUs/Task=4 "
        f"MinMemoryCPU=2000M MemPerTres=gres:gpu:61440 TresPerNode=gres:gpu:4 "
        f"TRES=cpu=24,mem={told},node=3"
    )
    assert read.pending.jobs[0].pod_sets[0].requests["memory"] == memory


@pytest.mark.parametrize(
    ("told", "share", "memory"),
    [
        ("mem=500G", 1024, None),  # --mem=0 is named, and the partition has a default
        ("mem=16000M", None, "16000Mi"),  # neither is named
        ("billing=1", None, "16000Mi"),
    ],
)
def test_all_memory_is_asked_for_in_spite_of_a_default_for_each_gpu(
    told: str, share: int | None, memory: str | None
) -> None:
    wants = (
        f"JobId=1 {PENDING} NumNodes=1-1 NumCPUs=1 NumTasks=1 MinMemoryNode=0 MemPerTres=gpu:8000 "
        f"TresPerNode=gres:gpu:2 TRES=cpu=1,{told},node=1"
    )
    (podset,) = imported(wants).pending.jobs[0].pod_sets
    assert podset.requests.get("slurm/memory-share") == share
    assert podset.requests.get("memory") == memory
