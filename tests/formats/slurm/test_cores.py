"""Slurm gives jobs whole cores, with all of their threads."""

from __future__ import annotations

import pytest

from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents
from kantopt.schema.jobs import Job


def node(name: str, sockets: int, cores: int, threads: int) -> str:
    return (
        f"NodeName={name} CPUTot={sockets * cores * threads} Sockets={sockets} "
        f"CoresPerSocket={cores} ThreadsPerCore={threads} RealMemory=256000 State=IDLE "
        "Partitions=main\n"
    )


NODES = node("n1", 2, 16, 2) + node("n2", 1, 8, 4)
ONE = node("n3", 2, 16, 1)


def config(how: str = "CR_Core_Memory", by: str = "select/cons_tres") -> str:
    return (
        "Configuration data as of 2026-09-01T03:00:00\n"
        f"SelectType = {by}\nSelectTypeParameters = {how}\n\n"
    )


def imported(fields: str, *more: str) -> Imported:
    job = f"JobId=1 JobState=PENDING Reason=Priority Partition=main UserId=eve(1) {fields}\n"
    return import_slurm(parse_documents((NODES + "".join(more) + job).encode(), "dump.txt"))


def job_of(fields: str, *more: str) -> Job:
    (job,) = imported(fields, *more).pending.jobs
    return job


def asked(fields: str, *more: str) -> tuple[int, int, str]:
    """Pods of a job, and what each asks for."""
    (podset,) = job_of(fields, *more).pod_sets
    return podset.count, int(podset.requests["cpu"]), str(podset.requests["memory"])


NODE = "NumNodes=1-1 NumTasks=1 NumCPUs=3 CPUs/Task=3"
TASKS = "NumNodes=1 NumTasks=4 NumCPUs=4 CPUs/Task=1 TRES=cpu=4,node=1 MinMemoryCPU=1G"


@pytest.mark.parametrize(
    ("fields", "how", "expected"),
    [
        (f"{NODE} MinMemoryNode=5G", "CR_Core_Memory", (1, 4, "5Gi")),
        (f"{NODE} MinMemoryCPU=1G", "CR_Core_Memory", (1, 4, "4Gi")),
        (f"{NODE} MinMemoryCPU=1G", "CR_CPU_Memory", (1, 4, "3Gi")),
        (f"{NODE} MinMemoryCPU=1G ReqB:S:C:T=0:0:*:1", "CR_Core_Memory", (1, 6, "3Gi")),
        (TASKS, "CR_Core_Memory", (4, 1, "1Gi")),  # of one job, which may share cores
        (f"{TASKS} NtasksPerN:B:S:C=0:0:*:1", "CR_Core_Memory", (4, 2, "1Gi")),
        (f"{TASKS} ReqB:S:C:T=0:0:*:1", "CR_Core_Memory", (4, 2, "1Gi")),
        (
            "NumNodes=2-2 NumTasks=6 NumCPUs=6 CPUs/Task=1 NtasksPerN:B:S:C=3:0:*:1 "
            "MinMemoryNode=1G",
            "CR_Core_Memory",
            (2, 6, "1Gi"),
        ),
    ],
)
def test_cpus_of_a_job_are_those_of_whole_cores(
    fields: str, how: str, expected: tuple[int, int, str]
) -> None:
    """``CR_CPU`` too gives cores to one job only, but memory for the CPUs that it asks for."""
    assert asked(fields, config(how)) == expected


def test_nobody_knows_better_without_the_configuration_or_where_some_cores_have_one_thread() -> (
    None
):
    fields = f"{NODE} MinMemoryCPU=1G"
    assert asked(fields) == (1, 3, "3Gi")
    assert asked(fields, ONE, config()) == (1, 3, "3Gi")


@pytest.mark.parametrize("narrowed", ["ReqNodeList=n1", "ExcNodeList=n3"])
def test_cores_of_nodes_that_a_job_cannot_get_do_not_count(narrowed: str) -> None:
    assert asked(f"{NODE} MinMemoryCPU=1G {narrowed}", ONE, config()) == (1, 4, "4Gi")


@pytest.mark.parametrize(
    ("fields", "lacking"),
    [
        ("Socks/Node=2", ("n2",)),
        ("ReqB:S:C:T=0:0:16:*", ("n2",)),
        ("ReqB:S:C:T=0:0:*:2", ("n3",)),
        ("ReqB:S:C:T=0:0:*:4", ("n1", "n3")),
        ("ReqB:S:C:T=0:0:*:1 Socks/Node=*", ()),
    ],
)
def test_nodes_have_the_sockets_cores_and_threads_that_a_job_names(
    fields: str, lacking: tuple[str, ...]
) -> None:
    (podset,) = job_of(f"{NODE} MinMemoryNode=1G {fields}", ONE, config()).pod_sets
    never = [
        field.values
        for term in podset.node_affinity
        for field in term.match_fields
        if field.operator == "NotIn"
    ]
    assert never == ([lacking] if lacking else [])
