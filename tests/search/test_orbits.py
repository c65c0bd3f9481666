"""Orbits: nodes and domains that are alike, and that a plan can do without."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from kantopt.problem.derived.focus import limited
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.orbits import representatives
from kantopt.search.parts.division import changing_part, summed
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.solved import solved
from tests.verify.world import GPU, HOST, job, node, pods, question

STAYS = {"preemptible": False, "movable": False}
LEVELS = [{"name": "rack", "nodeLabel": "rack"}]


def kept(instance: Instance, *first: str) -> list[str]:
    """Names of the nodes that stay in the question."""
    still = limited(instance, evictions=0, moves=0)
    used = [instance.node_index[name] for name in first]
    found = representatives(still, tiers_of(still), used)
    return sorted(instance.nodes[n].name for n in found)


def racks(*sizes: int, **more: Any) -> list[Any]:
    """Racks a, b, ... of so many nodes each."""
    return [
        node(f"{rack}{i}", labels={"rack": rack}, **more)
        for rack, size in zip("abcdef", sizes, strict=False)
        for i in range(size)
    ]


def test_of_nodes_that_are_alike_as_many_stay_as_pods_arrive() -> None:
    nodes = [node(f"n{i}") for i in range(9)]
    assert kept(question(nodes, [job("w", pods(count=2))])) == ["n0", "n1"]


def test_nodes_that_a_plan_uses_stay_before_others() -> None:
    nodes = [node(f"n{i}") for i in range(9)]
    assert kept(question(nodes, [job("w", pods(count=2))]), "n7") == ["n0", "n7"]


def test_what_tells_nodes_apart_keeps_them_apart() -> None:
    nodes = [node("small", cpu=2), node("large", cpu=9), node("full"), node("half"), node("empty")]
    nodes += [node("closed", unschedulable=True), node("also-empty")]
    jobs = [job(f"r{k}", pods(cpu=k, on=[name]), **STAYS) for name, k in (("full", 4), ("half", 2))]
    jobs.append(job("w", pods(cpu=1)))
    assert kept(question(nodes, jobs)) == ["empty", "half", "large", "small"]


def test_full_nodes_are_alike_whatever_they_have() -> None:
    nodes = [*racks(2, 2, 2), node("a2", cpu=5, labels={"rack": "a"})]
    nodes += [node("b2", cpu=6, labels={"rack": "b"}), node("c2", cpu=7, labels={"rack": "c"})]
    jobs = [
        job(f"r{c}", pods(cpu=c, on=[n]), **STAYS) for c, n in ((5, "a2"), (6, "b2"), (7, "c2"))
    ]
    jobs.append(job("w", pods(cpu=4)))
    instance = question(nodes, jobs, topology={"levels": LEVELS})
    assert kept(instance) == ["a0"]


def test_of_domains_that_are_alike_as_many_stay_as_pods_arrive() -> None:
    instance = question(racks(2, 3, 2, 2), [job("w", pods(count=2))], topology={"levels": LEVELS})
    assert kept(instance) == ["a0", "a1", "b0", "b1", "c0", "c1"]


def test_whether_a_node_without_room_is_in_use_tells_where_domains_in_use_count() -> None:
    nodes = [
        node(f"{rack}-{size}", cpu=cpu, labels={"rack": rack})
        for rack in "abc"
        for size, cpu in (("large", 9), ("small", 2))
    ]
    jobs = [job("r", pods(cpu=1, on=["c-small"]), **STAYS), job("w", pods(cpu=5))]
    racks: dict[str, Any] = {"domains_in_use": {"level": "rack"}}
    for last, expected in (("moves", "a-large"), (racks, "c-large")):
        asked = question(nodes, jobs, objectives=["unplaced", last], topology={"levels": LEVELS})
        assert expected in kept(asked)


def test_labels_that_a_rule_looks_at_tell_nodes_apart_and_others_do_not() -> None:
    def nodes(key: str) -> list[Any]:
        return [node(f"n{i}", labels={key: str(i // 3)}) for i in range(9)]

    term = {"labelSelector": {"matchLabels": {"job": "w"}}, "topologyKey": "row"}
    jobs = [job("w", pods(count=2, podAntiAffinity=[term]))]
    assert kept(question(nodes("row"), jobs)) == ["n0", "n1", "n3", "n4", "n6", "n7"]
    assert kept(question(nodes("shelf"), jobs)) == ["n0", "n1"]


def test_a_gang_that_grows_keeps_the_nodes_that_it_is_on_apart() -> None:
    nodes = [node(f"n{i}") for i in range(9)]
    grown = job("w", pods(count=3, minCount=1, on=["n5"]), **STAYS)
    instance = question(nodes, [grown])
    assert "n5" in kept(instance)


OBJECTIVES: list[list[Any]] = [
    ["domains_crossed", "stranded_gpus"],
    ["excess_groups", "excess_nodes", "fragmented_nodes"],
    ["fragmented_nodes", {"stranded_gpus": {"mix": [{"requests": {"cpu": 1, GPU: 2}}]}}],
    ["excess_nodes", "nodes_in_use", "domains_crossed"],
    [{"balance": {"target": 40, "resources": ["cpu"]}}, "excess_groups"],
    ["cost", "energy", "excess_groups"],
    [{"domains_in_use": {"level": "rack"}}, "fragmented_nodes"],
    ["fragmented_nodes", {"domains_in_use": {"level": "block", "selector": "row=1"}}],
]


def alike(seed: int) -> Instance:
    """Draw blocks of racks of nodes of which many are alike, pods that stay, and some more."""
    rng = random.Random(seed)
    nodes, names, jobs = [], [], []
    large, dear = rng.choice((0, 0.3)), rng.choice((0, 0.3))
    for b, r in product(range(rng.randint(1, 3)), range(rng.randint(3, 5))):
        for n in range(rng.choice((2, 2, 2, 3))):
            names.append(f"b{b}r{r}n{n}")
            labels = {"block": f"b{b}", "rack": f"b{b}r{r}", "row": str(r)}
            more = {"price": 1 + (rng.random() < dear), "idlePower": 100, "powerPerGpu": 50}
            cpu = 16 if rng.random() < large else 8
            nodes.append(node(names[-1], cpu=cpu, gpu=4, labels=labels, **more))
            if rng.random() < 0.5:
                taken = pods(cpu=rng.choice((2, 8)), gpu=rng.choice((2, 4)), on=[names[-1]])
                jobs.append(job(f"r{len(jobs)}", taken, **STAYS))
    rng.shuffle(names)
    grown = names[: rng.choice((0, 0, 0, 1, 2))]
    for i in range(rng.choice((1, 1, 2))):
        count = rng.choice((1, 1, 2, 3))
        asked: dict[str, Any] = {
            "count": count,
            "cpu": rng.choice((1, 4)),
            "gpu": rng.choice((1, 2, 3, 4)),
        }
        if rng.random() < 0.3:
            asked["minCount"] = 1
        if rng.random() < 0.3:
            key = rng.choice(("rack", "row", HOST))
            selector = {"matchLabels": {"job": f"w{rng.randrange(i + 1)}"}}
            term = {"labelSelector": selector, "topologyKey": key}
            asked[rng.choice(("podAntiAffinity", "podAntiAffinity", "podAffinity"))] = [term]
        more: dict[str, Any] = dict(STAYS)
        if rng.random() < 0.5:
            more["topologyRequest"] = {
                rng.choice(("required", "preferred")): rng.choice(("block", "rack"))
            }
        if not i and grown and count > len(grown):
            asked["on"], asked["minCount"] = grown, 1
        jobs.append(job(f"w{i}", pods(**asked), **more))
    objectives = [{"unplaced": {"unit": "pod"}}, *rng.choice(OBJECTIVES)]
    return question(nodes, jobs, objectives=objectives)


@pytest.mark.parametrize("block", some(range(8)))
def test_what_is_left_has_a_plan_as_good_as_any(block: int) -> None:
    smaller = 0
    for seed in range(block, 320, 8):
        instance = limited(alike(seed), evictions=0, moves=0)
        tiers = tiers_of(instance)
        tiers = tiers[: summed(instance, tiers)]
        if not tiers or not any(not podset.running for podset in instance.podsets):
            continue
        nodes = representatives(instance, tiers, ())
        podsets = tuple(replace(p, allowed=p.allowed & nodes) for p in instance.podsets)
        part = changing_part(replace(instance, podsets=podsets), tiers)
        if not part.share.nodes or len(part.share.nodes) == len(instance.nodes):
            continue
        smaller += 1
        whole, rest = solved(instance, tiers).placement, solved(part.instance, tiers).placement
        assert (whole is None) == (rest is None), f"seed {seed}"
        if whole is None or rest is None:
            continue
        spots = list(instance.current.podsets)
        part.lift(rest, spots)
        lifted = replace(whole, podsets=tuple(spots))
        assert check(instance, lifted) == [], f"seed {seed}"
        assert measure(instance, lifted, tiers) == measure(instance, whole, tiers), f"seed {seed}"
    assert smaller >= 10
