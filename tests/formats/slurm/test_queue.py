"""Who of those that wait comes first."""

from __future__ import annotations

import pytest

from kantopt.api import plan
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents

CLUSTER = """\
NodeName=n1 CPUTot=8 RealMemory=8000 State=IDLE Partitions=low,high
PartitionName=low PriorityTier=1 State=UP
PartitionName=high PriorityTier=50 State=UP
"""
QOS = "Name|Priority|Preempt|PreemptMode\nnormal|0||cluster\n\n"


def waits(number: int, partition: str, priority: int) -> str:
    return (
        f"JobId={number} JobState=PENDING Reason=Priority Requeue=1 Partition={partition} "
        f"Priority={priority} NumNodes=1 NumCPUs=8 NumTasks=1 CPUs/Task=8 MinMemoryNode=1G "
        "UserId=eve(1) QOS=normal\n"
    )


def test_a_job_that_was_queued_again_waits_for_its_time_before_it_has_a_reason() -> None:
    """Slurm starts nobody within two minutes of a requeue."""
    job = waits(1, "high", 900).replace("Reason=Priority", "Reason=None")
    for seconds, left in ((1, ()), (0, ("eve/1",))):
        read = imported(config("none"), f"{job[:-1]} EligibleTime=2026-09-01T03:00:0{seconds}\n")
        assert tuple(f"{each.namespace}/{each.name}" for each in read.pending.jobs) == left
        assert sum(read.held_back.values()) == 1 - len(left)
        assert any("later time (BeginTime)" in line for line in read.notes) is not bool(left)


def config(preempt: str) -> str:
    return (
        "Configuration data as of 2026-09-01T03:00:00\n"
        f"PreemptType = preempt/{preempt}\nPreemptMode = REQUEUE\n\n"
    )


def imported(*records: str) -> Imported:
    return import_slurm(parse_documents((CLUSTER + "".join(records)).encode(), "dump.txt"))


@pytest.mark.parametrize("preempt", ["none", "qos", "partition_prio"])
def test_higher_tiers_come_first_whatever_slurm_preempts_by(preempt: str) -> None:
    read = imported(QOS, config(preempt), waits(1, "low", 900), waits(2, "high", 100))
    assert [each.job for each in plan(read.snapshot, read.pending).assignments] == ["eve/2"]


def test_a_job_of_several_partitions_comes_in_the_turn_of_its_highest() -> None:
    read = imported(config("none"), waits(1, "low", 900), waits(2, "low,high", 100))
    assert [each.job for each in plan(read.snapshot, read.pending).assignments] == ["eve/2"]


def test_within_a_tier_priority_decides() -> None:
    read = imported(config("none"), waits(1, "high", 900), waits(2, "high", 100))
    assert [each.job for each in plan(read.snapshot, read.pending).assignments] == ["eve/1"]


@pytest.mark.parametrize("preempt", ["none", "qos"])
def test_a_higher_tier_evicts_nobody_where_slurm_does_not_preempt_by_it(preempt: str) -> None:
    runs = waits(1, "low", 1).replace("PENDING", "RUNNING").replace("Reason", "NodeList=n1 Reason")
    read = imported(QOS, config(preempt), runs, waits(2, "high", 100))
    made = plan(read.snapshot, read.pending)
    assert not made.assignments
    assert not read.snapshot.jobs[0].preemptible
