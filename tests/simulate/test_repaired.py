"""Nodes that have failed and were repaired: what strategies remember, and who comes back."""

from __future__ import annotations

from kantopt.simulate.simulator import Simulator
from tests.simulate.worlds import job, policy, simulated, snapshot, trace, world

HOSTS = {"levels": [{"name": "host", "nodeLabel": "kubernetes.io/hostname"}]}


def test_a_repaired_node_is_a_place_for_e_binpack_again() -> None:
    course = trace(
        job("a", 0, 10, 2),
        job("b", 20, 10, 2),
        outages=[{"node": "n0", "at": "0s", "lasts": "15s"}],
    )
    simulator = Simulator(world(snapshot(8, 8, topology=HOSTS), course), policy())
    places: dict[str, list[int]] = {}
    while simulator.step():
        for j, each in enumerate(simulator.world.instance.jobs):
            if simulator.work[j].running:
                places[each.name] = simulator.cluster.nodes(j)
    # n0 is the first of equals once it is back.
    assert places == {"default/a": [1], "default/b": [0]}


def test_a_job_that_restarts_for_longer_than_its_min_runtime_goes_once_that_is_over() -> None:
    low = job("low", 0, 200, 8, minRuntime="60s")
    course = trace(
        low,
        job("high", 20, 10, 8, priority=9),
        outages=[{"node": "n0", "at": "5s", "lasts": "5s"}],
    )
    how = policy(queueing={"preemption": True}, restartTime="100s")
    # It is back at 10 s, and would work from 110 s on.
    assert simulated(snapshot(8), course, how).jobs[1].started == 70_000
