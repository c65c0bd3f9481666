"""Jobs that name no queue are in their scheduler's default one, beside pods that are in none."""

from __future__ import annotations

import pytest

from kantopt.formats.exports import ExportName
from tests.formats.cluster_objects import node, pod, read
from tests.formats.test_kueue_preemption import GPU, evicted
from tests.formats.test_reclaims import KAI, SYSTEMS, VOLCANO, of, queue, told
from tests.formats.test_written import SYSTEMS as FORMS
from tests.formats.test_written import came_back, snapshot_of

DEFAULT = {KAI: "default-queue", VOLCANO: "default"}


@pytest.mark.parametrize("system", SYSTEMS)
def test_beside_plain_pods_jobs_of_no_queue_may_evict_each_other_and_no_plan_does(
    system: str,
) -> None:
    """Their scheduler puts them into a queue that the input does not have."""
    plain = pod("web", on="a", owner="ReplicaSet/web", requests={GPU: "4"}, priority=5)
    items = [plain, *of(system, "r", "", 4, 1, on="a"), *of(system, "w", "", 4, 9)]
    assert evicted(*items) == set()
    assert (told(*items).queues, told(*items).beyond) == ({}, (DEFAULT[system],))
    equal = [plain, *of(system, "r", "", 4, 1, on="a"), *of(system, "w", "", 4, 1)]
    assert told(*equal).beyond == ()


@pytest.mark.parametrize("system", SYSTEMS)
def test_jobs_of_no_queue_are_in_the_default_one_where_the_input_has_it(system: str) -> None:
    items = [queue(system, DEFAULT[system], 0), *of(system, "r", "", 8, 1, on="a")]
    items += of(system, "w", "", 8, 9)
    assert evicted(*items) == {"g-r"}
    plain = pod("p", owner="Job/p", requests={GPU: "8"}, priority=9)
    snapshot = read(node("a"), *items, plain)
    jobs = [*snapshot.snapshot.jobs, *snapshot.pending.jobs]
    assert {job.name: job.queue_name for job in jobs} == {
        "g-r": DEFAULT[system],
        "g-w": DEFAULT[system],
        "p": "",
    }


@pytest.mark.parametrize("system", SYSTEMS)
def test_who_names_the_default_queue_is_in_it_with_those_that_name_none(system: str) -> None:
    items = [*of(system, "r", "", 8, 1, on="a"), *of(system, "w", DEFAULT[system], 8, 9)]
    assert evicted(*items) == set()
    assert told(*items).beyond == (DEFAULT[system],)
    items = [*of(system, "r", DEFAULT[system], 8, 1, on="a"), *of(system, "w", "", 8, 9)]
    assert evicted(*items) == set()
    assert told(*items).beyond == (DEFAULT[system],)


@pytest.mark.parametrize("system", FORMS)
def test_plain_pods_and_gangs_in_no_queue_stand_beside_each_other(system: ExportName) -> None:
    """One that runs is less important than one that waits, in no queue as the pods beside it."""
    on = [{"node": "n", "count": 1}]
    rows = [("plain", 0, 5, on), ("low", None, 1, on), ("high", None, 9, [])]
    jobs = [
        {"name": name, "priority": priority, "podSets": [role]}
        for name, least, priority, places in rows
        for role in [{"count": 1, "minCount": least, "assignments": places}]
    ]
    nodes = [{"name": "n", "allocatable": {"cpu": 4, "pods": 10}}]
    came_back(system, snapshot_of(nodes=nodes, jobs=jobs[:2]), snapshot_of(jobs=jobs[2:]).jobs)
