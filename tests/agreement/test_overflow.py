"""Amounts of any size that a question may hold stay exact in the model."""

from __future__ import annotations

from kantopt.cp.model import PlacementModel
from kantopt.problem.tiers import tiers_of
from tests.questions import model, question


def test_sums_of_huge_amounts_do_not_overflow() -> None:
    """Petabytes on every node and requests without a common unit: sums near 2^62 bytes."""
    nodes = [
        {"name": f"n{i}", "allocatable": {"cpu": 9, "memory": 2**55 - 1 - i}} for i in range(40)
    ]
    wants = [
        {
            "name": f"j{i}",
            "queueName": "q",
            "podSets": [{"count": 1000, "requests": {"memory": 2**44 + i}}],
        }
        for i in range(60)
    ]
    queues = [{"name": "q", "resources": [{"name": "memory", "nominalQuota": "1Ei"}]}]
    asked = question(nodes, [], wants, queues=queues)
    placing = PlacementModel(asked.instance(model("unplaced", "nodes_in_use")))
    for tier in tiers_of(placing.instance):
        placing.cp.minimize(placing.expression(tier))
        assert placing.cp.validate() == ""


def test_loads_are_counted_in_the_largest_unit_that_divides_all_requests() -> None:
    nodes = [{"name": "n", "allocatable": {"cpu": 9, "memory": "100Gi"}}]
    wants = [
        {"name": name, "podSets": [{"count": 1, "requests": {"cpu": 2, "memory": memory}}]}
        for name, memory in (("a", "6Gi"), ("b", "10Gi"))
    ]
    placing = PlacementModel(question(nodes, [], wants).instance(model("unplaced")))
    assert placing.variables.unit == (2000, 2 * 2**30, 1)
