"""JSON of 22.05, which says with null what text and later versions say in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kantopt.formats.imported import Imported
from kantopt.formats.slurm.cluster import import_slurm
from kantopt.schema.raw import RawDocument

NODE = {
    "name": "n1",
    "cpus": 64,
    "tres": "cpu=60,mem=250G,billing=60",
    "cores": 16,
    "sockets": 2,
    "threads": 2,
    "real_memory": 256000,
    "features": "",
    "gres": "gpu:h100:8",
    "partitions": ["main"],
    "state": "idle",
    "state_flags": [],
}
JOB = {
    "job_id": 1,
    "job_state": "PENDING",
    "state_reason": "Priority",
    "user_name": "eve",
    "partition": "main",
    "node_count": 1,
    "max_nodes": 1,
    "cpus": 4,
    "cpus_per_task": None,
    "tasks": 1,
    "priority": 1,
    "submit_time": 1788000000,
    "time_limit": 60,
    "time_minimum": 0,
    "memory_per_node": 1024,
    "memory_per_cpu": None,
    "tres_req_str": "cpu=4,mem=250G,node=1,billing=4",
}
LATER = (
    {"name": "n2", "real_memory": 128000},  # so that all memory of a node is not the same
    {"name": "n3"},
)


def read(**more: Any) -> Imported:
    nodes = [NODE, *({**NODE, **other} for other in LATER)]
    start, end = 1788010000, 1788020000
    maintenance = {"name": "maint", "start_time": start, "end_time": end, "node_list": "n1"}
    data = {
        "meta": {},
        "jobs": [{**JOB, **more}],
        "nodes": nodes,
        "reservations": [{**maintenance, "flags": "MAINT", "users": "root"}],
        "last_update": 1788000400,
    }
    return import_slurm([RawDocument("dump.json", 0, json.loads(json.dumps(data)))])


def test_cpus_that_jobs_can_have_are_those_of_the_tres() -> None:
    assert read().snapshot.nodes[0].allocatable["cpu"] == 60


@pytest.mark.parametrize(("limit", "closed"), [(60, False), (None, True)])
def test_no_limit_of_time_is_one_that_no_reservation_comes_after(
    limit: int | None, closed: bool
) -> None:
    found = read(time_limit=limit)
    assert any("would end" in line for line in found.notes) is closed
    assert bool(found.pending.jobs[0].pod_sets[0].tolerations) is not closed


@pytest.mark.parametrize(("memory", "share"), [(1024, None), (None, 1024)])
def test_a_job_that_names_no_memory_takes_all(memory: int | None, share: int | None) -> None:
    (podset,) = read(memory_per_node=memory).pending.jobs[0].pod_sets
    assert podset.requests.get("slurm/memory-share") == share
