"""Parts of a question: what ties nodes and jobs together, and what a part has of the whole."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.cluster import Spot
from kantopt.problem.freedom import freedom_of
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.parts.division import parts_of, summed
from tests.pools import NODES, POOLS, running, waiting
from tests.verify.world import job, node, pods, question


def names(instance: Instance) -> list[list[str]]:
    """Nodes of each part, by name."""
    parts = parts_of(instance, tiers_of(instance))
    return sorted([instance.nodes[n].name for n in part.share.nodes] for part in parts)


APART, TOGETHER = [["a1"], ["b1"]], [["a1", "b1"]]


def test_pools_that_share_nothing_are_parts() -> None:
    assert names(question(NODES, [waiting("x", "a"), waiting("y", "b")])) == APART


def test_nodes_on_which_nothing_can_change_are_in_no_part() -> None:
    fixed = running("r", "b1", preemptible=False, movable=False)
    assert names(question(NODES, [waiting("x", "a"), fixed])) == [["a1"]]


def test_a_job_that_could_go_to_either_pool_ties_them() -> None:
    jobs = [waiting("x", "a"), waiting("y", "b"), job("z", pods())]
    assert names(question(NODES, jobs)) == TOGETHER


def test_without_eligibility_all_nodes_are_one_part() -> None:
    jobs = [waiting("x", "a"), waiting("y", "b")]
    assert names(question(NODES, jobs, rules={"eligibility": "off"})) == TOGETHER


def test_a_gang_across_pools_ties_them() -> None:
    roles = [pods("u", nodeSelector=POOLS["a"]), pods("v", nodeSelector=POOLS["b"])]
    assert names(question(NODES, [job("gang", *roles)])) == TOGETHER


def test_a_job_that_cannot_change_ties_nothing_and_is_on_its_nodes_in_each_part() -> None:
    agent = job("agent", pods(count=2, on=["a1", "b1"]), preemptible=False, movable=False)
    instance = question(NODES, [waiting("x", "a"), waiting("y", "b"), agent])
    parts = parts_of(instance, tiers_of(instance))
    assert names(instance) == APART
    for part in parts:
        assert part.instance.jobs[0].name == "default/agent"
        assert part.instance.podsets[0].current == {Spot(0): 1}
        assert part.instance.podsets[0].count == 1


@pytest.mark.parametrize("pinned", ["required", "off"])
@pytest.mark.parametrize("what", [{"podDisruptionBudgets": True}, {"maxMoves": 1}])
def test_what_only_a_whole_job_forbids_its_pods_is_forbidden_in_each_part(
    what: dict[str, Any], pinned: str
) -> None:
    """A part has one of two pods that go together, or not at all, and may go one by one at most."""
    budget = {"name": "pdb", "selector": {"matchLabels": {"job": "r"}}, "disruptionsAllowed": 1}
    budgets = [budget] if "podDisruptionBudgets" in what else []
    gang = job("r", pods(count=2, cpu=4, on=["a1", "b1"]), disruptionMode="all")
    gang |= {"maxMoves": 1} if "maxMoves" in what else {}
    more: dict[str, Any] = {"podDisruptionBudgets": budgets, "rules": {"pinned": pinned}}
    jobs = [gang, waiting("x", "a", priority=9), waiting("y", "b", priority=9)]
    limits = {} if budgets else {"evictions": 0}
    instance = question(NODES, jobs, limits=limits, **more)
    assert not freedom_of(instance).changes(0)
    assert names(instance) == (APART if pinned == "required" else TOGETHER)
    for part in parts_of(instance, tiers_of(instance)):
        assert not freedom_of(part.instance).changes(0)


@pytest.mark.parametrize(("limit", "expected"), [(0, APART), (1, TOGETHER), (2, APART)])
@pytest.mark.parametrize("limited", ["evictions", "moves"])
def test_a_limit_ties_whom_it_could_stop(
    limited: str, limit: int, expected: list[list[str]]
) -> None:
    jobs = [running("r", "a1"), running("s", "b1")]
    jobs += [waiting("x", "a", priority=9), waiting("y", "b", priority=9)]
    assert names(question(NODES, jobs, limits={limited: limit})) == expected


@pytest.mark.parametrize(("allowed", "expected"), [(0, APART), (1, TOGETHER), (2, APART)])
def test_a_budget_ties_whom_it_could_keep(allowed: int, expected: list[list[str]]) -> None:
    jobs = [running("r", "a1"), running("s", "b1")]
    jobs += [waiting("x", "a", priority=9), waiting("y", "b", priority=9)]
    budget = {"name": "pdb", "selector": {}, "disruptionsAllowed": allowed}
    assert names(question(NODES, jobs, podDisruptionBudgets=[budget])) == expected


@pytest.mark.parametrize(("quota", "expected"), [(4, TOGETHER), (8, APART)])
@pytest.mark.parametrize("cohort", ["", "all"])
def test_a_quota_ties_who_could_use_it_up(
    cohort: str, quota: int, expected: list[list[str]]
) -> None:
    jobs = [waiting("x", "a", queueName="qx"), waiting("y", "b", queueName="qy")]
    if not cohort:
        jobs[1]["queueName"] = "qx"
    queues = [
        {
            "name": name,
            "cohort": cohort,
            "resources": [{"name": "cpu", "nominalQuota": quota // (2 if cohort else 1)}],
        }
        for name in ("qx", "qy")
    ]
    assert names(question(NODES, jobs, queues=queues)) == expected


def test_a_scarce_quota_is_kept_in_its_part_and_an_ample_one_is_not() -> None:
    jobs = [waiting("x", "a", queueName="q"), waiting("z", "a", queueName="q")]
    jobs += [waiting("y", "b", queueName="r")]
    queues = [
        {"name": "q", "resources": [{"name": "cpu", "nominalQuota": 4}]},
        {"name": "r", "resources": [{"name": "cpu", "nominalQuota": 4}]},
    ]
    instance = question(NODES, jobs, queues=queues)
    first, second = sorted(parts_of(instance, tiers_of(instance)), key=lambda p: p.share.nodes)
    assert [queue.name for queue in first.instance.queues] == ["q"]
    assert [job.queue for job in first.instance.jobs] == [0, 0]
    assert first.instance.queues[0].quotas == instance.queues[0].quotas
    assert second.instance.queues == ()
    assert [job.queue for job in second.instance.jobs] == [None]


@pytest.mark.parametrize(
    ("key", "expected"), [("row", TOGETHER), ("kubernetes.io/hostname", APART), ("pool", APART)]
)
def test_anti_affinity_ties_whom_it_could_keep_apart(key: str, expected: list[list[str]]) -> None:
    nodes = [node(f"{pool}1", labels={**POOLS[pool], "row": "1"}) for pool in "ab"]
    term = {"labelSelector": {"matchLabels": {"job": "y"}}, "topologyKey": key}
    jobs = [waiting("x", "a", podset={"podAntiAffinity": [term]}), waiting("y", "b")]
    assert names(question(nodes, jobs)) == expected


def test_anti_affinity_of_a_pod_that_stays_ties_its_node_to_who_would_come_near() -> None:
    nodes = [node(f"{pool}1", labels={**POOLS[pool], "row": "1"}) for pool in "ab"]
    nodes += [node("b2", labels={**POOLS["b"], "row": "2"})]
    term = {"labelSelector": {"matchLabels": {"job": "y"}}, "topologyKey": "row"}
    stays = job(
        "r",
        pods(on=["a1"], podAntiAffinity=[term]),
        preemptible=False,
        movable=False,
    )
    small = job("x", pods(nodeSelector=POOLS["a"]))
    assert names(question(nodes, [stays, small, waiting("y", "b")])) == [["a1", "b1", "b2"]]


def test_spread_ties_who_spreads_to_all_nodes_that_count() -> None:
    constraint = {
        "topologyKey": "pool",
        "maxSkew": 1,
        "labelSelector": {"matchLabels": {"job": "x"}},
    }
    nodes = [NODES[0], {**NODES[1], "unschedulable": True}]
    fixed = running("r", "b1", preemptible=False, movable=False)
    spreading = job("x", pods(count=2, topologySpreadConstraints=[constraint]))
    assert names(question(nodes, [spreading, fixed])) == TOGETHER
    assert names(question(nodes, [spreading, fixed], rules={"spread": "off"})) == [["a1"]]


def test_a_job_that_must_be_placed_and_cannot_be_leaves_the_question_whole() -> None:
    jobs = [waiting("x", "a"), waiting("y", "b"), job("z", pods(nodeSelector={"pool": "c"}))]
    assert names(question(NODES, jobs)) == APART
    assert names(question(NODES, jobs, required=["z"])) == TOGETHER


def test_the_fewest_nodes_a_gang_needs_are_counted_over_all_it_is_allowed_on() -> None:
    """A gang that may be evicted and not moved counts with nodes that it will never be on."""
    gang = job("gang", pods(count=2, on=["a1", "a1"]), movable=False)
    jobs = [gang, waiting("x", "a", priority=9), waiting("y", "b")]
    assert names(question(NODES, jobs)) == APART
    assert names(question(NODES, jobs, objectives=["unplaced", "excess_nodes"])) == TOGETHER


def test_tiers_that_are_no_sums_end_the_tiers_of_the_parts() -> None:
    slots: Any = {"fragment_rate": {"size": 2}}
    jobs = [waiting("x", "a"), waiting("y", "b")]
    instance = question(NODES, jobs, objectives=["unplaced", slots, "moves"])
    tiers = tiers_of(instance)
    assert summed(instance, tiers) == 1
    with pytest.raises(ValueError, match="no sum over parts"):
        parts_of(instance, tiers)


@pytest.mark.parametrize(("gpus", "expected"), [(2, 2), (1, 1)])
def test_allocation_is_a_sum_unless_more_is_allocated_than_there_is(
    gpus: int, expected: int
) -> None:
    nodes = [node("a1", gpu=gpus, labels=POOLS["a"]), node("b1", gpu=2, labels=POOLS["b"])]
    jobs = [job("r", pods(gpu=2, on=["a1"])), job("x", pods(gpu=1, nodeSelector=POOLS["b"]))]
    instance = question(nodes, jobs, objectives=["unplaced", "allocation"])
    assert summed(instance, tiers_of(instance)) == expected


def test_topology_domains_are_those_of_the_parts_nodes() -> None:
    nodes = [
        node(f"{pool}{i}", rack=f"b1/r{i}", labels=POOLS[pool]) for i in (1, 2) for pool in "ab"
    ]
    instance = question(nodes, [waiting("x", "a"), waiting("y", "b")])
    for part in parts_of(instance, tiers_of(instance)):
        topology = part.instance.topology
        assert [[str(d) for d in level] for level in topology.domains] == [
            ["b1"],
            ["b1/r1", "b1/r2"],
        ]
        assert topology.domain_of == ((0, 0), (0, 1))
