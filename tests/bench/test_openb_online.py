"""Arrivals in windows: what one window places is gone from the nodes of the next."""

from __future__ import annotations

import pytest

from kantopt.bench.openb_online import LOADS_PERCENT, Arrivals, online_table, simulate
from kantopt.schema.base import API_VERSION
from kantopt.schema.jobs import DeviceRequest, Job, PodSet
from kantopt.schema.snapshot import ClusterSnapshot, Node, NodeDevices
from kantopt.search.strategy import Strategy


def pod(i: int, gpu: str, count: int = 1) -> Job:
    """A pod that asks for so much of each of some GPUs."""
    need = DeviceRequest(device_class="gpu", count=count, requests={"gpu": gpu})
    return Job(name=f"pod-{i}", pod_sets=(PodSet(count=1, requests={"cpu": 1}, devices=(need,)),))


def arrivals(*pods: Job, cpu: int = 64) -> Arrivals:
    """Pods that come to two nodes of two GPUs."""
    device = NodeDevices(device_class="gpu", count=2, capacity={"gpu": 1})
    nodes = tuple(Node(name=n, allocatable={"cpu": cpu}, devices=(device,)) for n in ("a", "b"))
    snapshot = ClusterSnapshot(api_version=API_VERSION, kind="ClusterSnapshot", nodes=nodes)
    return Arrivals(1, snapshot, pods, len(pods))


@pytest.mark.parametrize("window", [1, 2, 3, 100])
def test_no_window_takes_what_another_has_taken(window: int) -> None:
    coming = arrivals(*(pod(i, "500m") for i in range(12)))
    run = simulate(coming, Strategy.FGD, window)
    assert run.allocated[LOADS_PERCENT[-1]] == pytest.approx(100.0)  # 8 halves, 4 have no place


@pytest.mark.parametrize("window", [1, 2])
def test_resources_of_the_node_run_out_too(window: int) -> None:
    coming = arrivals(*(pod(i, "500m") for i in range(12)), cpu=2)
    run = simulate(coming, Strategy.FGD, window)
    assert run.allocated[LOADS_PERCENT[-1]] == pytest.approx(50.0)


def test_a_window_of_several_may_take_the_largest_first() -> None:
    coming = arrivals(*(pod(i, "1") for i in range(3)), pod(3, "1", 2), pod(4, "1", 2))
    alone = simulate(coming, Strategy.FGD, 1)
    together = simulate(coming, Strategy.FGD, 5)
    assert alone.allocated[LOADS_PERCENT[-1]] == pytest.approx(75.0)
    assert together.allocated[LOADS_PERCENT[-1]] == pytest.approx(100.0)


def test_published_means_stand_beside_ours() -> None:
    run = simulate(arrivals(*(pod(i, "1") for i in range(6))), Strategy.BEST_FIT, 1)
    table = online_table([run])
    assert dict(zip(table.columns, table.rows[0], strict=True))["PUBLISHED"] == "93.08"
