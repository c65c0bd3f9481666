"""Traces of GPU clusters: Kalos, Philly, openb; what they leave open, and what is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.traces.kalos import read_kalos
from kantopt.formats.traces.openb_trace import read_openb_trace
from kantopt.formats.traces.philly import read_philly
from kantopt.schema.consistency import check_snapshot, check_trace
from kantopt.schema.dump import dump_data
from kantopt.schema.duration import duration_seconds
from kantopt.schema.gangs import GPU
from kantopt.schema.trace import Trace

KALOS = """\
job_id,arrival_time,num_iteration,iteration_computing_time,iteration_networking_time,gpu_workers,ps,gpu_per_worker,cpu_per_gpu_worker
7,20.0,5,0.5,0.25,2,0,8.0,15.0
3,0.0,208,0.5,0.25,8,1,8.0,15.0
"""
PHILLY = """\
timestamp,duration,num_gpus,gpu_time,cluster
2017-10-09 07:01:55,66.0,1,66.0,a
2017-10-09 07:00:00,0.4,20,8.0,b
2017-10-09 07:01:55,10.0,2,25.0,a
"""
PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
p1,500,512,2,1000,,BE,Failed,7,30,10
p0,12000,16384,1,460,V100M16|V100M32,LS,Running,0,100,0
p2,1000,512,0,0,,BE,Pending,3,40,
p3,1000,512,0,0,,BE,Succeeded,9,9,9
"""
NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\n"


def times(trace: Trace) -> list[tuple[str, str, str]]:
    return [(job.name, job.arrival, job.duration) for job in trace.jobs]


def test_workers_of_kalos_are_pods_and_iterations_are_time() -> None:
    trace = read_kalos(KALOS, file="x")
    assert times(trace) == [("job-3", "0s", "104s"), ("job-7", "20s", "2s")]
    podset = trace.jobs[0].pod_sets[0]
    assert (podset.count, podset.requests) == (8, {GPU: 8})
    assert trace.notes[4:] == (
        "jobs whose times are rounded to seconds: 1 (job-7)",
        "jobs whose parameter servers are left out: 1 (job-3)",
    )
    assert check_trace(trace, None, "x") == []


def test_jobs_of_philly_come_in_order_and_large_ones_are_split() -> None:
    trace = read_philly(PHILLY, file="x")
    assert times(trace) == [
        ("job-2", "0s", "1s"),
        ("job-1", "115s", "66s"),
        ("job-3", "115s", "10s"),
    ]
    assert [job.queue_name for job in trace.jobs] == ["b", "a", "a"]
    tolerated = [{"key": GPU, "operator": "Exists"}]
    assert dump_data(trace)["jobs"][0]["podSets"] == [
        {"name": "worker", "count": 2, "requests": {GPU: 8}, "tolerations": tolerated},
        {"name": "rest", "count": 1, "requests": {GPU: 4}, "tolerations": tolerated},
    ]
    assert trace.notes[1].startswith("time 0 is 2017-10-09 07:00:00")
    assert trace.notes[4:] == (
        "jobs whose duration is rounded to seconds, and up to one: 1 (job-2)",
        "jobs of more than 8 GPUs are split into pods: 1 (job-2)",
        "jobs whose GPU time is not their GPUs x duration, which is used: 1 (job-3)",
    )


