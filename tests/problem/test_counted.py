"""Nodes that goals count: those that can be used."""

from __future__ import annotations

import pytest

from kantopt.problem.counted import counted, counted_nodes
from kantopt.problem.tiers import tiers_of
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


def test_gpu_means_gpus_of_any_kind_also_where_a_class_or_resource_is_called_that() -> None:
    own = node("a", gpu=8)
    shared = node("b", devices=[{"class": "l40", "count": 4, "capacity": {"gpu": 1}}])
    called = node("c", devices=[{"class": "gpu", "count": 4, "capacity": {"example.com/gpu": 1}}])
    asked = question([own, shared, called, node("d")], [], objectives=["nodes_in_use"])
    assert counted(asked, tiers_of(asked)[0]) == {0, 1, 2}
    named = question([own, shared, node("d")], [], objectives=[{"nodes_in_use": {"class": "gpu"}}])
    assert counted(named, tiers_of(named)[0]) == {0, 1}
