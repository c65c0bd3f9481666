"""Preferences: what pods lose by being where they would rather not be."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Model
from kantopt.verify.metrics import measure
from tests.questions import model, question
from tests.verify.world import HOST, put

RACK = "rack"
NODES = [
    {"name": "a", "labels": {RACK: "x"}, "allocatable": {"cpu": 8}},
    {"name": "b", "labels": {RACK: "x"}, "allocatable": {"cpu": 8}},
    {"name": "c", "labels": {RACK: "y"}, "allocatable": {"cpu": 8}},
]
ALONE = model("preferences")


def job(name: str, count: int = 1, **wishes: Any) -> dict[str, Any]:
    labels = {"app": name}
    podset = {"name": "main", "count": count, "labels": labels, "requests": {"cpu": 1}, **wishes}
    return {"name": name, "minCount": 0, "podSets": [podset]}


def near(name: str, key: str = RACK, weight: int = 1) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return {"weight": weight, "topologyKey": key, "labelSelector": selector}


def lost(jobs: list[dict[str, Any]], nodes: Any = NODES, **where: list[str]) -> int:
    instance = question(nodes, [], jobs).instance(model("preferences"))
    return measure(instance, put(instance, where), tiers_of(instance))[0]


def lost_standing(
    nodes: list[dict[str, Any]], asked: Model = ALONE, **wishes: Any
) -> tuple[int, ...]:
    """What a pod loses where it runs, on node a; nothing if there is no such tier."""
    stands = job("j", assignments=[{"node": "a"}], **wishes)
    instance = question(nodes, [stands], []).instance(asked)
    return measure(instance, instance.current, tiers_of(instance))


def rather(key: str, value: str, weight: int) -> dict[str, Any]:
    expression = {"key": key, "operator": "In", "values": [value]}
    return {"weight": weight, "preference": {"matchExpressions": [expression]}}


def test_a_model_without_wishes_has_no_such_tier() -> None:
    instance = question(NODES, [], [job("j")]).instance(model("preferences"))
    assert tiers_of(instance) == ()


@pytest.mark.parametrize(("node", "points"), [("a", 25), ("c", 0)])
def test_a_pod_loses_the_share_of_the_weights_that_a_better_node_would_have(
    node: str, points: int
) -> None:
    terms = [rather(RACK, "x", 1), rather(RACK, "y", 2), rather("gpu", "h100", 1)]
    assert lost([job("j", preferredNodeAffinity=terms)], j=[node]) == points


def test_a_taint_that_would_rather_keep_pods_away_counts_where_it_is_not_tolerated() -> None:
    taint = {"key": "slow", "effect": "PreferNoSchedule"}
    nodes = [{**NODES[0], "taints": [taint]}, *NODES[1:]]
    tolerant = job("t", tolerations=[{"key": "slow", "operator": "Exists"}])
    jobs = [job("j"), tolerant]
    assert lost(jobs, nodes, j=["a"], t=["a"]) == 100
    assert lost(jobs, nodes, j=["b"], t=["a"]) == 0


@pytest.mark.parametrize(
    "closed",
    [
        {"unschedulable": True},
        {"ready": False},
        {"taints": [{"key": "mine", "effect": "NoSchedule"}]},
    ],
)
def test_a_pod_loses_where_it_runs_on_a_node_that_would_not_admit_it_now(closed: Any) -> None:
    terms = {"preferredNodeAffinity": [rather(RACK, "y", 3), rather("gpu", "h100", 1)]}
    nodes = [{**NODES[0], **closed}, *NODES[1:]]
    assert lost_standing(nodes, **terms) == (75,)
    better = [{**NODES[0], **closed, "labels": {RACK: "y", "gpu": "h100"}}, *NODES[1:]]
    assert lost_standing(better, **terms) == (0,)  # none that admits it is better


def test_a_pod_loses_on_a_node_that_is_to_be_emptied() -> None:
    terms = {"preferredNodeAffinity": [rather(RACK, "y", 1)]}
    assert lost_standing(NODES, **terms, asked=model("preferences", drain=["a"])) == (100,)


def test_taints_of_a_node_that_would_not_admit_a_pod_now_count_at_most_in_full() -> None:
    slow = [{"key": key, "effect": "PreferNoSchedule"} for key in ("slow", "far")]
    for others in ([], slow[:1], slow):
        nodes = [
            {**NODES[0], "unschedulable": True, "taints": slow},
            {**NODES[1], "taints": others},
        ]
        assert lost_standing(nodes) == (100,)


def test_a_pod_that_would_rather_be_near_another_loses_where_it_is_not() -> None:
    jobs = [job("db"), job("web", preferredPodAffinity=[near("db")])]
    assert lost(jobs, db=["a"], web=["b"]) == 0
    assert lost(jobs, db=["a"], web=["c"]) == 100
    assert lost(jobs, db=[], web=["c"]) == 100
    assert lost(jobs, db=["a"], web=[]) == 0


def test_replicas_that_would_rather_be_apart_do_not_count_themselves() -> None:
    jobs = [job("web", 3, preferredPodAntiAffinity=[near("web")])]
    assert lost(jobs, web=["a", "c"]) == 0
    assert lost(jobs, web=["a", "b", "c"]) == 200


def test_weights_of_company_share_a_hundred() -> None:
    wishes = {
        "preferredPodAffinity": [near("db", weight=30)],
        "preferredPodAntiAffinity": [near("web", HOST, weight=10)],
    }
    jobs = [job("db"), job("web", **wishes)]
    assert lost(jobs, db=["a"], web=["c"]) == 75


def test_pods_beyond_an_even_spread_count_a_hundred_each() -> None:
    selector = {"matchLabels": {"app": "web"}}
    even = {"maxSkew": 1, "topologyKey": RACK, "labelSelector": selector}
    jobs = [job("web", 4, preferredTopologySpread=[even])]
    assert lost(jobs, web=["a", "c"]) == 0
    assert lost(jobs, web=["a", "b", "a", "c"]) == 100
    assert lost(jobs, web=["a", "b", "a"]) == 200
