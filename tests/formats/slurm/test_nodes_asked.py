"""Node lists of jobs that run, that wait, and that an earlier plan had pinned."""

from __future__ import annotations

import pytest

from kantopt.api import plan
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents
from kantopt.schema.jobs import Job

NODES = "".join(
    f"NodeName=n{k} CPUTot=8 RealMemory=1000 Gres=gpu:8 State=IDLE Partitions=main\n"
    for k in range(1, 5)
)
RUNS = "JobState=RUNNING BatchFlag=1 Requeue=1 Partition=main NumNodes=1 NumTasks=1 NumCPUs=1"


def jobs_of(text: str) -> dict[str, Job]:
    read = import_slurm(parse_documents((NODES + text).encode(), "dump.txt"))
    return {job.name: job for job in (*read.snapshot.jobs, *read.pending.jobs)}


def only(job: Job) -> list[tuple[str, ...]]:
    """Nodes that each pod set is held to; none: it may be anywhere."""
    return [
        next(
            (
                field.values
                for term in podset.node_affinity
                for field in term.match_fields
                if field.operator == "In"
            ),
            (),
        )
        for podset in job.pod_sets
    ]


def test_a_job_that_runs_stays_among_the_nodes_that_it_asked_for() -> None:
    jobs = jobs_of(
        f"JobId=1 {RUNS} NodeList=n1 ReqNodeList=n[1-2] ExcNodeList=n3\n"
        f"JobId=2 {RUNS.replace('=1 ', '=2 ')} NodeList=n[2-3] ReqNodeList=n3\n"
        f"JobId=3 {RUNS} NodeList=n4\n"
    )
    assert only(jobs["1"]) == [("n1", "n2")]
    assert [
        field.values
        for field in jobs["1"].pod_sets[0].node_affinity[0].match_fields
        if field.operator == "NotIn"
    ] == [("n3",)]
    assert sorted(only(jobs["2"])) == [(), ("n3",)]
    assert only(jobs["3"]) == [()]


@pytest.mark.parametrize("comment", ["", "ask Ada "])
@pytest.mark.parametrize("line_end", ["\n   ", " "])
def test_what_a_plan_has_pinned_has_not_asked_for_that(comment: str, line_end: str) -> None:
    fields = [
        "JobId=1",
        RUNS,
        "NodeList=n1 ReqNodeList=n1",
        f"AdminComment={comment}kantopt:12ab:ReqNodeList=n[1-2]:1,1:99",
    ]
    assert only(jobs_of(line_end.join(fields) + "\n")["1"]) == [("n1", "n2")]
    fields[3] = f"AdminComment={comment}kantopt:12ab:ReqNodeList=:1,1:99"
    assert only(jobs_of(line_end.join(fields) + "\n")["1"]) == [()]
    fields[2:] = [
        "NodeList=n1 ExcNodeList=n[2-4]",
        f"AdminComment={comment}kantopt:12ab:ExcNodeList=:1,1:99",
    ]
    assert jobs_of(line_end.join(fields) + "\n")["1"].pod_sets[0].node_affinity == ()


@pytest.mark.parametrize(
    ("reason", "mark", "waits"),
    [
        ("JobHeldAdmin", "kantopt:12ab:ReqNodeList=:1-2,2:99", True),
        ("JobHeldAdmin", "kantopt:12ab:ReqNodeList=:1-2,2,1:99", True),
        ("job_requeued_in_held_state", "kantopt:12ab:ReqNodeList=:1-2,2:99", True),
        ("JobHeldUser", "kantopt:12ab:ReqNodeList=:1-2,2:99", False),
        ("JobHeldAdmin", "kantopt:12ab:ReqNodeList=:1-2,2:0", False),
        ("JobHeldAdmin", "ask Ada", False),
    ],
)
def test_a_job_that_the_script_of_a_plan_holds_waits_as_it_did_before(
    reason: str, mark: str, waits: bool
) -> None:
    """It is held until its turn, or since the script was killed: nobody else has decided that."""
    job = (
        "JobId=1 BatchFlag=1 Requeue=1 Partition=main JobState=PENDING Priority=0 NumNodes=2-2 "
        f"NumTasks=2 NumCPUs=2 Reason={reason} ReqNodeList=n[1-2] AdminComment={mark}\n"
    )
    found = jobs_of(job)
    assert ("1" in found) is waits
    if waits:
        (podset,) = found["1"].pod_sets
        assert (podset.count, podset.min_count, only(found["1"])) == (2, 1, [()])
        assert podset.requests["cpu"] == (1 if ",1:" in mark else 2)


