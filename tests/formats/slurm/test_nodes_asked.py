"""Node lists of jobs that run, that wait, and that an earlier plan had pinned."""

from __future__ import annotations

import pytest

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
