"""What strategies remember of nodes, after these have failed and were repaired."""

from __future__ import annotations

from kantopt.simulate.simulator import Simulator
from tests.simulate.worlds import job, policy, snapshot, trace, world

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