def test_pods_of_openb_run_from_being_scheduled_until_they_are_deleted() -> None:
    snapshot, trace = read_openb_trace([("pods.csv", PODS), ("nodes.csv", NODES)])
    assert snapshot is not None
    assert [len(snapshot.nodes), len(snapshot.jobs)] == [1, 0]
    assert times(trace) == [("p0", "0s", "100s"), ("p1", "7s", "20s"), ("p3", "9s", "1s")]
    assert trace.jobs[0].pod_sets[0].devices[0].requests == {"gpu": "460m"}
    assert trace.jobs[0].pod_sets[0].node_affinity
    assert trace.notes[3:] == (
        "pods whose QoS class is left out: 4",
        "pods that were never scheduled have no duration and are left out: 1 (p2)",
        "pods that ended in the second that they began are taken to run for 1s: 1 (p3)",
    )
    assert check_trace(trace, snapshot, "x") == []
    assert read_openb_trace([("pods.csv", PODS)])[0] is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b\n1,2\n", "x: line 1: found the header .*missing: job_id, arrival_time"),
        (KALOS.replace("20.0", "soon"), 'line 2.arrival_time: found "soon", expected a number'),
        (KALOS.replace("208", "-1"), "line 3.num_iteration"),
        (KALOS.replace("208", "0"), "line 3.num_iteration: found .*more than no time"),
        (KALOS.replace("208", "9" * 12), "line 3.num_iteration: found .*less than 10\\^9"),
        (KALOS.replace("2,0,8.0", "2,0,8.5"), "line 2.gpu_per_worker: found .*whole GPUs"),
        (KALOS.replace("8,1,8.0", "0,1,8.0"), "line 3.gpu_workers: found .*at least one worker"),
        (KALOS.replace("\n7,", "\n3,"), "line 3.job_id: found .*each job once"),
    ],
)
def test_what_is_wrong_with_kalos_is_said_with_line_and_column(text: str, words: str) -> None:
    with pytest.raises(BadDataError, match=words):
        read_kalos(text, file="x")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (KALOS, "missing: timestamp"),
        (PHILLY.replace("2017-10-09 07:00:00", "yesterday"), "line 3.timestamp: found .*a date"),
        (PHILLY.replace("07:00:00", "07:00:00Z"), "line 3.timestamp"),
        (PHILLY.replace(",20,", ",0,"), "line 3.num_gpus: found .*at least one GPU"),
        (PHILLY.replace("66.0,1", "long,1"), "line 2.duration"),
        (PHILLY.replace("66.0,1", "9999999999,1"), "line 2.duration: found .*less than 10\\^9"),
        (PHILLY.replace(",20,", ",20000000,"), "line 3.num_gpus: found .*at most 1000000"),
        (PHILLY.replace(",b", ","), "line 3.cluster: found .*a name"),
    ],
)
def test_what_is_wrong_with_philly_is_said_with_line_and_column(text: str, words: str) -> None:
    with pytest.raises(BadDataError, match=words):
        read_philly(text, file="x")


@pytest.mark.parametrize(
    ("pods", "nodes", "words"),
    [
        (PODS, PODS, "a second pods file"),
        (NODES, "a,b\n", "the header"),
        (PODS.replace(",creation_time", ",x"), NODES, "missing: creation_time"),
        (PODS.replace("7,30,10", "7,9,10"), NODES, "line 2.deletion_time: found .*scheduled, 10"),
        (PODS.replace("7,30,10", "7,x,10"), NODES, "line 2.deletion_time"),
        (PODS.replace("p2", "p0"), NODES, "line 4.name: found .*each pod once"),
        (PODS, NODES + "n0,1,1,0,\n", "each node once"),
    ],
)
def test_what_is_wrong_with_openb_is_said_with_line_and_column(
    pods: str, nodes: str, words: str
) -> None:
    with pytest.raises(BadDataError, match=words):
        read_openb_trace([("pods.csv", pods), ("nodes.csv", nodes)])


def test_a_node_list_alone_is_no_trace() -> None:
    with pytest.raises(BadDataError, match="found only a node list, expected a pod list as well"):
        read_openb_trace([("nodes.csv", NODES)])


def real(*path: str) -> str:
    if "KANTOPT_DATA" not in os.environ:
        pytest.skip("needs third-party traces: KANTOPT_DATA is not set")
    return Path(os.environ["KANTOPT_DATA"], *path).read_text(encoding="utf-8")


def gpus_of(trace: Trace) -> list[int]:
    return [
        sum(podset.count * int(podset.requests[GPU]) for podset in job.pod_sets)
        for job in trace.jobs
    ]


@pytest.mark.data
def test_the_jobs_of_kalos_have_the_sizes_that_are_known() -> None:
    trace = read_kalos(real("acme", "kalos_319_jobs.csv"), file="x")
    assert check_trace(trace, None, "x") == []
    sizes = gpus_of(trace)
    assert (len(sizes), min(sizes), max(sizes)) == (319, 1, 1024)
    assert trace.jobs[-1].arrival == "7779474s"


@pytest.mark.data
def test_the_jobs_of_philly_have_the_gpu_time_of_the_file() -> None:
    text = real("philly", "philly_jobs.csv")
    trace = read_philly(text, file="x")
    work = sum(
        gpus * duration_seconds(job.duration)
        for gpus, job in zip(gpus_of(trace), trace.jobs, strict=True)
    )
    rows = [line.split(",") for line in text.splitlines()[1:] if line]
    assert len(trace.jobs) == len(rows) == 82_247
    assert work == sum(int(float(row[3])) for row in rows)
    arrivals = [duration_seconds(job.arrival) for job in trace.jobs]
    assert arrivals == sorted(arrivals)


@pytest.mark.data
def test_pods_of_openb_are_jobs_or_were_never_scheduled() -> None:
    names = ("openb_node_list_gpu_node.csv", "openb_pod_list_default.csv")
    snapshot, trace = read_openb_trace([(name, real("openb", name)) for name in names])
    assert snapshot is not None
    assert (len(snapshot.nodes), len(trace.jobs)) == (1213, 8152 - 897)
    assert "left out: 897" in trace.notes[-1]
    assert check_snapshot(snapshot, "x") == check_trace(trace, snapshot, "x") == []
