"""Nodes that goals count: those that can be used."""

from __future__ import annotations

import pytest

from kantopt.problem.counted import counted_nodes
from tests.verify.world import node, question


@pytest.mark.parametrize(
    "key",
    [
        "node.kubernetes.io/out-of-service",
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
    ],
)
def test_nodes_on_their_way_out_are_no_empty_ones(key: str) -> None:
    taints = [{"key": key, "effect": "NoSchedule"}]
    asked = question([node("a", taints=taints), node("b")], [])
    assert counted_nodes(asked) == {1}


def test_nodes_that_are_set_apart_or_best_avoided_count() -> None:
    apart = [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]
    avoided = [{"key": "karpenter.sh/disrupted", "effect": "PreferNoSchedule"}]
    asked = question([node("a", taints=apart), node("b", taints=avoided)], [])
    assert counted_nodes(asked) == {0, 1}
