"""Limits of QOS: those of jobs, those of partitions, and what of them is not modelled."""

from __future__ import annotations

import pytest

from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.formats.slurm.export import export_slurm
from kantopt.schema.files import parse_documents
from tests.formats.slurm.test_sharing import places

NODES = "".join(
    f"NodeName=n{k} CPUTot=8 RealMemory=8000 Gres=gpu:8 State=IDLE Partitions=main,free\n"
    for k in (1, 2)
)
ASKED = "NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 MinMemoryNode=1G TresPerNode=gres:gpu:8"


def partitions(main: str = "N/A", free: str = "N/A") -> str:
    return "".join(
        f"PartitionName={name} Nodes=n[1-2] State=UP QoS={qos}\n"
        for name, qos in (("main", main), ("free", free))
    )


def qos(*rows: str) -> str:
    return "Name|Priority|GrpTRES\n" + "".join(f"{row}\n" for row in rows) + "\n"


def waits(reason: str = "Resources", *, own: str = "normal", partition: str = "main") -> str:
    head = f"JobId=2 UserId=eve(1) JobState=PENDING Reason={reason} QOS={own}"
    return f"{head} Partition={partition} {ASKED}\n"


def runs(own: str = "normal", partition: str = "main") -> str:
    head = f"JobId=1 UserId=eve(1) JobState=RUNNING NodeList=n1 QOS={own} Partition={partition}"
    return f"{head} {ASKED}\n  Nodes=n1 CPU_IDs=0 Mem=1024 GRES=gpu:8(IDX:0-7)\n"


def imported(*text: str) -> Imported:
    return import_slurm(parse_documents((NODES + "".join(text)).encode(), "dump.txt"))


@pytest.mark.parametrize(("most", "starts"), [(8, False), (16, True)])
def test_the_qos_of_a_partition_limits_all_of_its_jobs(most: int, starts: bool) -> None:
    limits = qos("normal|0|", f"own|0|gres/gpu={most}")
    read = imported(limits, partitions("own"), runs(), waits("QOSGrpGRES"))
    assert [job.queue_name for job in (*read.snapshot.jobs, *read.pending.jobs)] == ["own", "own"]
    assert places(read) == ({"2": "n2"} if starts else {})
    read = imported(limits, partitions("own"), runs(partition="free"), waits("QOSGrpGRES"))
    assert places(read) == {"2": "n2"}


def test_jobs_under_the_qos_of_a_partition_find_their_way_back() -> None:
    read = imported(qos("own|0|gres/gpu=8"), partitions("own"), runs(), waits())
    text, _ = export_slurm(read.snapshot, read.pending.jobs)
    again = import_slurm(parse_documents(text.encode(), "again.txt"))
    assert [job.queue_name for job in again.pending.jobs] == ["own"]


@pytest.mark.parametrize(
    ("reason", "limit", "planned"),
    [
        ("QOSGrpGRES", "gres/gpu=8", True),
        ("QOSGrpGRES", "cpu=8", False),
        ("QOSGrpCpuLimit", "cpu=1", True),
        ("QOSGrpMemLimit", "mem=1G", True),
        ("QOSGrpMemLimit", "", False),
        ("QOSGrpNodeLimit", "node=1,gres/gpu=8", False),
        ("QOSGrpJobsLimit", "gres/gpu=8", False),
        ("QOSGrpGRESRunMinutes", "gres/gpu=8", False),
        ("QOSGrpCPUMinutesLimit", "cpu=8", False),
    ],
)
def test_jobs_kept_by_a_limit_of_their_qos_that_is_not_modelled_are_left_out(
    reason: str, limit: str, planned: bool
) -> None:
    read = imported(qos(f"normal|0|{limit}"), partitions(), runs(), waits(reason))
    assert bool(read.pending.jobs) is planned
    assert any("kept by a limit" in note for note in read.notes) is not planned
    assert sum(read.held_back.values()) == (0 if planned else 1)


@pytest.mark.parametrize(
    ("own", "main", "free", "partition", "out"),
    [
        ("lab", "own", "N/A", "main", True),  # both limit it
        ("lab", "lab", "N/A", "main", False),
        ("normal", "own", "N/A", "main,free", True),  # in the other one nothing does
        ("normal", "own", "own", "main,free", False),
        ("normal", "own", "lab", "free", False),
    ],
)
def test_a_job_that_no_single_qos_limits_is_left_out(
    own: str, main: str, free: str, partition: str, out: bool
) -> None:
    limits = qos("normal|0|", "own|0|gres/gpu=8", "lab|0|gres/gpu=8")
    read = imported(limits, partitions(main, free), waits(own=own, partition=partition))
    assert bool(read.pending.jobs) is not out
    assert any("limits of several QOS" in note for note in read.notes) is out


def test_who_shares_a_limit_with_jobs_that_count_under_another_is_left_out() -> None:
    limits = qos("normal|0|", "own|0|gres/gpu=8", "lab|0|gres/gpu=8")
    both = runs(own="lab")
    read = imported(limits, partitions("own"), both, waits(own="lab", partition="free"))
    assert not read.pending.jobs
    assert any("limits of several QOS" in note for note in read.notes)
