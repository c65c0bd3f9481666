"""The openb CSVs: shares of GPUs, models, placements, and what is wrong with a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kantopt.errors import BadDataError
from kantopt.formats.traces.openb import MODEL_LABEL, kind_of, read_openb
from kantopt.schema.consistency import check_snapshot
from kantopt.schema.job_consistency import check_jobs
from kantopt.schema.quantity import to_base

NODES = "sn,cpu_milli,memory_mib,gpu,model\nn0,64000,262144,2,P100\nn1,32000,1024,0,\n"
PODS = (
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "p0,12000,16384,1,460,V100M16|V100M32,LS,Running,0,1,0\n"
    "p1,500,512,2,1000,,BE,Running,0,1,0\n"
    "p2,1000,512,0,0,,BE,Running,0,1,0\n"
)
PLACEMENT = (
    "seq,pod,node,gpu_index,cpu_milli,memory_mib,num_gpu,gpu_milli\n"
    "0,p1,n0,0-1,500,512,2,1000\n"
    "1,p2,n1,,1000,512,0,0\n"
    "2,p0-tuned-7,,,12000,16384,1,460\n"
)


def test_gpus_are_devices_and_pods_without_placement_are_pending() -> None:
    snapshot, pending, notes = read_openb([("pods.csv", PODS), ("nodes.csv", NODES)])
    first, second = snapshot.nodes
    assert first.allocatable == {"cpu": 64, "memory": "256Gi"}
    assert (first.devices[0].count, first.devices[0].capacity) == (2, {"gpu": 1})
    assert first.labels == {MODEL_LABEL: "P100"}
    assert second.devices == ()
    share, whole, none = (job.pod_sets[0] for job in pending.jobs)
    assert share.devices[0].requests == {"gpu": "460m"}
    assert share.node_affinity[0].match_expressions[0].values == ("V100M16", "V100M32")
    assert (whole.devices[0].count, whole.devices[0].requests) == (2, {"gpu": 1})
    assert none.devices == ()
    assert notes == ("pods whose QoS class is left out: 3",)


def test_a_placement_says_who_runs_where_and_clones_are_jobs_too() -> None:
    files = [("nodes.csv", NODES), ("pods.csv", PODS), ("placement.csv", PLACEMENT)]
    snapshot, pending, _ = read_openb(files)
    assert check_snapshot(snapshot, "x") == []
    places = {job.name: job.pod_sets[0].assignments[0] for job in snapshot.jobs}
    assert (places["p1"].node, places["p1"].devices) == ("n0", (0, 1))
    assert (places["p2"].node, places["p2"].devices) == ("n1", ())
    assert [job.name for job in pending.jobs] == ["p0-tuned-7"]
    # What models a clone accepts stands with the pod it was cloned from.
    assert pending.jobs[0].pod_sets[0].node_affinity != ()


@pytest.mark.parametrize(
    ("nodes", "placement", "words"),
    [
        (NODES.replace("64000", "many"), PLACEMENT, "line 2.cpu_milli"),
        (NODES.replace("n1", "n0"), PLACEMENT, "each node once"),
        (NODES, PLACEMENT.replace("n1", "n9"), "a node of the node list"),
        (NODES, PLACEMENT.replace("0-1", "0-2"), "2 different indices below 2"),
        (NODES, PLACEMENT.replace("0-1", "0"), "2 different indices below 2"),
        (NODES, PLACEMENT.replace("p2", "p1"), "each pod once"),
        (NODES, "a,b\n1,2\n", "the header"),
        (NODES, NODES, "a second nodes file"),
    ],
)
def test_what_is_wrong_is_said_with_its_line(nodes: str, placement: str, words: str) -> None:
    with pytest.raises(BadDataError, match=words):
        read_openb([("nodes.csv", nodes), ("placement.csv", placement)])


def test_a_node_list_alone_is_no_question() -> None:
    with pytest.raises(BadDataError, match="a node list and a pod list or placement"):
        read_openb([("nodes.csv", NODES)])


def test_files_are_told_apart_by_their_header() -> None:
    assert [kind_of(text) for text in (NODES, PODS, PLACEMENT, "")] == [
        "nodes",
        "pods",
        "placement",
        None,
    ]


@pytest.mark.data
def test_the_state_that_fgd_left_behind_has_the_published_share_of_free_gpus() -> None:
    if "KANTOPT_DATA" not in os.environ:
        pytest.skip("needs the openb files: KANTOPT_DATA is not set")
    folder = Path(os.environ["KANTOPT_DATA"]) / "openb"
    names = (
        "openb_node_list_gpu_node.csv",
        "openb_pod_list_default.csv",
        "fgd_default_t1.3_s42_placement.csv",
    )
    snapshot, pending, _ = read_openb([(n, (folder / n).read_text()) for n in names])
    assert check_snapshot(snapshot, "x") == []
    assert check_jobs(pending.jobs, snapshot, "x") == []
    gpus = sum(group.count for node in snapshot.nodes for group in node.devices)
    assert (len(snapshot.nodes), gpus) == (1213, 6212)
    assert len(snapshot.jobs) + len(pending.jobs) == 10_866
    used = sum(
        need.count * to_base("gpu", need.requests["gpu"])
        for job in snapshot.jobs
        for need in job.pod_sets[0].devices
    )
    assert round(10_000 * (gpus * 1000 - used) / (gpus * 1000)) == 471
