"""The GPUs of nodes that take no pods, while time goes on."""

from __future__ import annotations

import pytest

from kantopt.simulate.figures import measure
from kantopt.simulate.metrics.window import Window
from tests.simulate.worlds import GPU, job, policy, simulated, snapshot, trace


def test_what_is_free_on_a_node_that_takes_no_pods_is_wanted_by_nobody_and_no_part_of_gar() -> None:
    def runs(node: str) -> dict[str, object]:
        places = [{"node": node}]
        podset = {"name": "w", "count": 1, "requests": {GPU: 2}, "assignments": places}
        return {"name": f"on-{node}", "podSets": [podset]}

    nodes = [
        {"name": "n0", "allocatable": {GPU: 8}},
        {"name": "n1", "allocatable": {GPU: 8}, "unschedulable": True},
        {"name": "n2", "allocatable": {GPU: 8}, "ready": False},
    ]
    cluster = snapshot(nodes=nodes, jobs=[runs("n1")])
    course = trace(job("a", 0, 10, 4), job("b", 0, 10, 8))
    values = {
        value.metric: value.value
        for value in measure(Window(simulated(cluster, course, policy(), until=10_000)))
        if not value.scope
    }
    assert values["gar_mean"] == pytest.approx(6 / 10)
    assert values["gfr_mean"] == 1
    assert values["stranded_mean"] == 4000
    assert values["failed_share"] == pytest.approx((6 + 8) / 24)
    assert values["waiting_share"] == pytest.approx(4 / 24)
    assert values["idle_share"] == 0
