"""What partitions let their jobs do: start, and evict others."""

from __future__ import annotations

import pytest

from kantopt.api import plan
from tests.formats.slurm.test_queue import config, imported, waits


@pytest.mark.parametrize(
    ("state", "starts"), [("UP", True), ("DRAIN", True), ("DOWN", False), ("INACTIVE", False)]
)
def test_jobs_wait_for_a_partition_that_is_down_or_inactive_only(state: str, starts: bool) -> None:
    read = imported(f"PartitionName=own State={state} Nodes=n1\n", waits(1, "own", 5))
    assert bool(read.pending.jobs) is starts
    assert any("down or inactive are left out" in note for note in read.notes) is not starts


def runs(number: int, partition: str) -> str:
    fields = f"RUNNING BatchFlag=1 NodeList=n1 StartTime=1788000000 Partition={partition}"
    return waits(number, partition, 1).replace("PENDING", fields)


@pytest.mark.parametrize(
    ("partitions", "evicts"),
    [("high", True), ("mid,high", True), ("low,high", False), ("high,low", False)],
)
def test_a_job_of_several_partitions_evicts_whom_it_may_from_each(
    partitions: str, evicts: bool
) -> None:
    """Where it starts is not known: in the low one Slurm would let it evict nobody."""
    mid = "PartitionName=mid PriorityTier=20 State=UP Nodes=n1\n"
    read = imported(mid, config("partition_prio"), runs(1, "low"), waits(2, partitions, 900))
    assert bool(plan(read.snapshot, read.pending).assignments) is evicts
    assert any("lowest of their tiers" in note for note in read.notes) is ("," in partitions)


def test_a_component_of_a_low_tier_evicts_nobody_for_one_of_a_higher() -> None:
    both = "".join(
        waits(k + 2, partition, 900).replace("Requeue", f"HetJobId=2 HetJobOffset={k} Requeue")
        for k, partition in enumerate(("high", "low"))
    )
    node = "NodeName=n2 CPUTot=8 RealMemory=8000 State=IDLE Partitions=low,high\n"
    read = imported(node, config("partition_prio"), runs(1, "low"), both)
    assert not plan(read.snapshot, read.pending).assignments
