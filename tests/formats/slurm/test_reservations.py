"""Reservations: who may go to their nodes while they last, and who before they begin."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from kantopt.api import plan
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.planning.question import question_of
from kantopt.schema.files import parse_documents
from kantopt.schema.jobs import Job, PodSet
from kantopt.verify.rules import check
from tests.questions import model

NODES = "".join(
    f"NodeName=n{i} CPUTot=8 RealMemory=8000 State=IDLE Partitions=main "
    "LastBusyTime=2026-09-01T03:00:00\n"
    for i in (1, 2)
)
ASKED = "Partition=main NumNodes=1 NumCPUs=8 NumTasks=1 CPUs/Task=8 MinMemoryNode=1G UserId=eve(1)"


def reservation(nodes: str = "n1", fields: str = "Flags=MAINT", start: str = "04:00:00") -> str:
    times = f"StartTime=2026-09-01T{start} EndTime=2026-09-01T08:00:00"
    return f"ReservationName=disks {times} Nodes={nodes} State=INACTIVE {fields}\n"


def waits(limit: str, fields: str = "") -> str:
    return (
        f"JobId=7 JobState=PENDING Reason=Resources Requeue=1 TimeLimit={limit} {ASKED} {fields}\n"
    )


def imported(*records: str) -> Imported:
    return import_slurm(parse_documents((NODES + "".join(records)).encode(), "dump.txt"))


def places(read: Imported) -> set[str]:
    made = plan(read.snapshot, read.pending, engine="fast")
    return {each.node for each in made.assignments if each.job.endswith("/7")}


@pytest.mark.parametrize("limit", ["01:00:01", "1-00:00:00", "UNLIMITED", "Partition_Limit"])
def test_who_would_still_run_when_a_reservation_begins_goes_to_none_of_its_nodes(
    limit: str,
) -> None:
    read = imported(reservation(), waits(limit))
    assert places(read) == {"n2"}
    assert any("would end: 1 (disks, 7)" in line for line in read.notes), read.notes
    assert places(imported(reservation("n[1-2]"), waits(limit))) == set()


@pytest.mark.parametrize("limit", ["01:00:00", "59:00", "(null)"])
def test_who_ends_before_a_reservation_begins_goes_to_its_nodes(limit: str) -> None:
    read = imported(reservation("n[1-2]"), waits(limit))
    assert len(places(read)) == 1
    assert not any("would end" in line for line in read.notes)


def test_the_least_time_that_a_job_takes_counts() -> None:
    assert places(imported(reservation("n[1-2]"), waits("02:00:00", "TimeMin=30:00")))


def test_who_may_use_a_reservation_goes_to_its_nodes_before_it_begins() -> None:
    drawn = reservation("n[1-2]", "Flags=MAGNETIC Users=eve,bob")
    assert places(imported(drawn, waits("UNLIMITED")))
    others = reservation("n[1-2]", "Flags=MAGNETIC Users=bob")
    assert not places(imported(others, waits("UNLIMITED")))


def test_reservations_that_are_over_close_nothing() -> None:
    over = reservation("n[1-2]", start="01:00:00").replace("T08:", "T02:")
    assert places(imported(over, waits("UNLIMITED")))


def test_who_runs_stays_where_it_is_and_moves_to_no_node_that_is_reserved_before_its_end() -> None:
    runs = (
        f"JobId=7 JobState=RUNNING NodeList=n1 Requeue=1 BatchFlag=1 TimeLimit=UNLIMITED {ASKED}\n"
        "  Nodes=n1 CPU_IDs=0-7 Mem=1024 GRES=\n"
    )
    text = NODES + reservation("n[1-2]") + runs
    instance = question_of(parse_documents(text.encode(), "dump.txt")).instance(model("moves"))
    assert not check(instance, instance.current)
    assert not any(podset.allowed for podset in instance.podsets)


def test_who_comes_without_a_limit_of_time_may_use_nodes_that_are_reserved_later() -> None:
    text = NODES + reservation("n[1-2]") + "Configuration data as of 1788000000\n"
    question = question_of(parse_documents(text.encode(), "dump.txt"))
    wish = Job(name="wish", pod_sets=(PodSet(count=2, requests={"cpu": 8}),))
    for lasting, nodes in ((False, {0, 1}), (True, set())):
        podset = wish.pod_sets[0].model_copy(update={"outlasts": lasting})
        asked = replace(question, pending=(wish.model_copy(update={"pod_sets": (podset,)}),))
        assert asked.instance(model("moves")).podsets[0].allowed == nodes


def test_limits_of_time_are_read_from_json_in_minutes() -> None:
    job: dict[str, Any] = {
        "job_id": 7,
        "job_state": ["PENDING"],
        "state_reason": "Resources",
        "partition": "main",
        "node_count": {"set": True, "number": 1},
        "cpus": {"set": True, "number": 8},
        "tasks": {"set": True, "number": 1},
        "memory_per_node": {"set": True, "number": 1024},
        "time_minimum": {"set": True, "infinite": False, "number": 0},
    }
    endless = {"set": True, "infinite": True, "number": 0}
    for limit, where in ((61, {"n2"}), (60, {"n1", "n2"}), (endless, {"n2"})):
        job["time_limit"] = limit
        raws = parse_documents((NODES + reservation()).encode(), "dump.txt")
        raws += parse_documents(json.dumps({"jobs": [job]}).encode(), "jobs.json")
        read = import_slurm(raws)
        assert places(read) <= where
        assert any("would end" in line for line in read.notes) == (where == {"n2"})


def test_reservations_of_some_cores_close_no_node_and_are_told() -> None:
    for times in ("StartTime=2026-09-01T02:00:00", "StartTime=2026-09-01T04:00:00"):
        some = f"ReservationName=few {times} EndTime=2026-09-01T08:00:00 Nodes=n[1-2] "
        read = imported(some + "NodeCnt=2 CoreCnt=8 Flags=\n", waits("UNLIMITED"))
        assert len(places(read)) == 1
        assert any("cores" in line and "few" in line for line in read.notes)
        whole = imported(some + "NodeCnt=2 CoreCnt=16 Flags=\n", waits("UNLIMITED"))
        assert not places(whole)
    for name in ("few", "other"):
        some = "ReservationName=few Nodes=n1 NodeCnt=1 CoreCnt=2 State=ACTIVE\n"
        read = imported(some, waits("UNLIMITED", f"Reservation={name}"))
        assert places(read) == ({"n1"} if name == "few" else set())


def test_cores_are_counted_by_the_threads_of_their_node() -> None:
    nodes = NODES.replace("CPUTot=8", "CPUTot=8 CPUEfctv=6 ThreadsPerCore=2")
    for cores, closed in ((3, True), (2, False)):
        text = f"ReservationName=r Nodes=n1 NodeCnt=1 CoreCnt={cores} State=ACTIVE\n"
        read = import_slurm(parse_documents((nodes + text).encode(), "dump.txt"))
        assert [bool(node.taints) for node in read.snapshot.nodes] == [closed, False]


def test_jobs_of_a_flexible_reservation_start_beyond_its_nodes_and_before_it_begins() -> None:
    coming = reservation("n1", "Flags=FLEX,SPEC_NODES Users=eve")
    active = reservation("n1", "Flags=FLEX,SPEC_NODES Users=eve", start="02:00:00")
    for read in (
        imported(coming, waits("UNLIMITED", "Reservation=disks")),
        imported(active, waits("UNLIMITED", "Reservation=disks")),
    ):
        assert len(read.pending.jobs) == 1
        assert len(places(read)) == 1
    rest = waits("UNLIMITED").replace("JobId=7", "JobId=8").replace("PENDING", "RUNNING")
    for node, other in (("n1", "n2"), ("n2", "n1")):
        runs = rest[:-1] + f"NodeList={node}\n  Nodes={node} CPU_IDs=0-7 Mem=1024 GRES=\n"
        for each in (coming, active):
            assert places(imported(each, runs, waits("UNLIMITED", "Reservation=disks"))) == {other}
    # Others are kept off as from any other.
    assert places(imported(coming, waits("UNLIMITED"))) == {"n2"}
    assert places(imported(active, waits("10:00"))) == {"n2"}