def test_pods_of_one_job_have_different_names() -> None:
    many = "BatchFlag=1 Requeue=1 Partition=main NumNodes=2-3 NumTasks=2 NumCPUs=2"
    jobs = jobs_of(
        f"JobId=1 JobState=PENDING {many} ReqNodeList=n1\n"
        f"JobId=2 JobState=RUNNING {many} NodeList=n[2-3]\n"
        "     Nodes=n2 CPU_IDs=0 Mem=1\n     Nodes=n3 CPU_IDs=0-1 Mem=1\n"
    )
    waiting = [pod.name for podset in jobs["1"].pod_sets for pod in podset.pods]
    assert waiting == ["1:0", "1:1", "1:2"]
    running = [p.name for podset in jobs["2"].pod_sets for a in podset.assignments for p in a.pods]
    assert running == ["2:n2", "2:n3"]


PARTS = (
    "PartitionName=a Nodes=n1 State=UP\nPartitionName=b Nodes=n[2-3] State=UP MaxNodes=1\n"
    "PartitionName=c Nodes=n4 State=DOWN\nPartitionName=d Nodes=n[1-3] State=UP\n"
)
WAITS = "JobState=PENDING Reason=Priority OverSubscribe=OK MinMemoryNode=1M"


@pytest.mark.parametrize(
    ("names", "nodes", "where"),
    [
        ("a,b", 1, "ab"),
        ("a,d", 2, "ad"),  # d has all nodes of a
        ("b,d", 2, "d"),  # more than MaxNodes of b
        ("a,c", 1, "a"),  # c is down
        ("c", 1, "c"),
    ],
)
def test_a_job_of_several_partitions_is_in_those_that_let_it_in(
    names: str, nodes: int, where: str
) -> None:
    asked = f"NumNodes={nodes}-{nodes} NumCPUs={nodes} NumTasks={nodes}"
    text = PARTS + f"JobId=1 {WAITS} Partition={names} {asked}"
    raws = parse_documents((NODES.replace(" Partitions=main", "") + text).encode(), "dump.txt")
    (podset,) = import_slurm(raws, gated=True).pending.jobs[0].pod_sets
    keys = [*podset.node_selector]
    keys += [e.key for term in podset.node_affinity for e in term.match_expressions]
    assert keys == [f"partition.slurm/{name}" for name in where]


def test_all_nodes_of_a_job_are_in_one_partition() -> None:
    parts = "PartitionName=a Nodes=n1 State=UP\nPartitionName=b Nodes=n[2-4] State=UP\n"
    job = f"JobId=1 {WAITS} Partition=a,b NumNodes=2-2 NumCPUs=2 NumTasks=2"
    nodes = NODES.replace(" Partitions=main", "")
    read = import_slurm(parse_documents((nodes + parts + job).encode(), "dump.txt"))
    (podset,) = read.pending.jobs[0].pod_sets
    assert podset.node_selector == {"partition.slurm/b": "true"}
    assert any("the largest of their partitions" in note for note in read.notes)


CAPPED = (
    "PartitionName=half Nodes=n[1-4] State=UP MaxCPUsPerNode=16\n"
    "PartitionName=main Nodes=n[1-4] State=UP MaxCPUsPerNode=UNLIMITED\n"
)


def capped(where: str, cpus: int, on: str = "n1", more: str = "") -> bool:
    """Whether a job has a place beside one that holds 10 CPUs of n1 in partition half."""
    holds = (
        "JobId=1 JobState=RUNNING Requeue=0 Partition=half OverSubscribe=OK NumNodes=1 NumCPUs=10 "
        "NumTasks=1 NodeList=n1\n  Nodes=n1 CPU_IDs=0-9 Mem=1 GRES=\n"
    )
    asked = f"NumNodes=1-1 NumCPUs={cpus} NumTasks=1 CPUs/Task={cpus} ReqNodeList={on} {more}"
    nodes = NODES.replace("CPUTot=8", "CPUTot=64")
    text = f"{nodes}{CAPPED}{holds}JobId=2 {WAITS} Partition={where} {asked}\n"
    read = import_slurm(parse_documents(text.encode(), "dump.txt"))
    noted = [note for note in read.notes if "MaxCPUsPerNode" in note]
    assert len(noted) == ("," in where)
    return bool(plan(read.snapshot, read.pending, engine="fast").assignments)


def test_jobs_of_a_partition_have_no_more_cpus_of_a_node_than_it_lets_them() -> None:
    assert capped("half", 6)
    assert not capped("half", 7)
    assert capped("half", 16, "n2")
    assert not capped("half", 17, "n2")
    assert capped("main", 17)
    assert capped("half,main", 17)
    # Whole nodes it gives all the same, though not all of their CPUs.
    assert capped("half", 1, "n2", "OverSubscribe=NO")
