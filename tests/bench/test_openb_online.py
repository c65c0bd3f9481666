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
    return Arrivals("default", 1, snapshot, pods)


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


@pytest.mark.parametrize("strategy", [Strategy.FGD, Strategy.LOOKAHEAD])
def test_a_window_of_several_takes_the_largest_first(strategy: Strategy) -> None:
    coming = arrivals(*(pod(i, "1") for i in range(3)), pod(3, "1", 2), pod(4, "1", 2))
    together = simulate(coming, strategy, 5)
    assert together.allocated[LOADS_PERCENT[0]] == pytest.approx(50.0)  # 2 of the first 4 GPUs
    assert together.allocated[LOADS_PERCENT[-1]] == pytest.approx(100.0)


def test_pods_that_came_after_a_load_do_not_count_for_it() -> None:
    coming = arrivals(*(pod(i, "1") for i in range(4)), pod(4, "1", 2))
    together = simulate(coming, Strategy.FGD, 5)
    assert together.allocated == pytest.approx({95: 50.0, 100: 50.0, 130: 100.0})


def test_a_whole_node_is_kept_for_a_pod_that_needs_it() -> None:
    """After four single GPUs a pod of two has no node left, unless one was held back."""
    singles = [pod(i, "1") for i in range(2)]
    coming = arrivals(*singles, pod(2, "1", 2), pod(3, "1"), pod(4, "1", 2))
    run = simulate(coming, Strategy.LOOKAHEAD, 1)
    assert run.allocated[LOADS_PERCENT[1]] == pytest.approx(100.0)


def test_published_means_stand_beside_ours() -> None:
    run = simulate(arrivals(*(pod(i, "1") for i in range(6))), Strategy.BEST_FIT, 1)
    table = online_table([run])
    assert dict(zip(table.columns, table.rows[0], strict=True))["PUBLISHED"] == "93.08"
