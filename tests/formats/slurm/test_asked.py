"""What jobs ask for, as a real 22.05 shows it, and as 23.11 to 25.05 write the same."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.api import plan
from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.files import parse_documents
from kantopt.schema.jobs import Job, PodSet
from kantopt.schema.raw import RawDocument

NODES = "".join(
    f"NodeName=n{k} CPUTot=64 RealMemory=512000 Gres=gpu:h100:8 State=IDLE Partitions=main\n"
    for k in range(1, 5)
) + "".join(f"SwitchName=s{k} Nodes=n[{2 * k - 1}-{2 * k}]\n" for k in (1, 2))
WAITS = "JobState=PENDING Reason=Resources Partition=main OverSubscribe=OK"


def imported(text: str) -> Imported:
    return import_slurm(parse_documents((NODES + text + "\n").encode(), "dump.txt"))


def job_of(fields: str) -> Job:
    (job,) = imported(f"JobId=1 {WAITS} {fields}").pending.jobs
    return job


def amounts(podset: PodSet) -> dict[str, str | int]:
    return dict(podset.requests)


@pytest.mark.parametrize(
    ("options", "fields", "count", "wants"),
    [
        (
            "--ntasks=4 --gpus-per-task=2",
            "NumNodes=1 NumCPUs=4 NumTasks=4 CPUs/Task=1 TRES=cpu=4,mem=8G,node=1 "
            "MinCPUsNode=1 MinMemoryNode=0 TresPerTask=gres:gpu:2",
            1,  # all memory of each node, so the fewest nodes
            {"cpu": 4, "memory": "8Gi", "nvidia.com/gpu": 8},
        ),
        (
            "--ntasks=4 --cpus-per-task=2 --mem=5000",
            "NumNodes=2 NumCPUs=8 NumTasks=4 CPUs/Task=2 TRES=cpu=8,mem=5000M,node=1 "
            "MinCPUsNode=2 MinMemoryNode=5000M",
            1,
            {"cpu": 8, "memory": "5000Mi"},
        ),
        (
            "--ntasks=4 --gpus-per-task=2 --mem-per-cpu=2G",
            "NumNodes=1 NumCPUs=4 NumTasks=4 CPUs/Task=1 TRES=cpu=4,mem=8G,node=1 "
            "MinCPUsNode=1 MinMemoryCPU=2G TresPerTask=gres:gpu:2",
            4,
            {"cpu": 1, "memory": "2Gi", "nvidia.com/gpu": 2},
        ),
        (
            "--ntasks=4 --cpus-per-task=8 --gpus-per-task=1, 24.05",
            "NumNodes=1 NumCPUs=32 NumTasks=4 CPUs/Task=8 MinMemoryCPU=1G "
            "ReqTRES=cpu=32,mem=32G,node=1,billing=32,gres/gpu=4 TresPerTask=cpu=8,gres/gpu=1",
            4,
            {"cpu": 8, "memory": "8Gi", "nvidia.com/gpu": 1},
        ),
        (
            "--cpus-per-task=24, 23.11",
            "NumNodes=1 NumCPUs=24 NumTasks=1 CPUs/Task=24 MinMemoryNode=10G "
            "ReqTRES=cpu=24,mem=10G,node=1,billing=24 TresPerTask=cpu:24",
            1,
            {"cpu": 24, "memory": "10Gi"},
        ),
        (
            "--gpus=4 --mem-per-gpu=10G --cpus-per-gpu=6",
            "NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 TRES=cpu=1,mem=40G,node=1 "
            "MinCPUsNode=1 MinMemoryNode=0 CpusPerTres=gres:gpu:6 MemPerTres=gres:gpu:10240 "
            "TresPerJob=gres:gpu:4",
            1,
            {"cpu": 24, "memory": "40Gi", "nvidia.com/gpu": 4},
        ),
        (
            "--nodes=2 --gpus-per-node=2 --mem-per-gpu=5G --cpus-per-gpu=3",
            "NumNodes=2-2 NumCPUs=2 NumTasks=2 CPUs/Task=1 TRES=cpu=2,mem=20G,node=2 "
            "MinCPUsNode=1 MinMemoryNode=0 CpusPerTres=gres/gpu:3 MemPerTres=gres/gpu:5120 "
            "TresPerNode=gres/gpu:2",
            2,
            {"cpu": 6, "memory": "10Gi", "nvidia.com/gpu": 2},
        ),
        (
            "--nodes=1 --sockets-per-node=2 --gpus-per-socket=1",
            "NumNodes=1-1 NumCPUs=2 NumTasks=2 CPUs/Task=1 TRES=cpu=2,mem=4G,node=1 "
            "Socks/Node=2 MinCPUsNode=1 MinMemoryNode=4G TresPerSocket=gres:gpu:1",
            1,
            {"cpu": 2, "memory": "4Gi", "nvidia.com/gpu": 2},
        ),
        (
            "--ntasks=8 --ntasks-per-node=4 --cpus-per-task=2",
            "NumNodes=2 NumCPUs=16 NumTasks=8 CPUs/Task=2 TRES=cpu=16,mem=500G,node=1 "
            "NtasksPerN:B:S:C=4:0:*:* MinCPUsNode=8 MinMemoryNode=0",
            2,
            {"cpu": 8, "memory": "500Gi"},
        ),
        (
            "--ntasks=6 --mem-per-cpu=1000 --cpus-per-task=3",
            "NumNodes=1 NumCPUs=18 NumTasks=6 CPUs/Task=3 TRES=cpu=18,mem=18000M,node=1 "
            "MinCPUsNode=3 MinMemoryCPU=1000M",
            6,
            {"cpu": 3, "memory": "3000Mi"},
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("--") else "",
)
def test_options_of_a_submission_are_amounts_of_each_pod(
    options: str, fields: str, count: int, wants: dict[str, str | int]
) -> None:
    (podset,) = job_of(fields).pod_sets
    assert (podset.count, amounts(podset)) == (count, wants), options


@pytest.mark.parametrize(
    ("gpus", "count", "each"),
    [(8, 1, 8), (12, 2, 6), (16, 2, 8), (17, 3, 6), (32, 4, 8), (40, 1, 40)],
    ids=str,
)
def test_gpus_that_no_node_holds_alone_lie_on_the_fewest_nodes_in_equal_parts(
    gpus: int, count: int, each: int
) -> None:
    # --gpus, without --nodes, on nodes of eight
    fields = "NumNodes=1 NumCPUs=1 NumTasks=1 CPUs/Task=1 MinMemoryNode=4G TRES=cpu=1,node=1"
    (podset,) = job_of(f"{fields} TresPerJob=gres:gpu:{gpus}").pod_sets
    assert (podset.count, podset.min_count) == (count, None)
    assert amounts(podset) == {"cpu": 1, "memory": "4Gi", "nvidia.com/gpu": each}
    assert bool(podset.pod_anti_affinity) == (count > 1)
    (podset,) = job_of(f"{fields} TresPerJob=gres:gpu:h100:{gpus}").pod_sets
    assert (podset.count, amounts(podset)["gres/gpu:h100"]) == (count, each)


def test_gpus_that_unequal_nodes_hold_in_no_equal_parts_lie_anywhere() -> None:
    # --gpus=12 --cpus-per-task=12, without --nodes
    nodes = "".join(
        f"NodeName=u{gpus}{k} CPUTot=32 RealMemory=64000 Gres=gpu:{gpus} Partitions=main\n"
        for gpus in (4, 2)
        for k in range(2)
    )
    fields = (
        "NumNodes=1 NumCPUs=12 NumTasks=1 CPUs/Task=12 TresPerJob=gres:gpu:12 TRES=cpu=12,mem=24G"
    )
    text = f"{nodes}JobId=1 {WAITS} {fields}\n"
    read = import_slurm(parse_documents(text.encode(), "dump.txt"))
    (podset,) = read.pending.jobs[0].pod_sets
    assert (podset.count, podset.min_count, bool(podset.pod_anti_affinity)) == (12, None, False)
    assert amounts(podset) == {"cpu": 1, "memory": "2Gi", "nvidia.com/gpu": 1}
    placed = plan(read.snapshot, read.pending, engine="fast").assignments
    assert sorted(each.count for each in placed) == [2, 2, 4, 4]


def test_gpus_of_a_job_that_names_its_nodes_lie_on_these() -> None:
    (podset,) = job_of("NumNodes=1-1 NumCPUs=1 NumTasks=1 TresPerJob=gres:gpu:16").pod_sets
    assert (podset.count, amounts(podset)["nvidia.com/gpu"]) == (1, 16)


def test_the_fewest_nodes_are_those_of_the_tres_where_slurm_expects_to_give_more() -> None:
    # --nodes=2-3, when Slurm has looked at it once
    job = job_of(
        "NumNodes=3-3 NumCPUs=2 NumTasks=2 CPUs/Task=1 TRES=cpu=2,mem=20G,node=2 TresPerNode=gpu:1"
    )
    (podset,) = job.pod_sets
    assert (podset.count, podset.min_count) == (3, 2)
    assert amounts(podset)["memory"] == "10Gi"


def test_a_dependency_that_is_not_fulfilled_holds_a_job_whatever_the_reason_says() -> None:
    for dependency in ("afterok:7(unfulfilled)", "afterok:7(failed)", "singleton(unfulfilled)"):
        read = imported(f"JobId=1 {WAITS} NumNodes=1 Dependency={dependency}")
        assert read.pending.jobs == ()
        assert any("that depend on others" in line for line in read.notes)
    assert job_of("NumNodes=1 Dependency=(null)").name == "1"


def test_as_many_tasks_of_an_array_wait_as_may_run() -> None:
    fields = "ArrayJobId=1 ArrayTaskId=0-9%3 ArrayTaskThrottle=3 NumNodes=1 TresPerNode=gpu:2"
    jobs = imported(f"JobId=1 {WAITS} {fields}").pending.jobs
    assert [job.name for job in jobs] == ["1_0", "1_1", "1_2"]


def test_a_job_waits_for_its_switch_as_long_as_it_says() -> None:
    now = "Configuration data as of 1788000400\n"
    for wait, kind in (("00:10:00", "required"), ("00:05:00", "preferred")):
        fields = f"NumNodes=2-2 Switches=1@{wait} SubmitTime=1788000000 EligibleTime=1788000000"
        (job,) = imported(f"JobId=1 {WAITS} {fields}\n{now}").pending.jobs
        request = job.pod_sets[0].topology_request
        assert request is not None
        assert getattr(request, kind) == "leaf"


def number(value: int | None, *, infinite: bool = False) -> dict[str, Any]:
    """A number as JSON has it from 23.02 on."""
    return {"set": value is not None, "infinite": infinite, "number": value or 0}


def json_job(**more: Any) -> dict[str, Any]:
    """A job of ``squeue --json`` by the data parsers from v0.0.40 (23.11) to v0.0.43 (25.05)."""
    return {
        "account": "ml",
        "array_job_id": number(0),
        "array_task_id": number(None),
        "array_max_tasks": number(0),
        "array_task_string": "",
        "batch_flag": True,
        "contiguous": False,
        "cpus": number(2),
        "cpus_per_task": number(1),
        "cpus_per_tres": "",
        "dependency": "",
        "eligible_time": number(1788000000),
        "excluded_nodes": "",
        "features": "",
        "het_job_id": number(0),
        "het_job_offset": number(0),
        "job_id": 1,
        "job_resources": None,
        "job_state": ["PENDING"],
        "licenses": "",
        "max_nodes": number(0),
        "memory_per_cpu": number(None),
        "memory_per_node": number(4096),
        "memory_per_tres": "",
        "name": "train",
        "node_count": number(2),
        "nodes": "",
        "partition": "main",
        "priority": number(7),
        "requeue": True,
        "required_nodes": "",
        "required_switches": 0,
        "maximum_switch_wait_time": 0,
        "restart_cnt": 0,
        "segment_size": 0,
        "shared": [],
        "sockets_per_node": number(None),
        "state_reason": "Resources",
        "submit_time": number(1788000000),
        "tasks": number(2),
        "tasks_per_node": number(0),
        "tres_per_job": "",
        "tres_per_node": "gres/gpu:1",
        "tres_per_socket": "",
        "tres_per_task": "",
        "tres_req_str": "cpu=2,mem=8G,node=2,billing=2,gres/gpu=2",
        "tres_alloc_str": "",
        "user_name": "alice",
        **more,
    }


def of_json(job: dict[str, Any]) -> Imported:
    data = {"meta": {}, "jobs": [job], "last_update": number(1788000400), "errors": []}
    nodes = parse_documents(NODES.encode(), "nodes.txt")
    return import_slurm([*nodes, RawDocument("squeue.json", 0, json.loads(json.dumps(data)))])


def test_json_of_later_versions_says_the_same() -> None:
    job = json_job(
        max_nodes=number(3),
        required_nodes="n1",
        excluded_nodes="n4",
        required_switches=1,
        maximum_switch_wait_time=600,
        tres_per_task="cpu=1",
        cpus_per_tres="gres/gpu:6",
        memory_per_tres="gres/gpu:2048",
        memory_per_node=number(None),
        features="ib&big",
    )
    (read,) = of_json(job).pending.jobs
    assert [(p.name, p.count, p.min_count) for p in read.pod_sets] == [
        ("main-nodes", 1, None),
        ("main-2", 2, 1),
    ]
    assert amounts(read.pod_sets[0]) == {"cpu": 6, "memory": "2Gi", "nvidia.com/gpu": 1}
    assert read.topology_request is not None
    assert read.topology_request.required == "leaf"
    assert set(read.pod_sets[0].node_selector) == {
        "feature.slurm/big", "feature.slurm/ib", "partition.slurm/main",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "whole"),
    [({"shared": ["none"]}, True), ({"shared": ["user"]}, False), ({"shared": []}, False)],
)
def test_json_says_who_takes_whole_nodes(more: dict[str, Any], whole: bool) -> None:
    (job,) = of_json(json_job(**more)).pending.jobs
    assert ("slurm/node-share" in job.pod_sets[0].requests) is whole
    away = [term.label_selector.match_expressions for term in job.pod_sets[0].pod_anti_affinity]
    assert any(away) is (more["shared"] == ["user"])


def test_json_says_what_holds_a_job_and_what_has_ended() -> None:
    for more in (
        {"dependency": "afterok:7(unfulfilled)"},
        {"priority": number(0)},
        {"state_reason": "BeginTime"},
        {"job_state": ["CANCELLED", "COMPLETING"], "nodes": "n1"},
        {"job_state": ["PREEMPTED"], "nodes": "n1"},
    ):
        assert of_json(json_job(**more)).pending.jobs == ()


def test_a_running_job_of_json_holds_its_allocation() -> None:
    job = json_job(
        job_state=["RUNNING"],
        nodes="n[1-2]",
        start_time=number(1788000100),
        restart_cnt=2,
        required_nodes="n1",
        job_resources={
            "nodes": {
                "count": 2,
                "list": "n[1-2]",
                "allocation": [
                    {"name": f"n{k}", "cpus": {"count": k}, "memory": {"allocated": 4096}}
                    for k in (1, 2)
                ],
            }
        },
        gres_detail=["gpu:h100:1(IDX:0)", "gpu:h100:1(IDX:3)"],
    )
    (read,) = of_json(job).snapshot.jobs
    places = [(p.assignments[0].node, p.requests["cpu"]) for p in read.pod_sets]
    assert places == [("n1", 1), ("n2", 2)]
    assert [bool(p.node_affinity) for p in read.pod_sets] == [True, False]


def test_without_a_number_of_nodes_tasks_lie_where_there_is_room() -> None:
    # --ntasks=100 on nodes of 64 CPUs: Slurm shows 2 nodes, and starts it on any
    (podset,) = job_of(
        "NumNodes=2 NumCPUs=100 NumTasks=100 CPUs/Task=1 MinMemoryCPU=1G "
        "TRES=cpu=100,mem=100G,node=1"
    ).pod_sets
    assert (podset.count, podset.pod_anti_affinity) == (100, ())
    assert amounts(podset) == {"cpu": 1, "memory": "1Gi"}


def test_gpus_with_tasks_are_not_on_more_nodes_than_they_need() -> None:
    # --gpus=2 --ntasks-per-gpu=2 --exclusive
    (podset,) = job_of(
        "NumNodes=2 NumCPUs=4 NumTasks=4 CPUs/Task=1 MinMemoryNode=1G OverSubscribe=NO "
        "TRES=cpu=4,mem=1G,node=1 TresPerJob=gres:gpu:2 NtasksPerTRES=2"
    ).pod_sets
    assert podset.count == 1


def test_a_partition_that_asks_for_more_nodes_gives_more() -> None:
    (podset,) = job_of(
        "NumNodes=2 NumCPUs=1 NumTasks=1 CPUs/Task=1 MinMemoryNode=1G TRES=cpu=1,mem=2G,node=2"
    ).pod_sets
    assert podset.count == 2


@pytest.mark.parametrize(
    ("nodes", "why"),
    [("1-4", "MaxNodes"), ("3-3", "MaxNodes"), ("2-2", ""), ("1-1", "MinNodes"), ("2", "")],
)
def test_who_asks_for_more_or_fewer_nodes_than_a_partition_allows_waits(
    nodes: str, why: str
) -> None:
    read = imported(
        "PartitionName=main Nodes=n[1-4] State=UP MinNodes=2 MaxNodes=2\n"
        f"JobId=1 {WAITS} NumNodes={nodes} NumCPUs=1 NumTasks=1 MinMemoryNode=1G"
    )
    assert bool(read.pending.jobs) is not bool(why)
    assert any(why in note and "left out" in note for note in read.notes) is bool(why)


@pytest.mark.parametrize(("most", "count"), [("UNLIMITED", 6), ("6", 6), ("2", 1)])
def test_tasks_are_on_no_more_nodes_than_their_partition_allows(most: str, count: int) -> None:
    (job,) = imported(
        f"PartitionName=main Nodes=n[1-4] State=UP MaxNodes={most}\n"
        f"JobId=1 {WAITS} NumNodes=1 NumCPUs=12 NumTasks=6 CPUs/Task=2 MinMemoryCPU=1G "
        "TRES=cpu=12,mem=12G,node=1 TresPerTask=gres:gpu:1"
    ).pending.jobs
    assert job.pod_sets[0].count == count
