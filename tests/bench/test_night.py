"""The night of cron in small: real runs, a changing cluster, some runs killed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.planning.question import question_of
from kantopt.schema.answers.plan import Move, Plan, Wave
from kantopt.schema.jobs import PodRef
from kantopt.schema.raw import RawDocument
from scripts.bench.night import Night, run_night
from scripts.bench.night_cluster import GPUS, NightCluster, arrivals, moment, node_name

COMMAND = ["defrag", "--max-moves", "3"]


def test_a_short_night(tmp_path: Path) -> None:
    night = Night(seed=1, nodes=4, snapshots=4, max_moves=3, killed=0.25, time_limit=20.0)
    watches = list(run_night(night, tmp_path, COMMAND))
    assert [watch.faults for watch in watches] == [()] * 4
    assert sum(watch.killed_at is not None for watch in watches) <= 1
    assert sum(watch.exit_code == 0 for watch in watches) >= 3
    assert any(watch.lower for watch in watches[1:])
    assert all(watch.moved <= watch.planned <= 3 for watch in watches)
    assert any(watch.moved for watch in watches)


def test_the_same_night_twice_is_the_same_load() -> None:
    clusters = [NightCluster(8, arrivals(5, 8, 300.0)) for _ in range(2)]
    for minute in (0.0, 100.0, 250.0):
        for cluster in clusters:
            cluster.advance(minute)
        assert clusters[0].kubectl() == clusters[1].kubectl()
    assert clusters[0].fragmented() > 0


def test_the_cluster_is_never_overfull_and_is_read_as_it_is() -> None:
    cluster = NightCluster(6, arrivals(2, 6, 300.0, load=1.2))
    seen_pending = 0
    for minute in range(0, 300, 50):
        cluster.advance(float(minute))
        free = cluster.free()
        assert min(free) >= 0
        question = question_of([RawDocument("night.json", 0, cluster.kubectl())])
        assert question.snapshot.metadata.captured_at == moment(minute)
        seen_pending += cluster.pending()
        assert len(question.pending) == cluster.pending()
        used = dict.fromkeys(map(node_name, range(6)), 0)
        for job in question.snapshot.jobs:
            (podset,) = job.pod_sets
            (place,) = podset.assignments
            used[place.node] += int(podset.requests["nvidia.com/gpu"])
        assert [GPUS - gpus for gpus in used.values()] == free
    assert seen_pending


@pytest.mark.parametrize("wrong", ["uid", "name", "from_node"])
def test_a_plan_for_another_cluster_is_not_followed(wrong: str) -> None:
    cluster = NightCluster(6, arrivals(1, 6, 15.0))
    cluster.advance(4.0)
    free = cluster.free()
    target = max(range(6), key=lambda n: free[n])
    pod = next(
        pod
        for pod in cluster.pods.values()
        if pod.node not in (None, target) and pod.arrival.gpus <= free[target]
    )
    move = Move(
        id="m1",
        job=f"night/w{pod.arrival.number}",
        pod_set="main",
        from_node=node_name(pod.node or 0),
        to_node=node_name(target),
        count=1,
        pods=(PodRef(name=pod.name, uid=pod.uid),),
        mode="restart",
    )
    change: dict[str, object] = {"from_node": node_name(target)}
    if wrong != "from_node":
        change = {"pods": (move.pods[0].model_copy(update={wrong: "another"}),)}
    with pytest.raises(ValueError, match="m1: "):
        cluster.follow(plan_of(move.model_copy(update=change)))
    assert cluster.follow(plan_of(move)) == 1
    assert pod.node == target


def plan_of(move: Move) -> Plan:
    """What the cluster looks at of a plan of one move."""
    waves = (Wave(id=1, actions=(move.id,)),)
    return Plan.model_construct(moves=(move,), waves=waves, assignments=(), evictions=())
