"""Presolve of budgets and quotas: what is called redundant no plan exceeds."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.presolve import binding_budgets, binding_queues, presolved
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_instance
from tests.placements import random_placement
from tests.verify.world import HOST, Document, job, node, pods, question


def cpu(nominal: int, **more: int) -> list[Document]:
    return [{"name": "cpu", "nominalQuota": nominal, **more}]


def scattered(instance: Instance, rng: random.Random) -> Placement:
    """Any pods anywhere, as many as a coin says: the rules that count ask only how many."""
    changes = {}
    for podset in instance.podsets:
        share = rng.choice((0.0, 0.5, 1.0))
        placed = sum(rng.random() < share for _ in range(podset.count))
        changes[podset.index] = {Spot(0): placed} if placed else {}
    return instance.current.replace(changes)


@pytest.mark.parametrize("seeds", [range(k, k + 50) for k in some(range(0, 400, 50))], ids=str)
def test_a_budget_or_queue_that_does_not_bind_is_never_exceeded(seeds: range) -> None:
    for seed in seeds:
        instance, rng = random_instance(seed), random.Random(seed)
        if not instance.nodes:
            continue
        budgets = {instance.budgets[b].name for b in binding_budgets(instance)}
        queues = {instance.queues[q].name for q in binding_queues(instance)}
        cohorts = {instance.queues[q].cohort for q in binding_queues(instance)}
        named = {f"queue {name}" for name in queues} | {f"cohort {name}" for name in cohorts}
        named |= {f"budget {name}" for name in budgets}
        for _ in range(5):
            for fault in check(instance, scattered(instance, rng), (Rule.DISRUPTION, Rule.QUOTA)):
                closed = " of 0 " in fault.message  # restarts of a budget that bears none at all
                assert closed or fault.subject in named


def test_budgets_bind_where_fewer_evictions_are_borne_than_pods_run() -> None:
    for allowed, binds in ((2, True), (3, False)):
        budget = {"name": "b", "namespace": "default", "selector": {}}
        instance = question(
            [node("a")],
            [job("r", pods(count=3, on=["a"] * 3)), job("waits")],
            podDisruptionBudgets=[{**budget, "disruptionsAllowed": allowed}],
        )
        assert bool(binding_budgets(instance)) == binds


@pytest.mark.parametrize(
    ("queues", "binds"),
    [
        ([{"name": "q", "resources": cpu(3)}], False),
        ([{"name": "q", "resources": cpu(2)}], True),
        ([{"name": "q", "cohort": "c", "resources": cpu(2)}], True),
        (
            [
                {"name": "q", "cohort": "c", "resources": cpu(2)},
                {"name": "other", "cohort": "c", "resources": cpu(1)},
            ],
            False,
        ),
        (
            [
                {"name": "q", "cohort": "c", "resources": cpu(2, borrowingLimit=0)},
                {"name": "other", "cohort": "c", "resources": cpu(1)},
            ],
            True,
        ),
    ],
    ids=str,
)
def test_queues_bind_where_all_their_pods_would_exceed_what_they_may_use(
    queues: list[Document], binds: bool
) -> None:
    jobs = [job("j", pods(count=3, cpu=1), queueName="q")]
    assert (0 in binding_queues(question([node("a")], jobs, queues=queues))) == binds


def test_what_binds_nobody_is_left_out_and_what_may_bind_is_kept() -> None:
    site = [node(name, rack="b1/r1", labels={HOST: name}) for name in "ab"]
    apart = [node("a", rack="b1/r1"), node("b", rack="b1/r2")]
    agents = job("agent", pods(count=2, on=["a", "b"]), daemon=True)
    movable = job("agent", pods(count=2, on=["a", "b"]))

    def left(nodes: list[Document], *jobs: Document, **more: Any) -> tuple[int, ...]:
        made = presolved(question(nodes, jobs, **more))
        return (
            len(made.topology_needs),
            len(made.spreads),
            len(made.affinities),
            len(made.anti_affinities),
        )

    def asks(**more: Any) -> Document:
        return job("j", pods(count=2, **more))

    def even(skew: int) -> list[Document]:
        selector = {"matchLabels": {"job": "j"}}
        return [{"topologyKey": HOST, "maxSkew": skew, "labelSelector": selector}]

    rack = {"required": "rack"}
    assert left(site, asks(topologyRequest=rack)) == (0, 0, 0, 0)
    assert left(apart, asks(topologyRequest=rack)) == (1, 0, 0, 0)
    slices = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 2}
    assert left(site, asks(topologyRequest=slices)) == (1, 0, 0, 0)
    single = {**slices, "podSetSliceSize": 1}
    assert left(apart, asks(topologyRequest=single)) == (0, 0, 0, 0)
    assert left([*apart, node("c")], asks(topologyRequest=single)) == (1, 0, 0, 0)
    assert left(site, asks(topologySpreadConstraints=even(2))) == (0, 0, 0, 0)
    assert left(site, asks(topologySpreadConstraints=even(1))) == (0, 1, 0, 0)
    near = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "agent"}}}]
    assert left(site, agents, asks(podAffinity=near)) == (0, 0, 0, 0)
    assert left(site, movable, asks(podAffinity=near)) == (0, 0, 1, 0)
    assert left([*site, node("c")], agents, asks(podAffinity=near)) == (0, 0, 1, 0)
    off = {"rules": {"eligibility": "off"}}
    zoned = [node(name, labels={"zone": name}) for name in "ab"] + [node("c")]
    there = {"nodeSelector": {"zone": "a"}}
    skew = [{**even(2)[0], "topologyKey": "zone"}]
    assert left(zoned, asks(topologySpreadConstraints=skew, **there)) == (0, 0, 0, 0)
    assert left(zoned, asks(topologySpreadConstraints=skew, **there), **off) == (0, 1, 0, 0)
    beside = [{**near[0], "topologyKey": "zone"}]
    assert left(zoned, agents, asks(podAffinity=beside, **there)) == (0, 0, 0, 0)
    assert left(zoned, agents, asks(podAffinity=beside, **there), **off) == (0, 0, 1, 0)
    away = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": "j"}}}]
    assert left(site, job("j", pods(podAntiAffinity=away))) == (0, 0, 0, 0)
    assert left(site, asks(podAntiAffinity=away)) == (0, 0, 0, 1)


@pytest.mark.parametrize("seeds", [range(k, k + 50) for k in some(range(0, 400, 50))], ids=str)
def test_what_is_legal_without_what_binds_nobody_is_legal(seeds: range) -> None:
    for seed in seeds:
        instance, rng = random_instance(seed), random.Random(seed)
        short = presolved(instance)
        for _ in range(10):
            placement = random_placement(rng, instance)
            assert bool(check(instance, placement)) == bool(check(short, placement))
            tiers = tiers_of(instance)
            assert measure(instance, placement, tiers) == measure(short, placement, tiers)


def limits(instance: Instance, resource: str) -> list[int | None]:
    """What the nodes offer of a resource once what binds nobody is left out."""
    r = instance.resources.index(resource)
    return [node.capacity[r] for node in presolved(instance).nodes]


def unequal(memory: int, *asked: dict[str, int], **more: Any) -> Instance:
    """Nodes of 4 cpus that differ in a little memory, and three pods of each kind that wait."""
    nodes = [node(f"n{i}", offers={"memory": memory + i}) for i in range(3)]
    return question(
        nodes, [job(f"j{i}", pods(count=3, requests=each)) for i, each in enumerate(asked)], **more
    )


def test_a_limit_that_nobody_reaches_tells_no_nodes_apart() -> None:
    enough = unequal(60, {"cpu": 2, "memory": 20}, {"cpu": 4, "memory": 10})
    assert limits(enough, "memory") == [None] * 3, "4 cpus are 40 at most"
    assert limits(enough, "cpu") == [4000] * 3
    assert limits(unequal(60, {"cpu": 0, "memory": 20}), "memory") == [None] * 3, "there are 3"
    assert limits(unequal(60, {"cpu": 1}), "memory") == [None] * 3, "nobody asks"
    alike = question([node("a", cpu=9), node("b", cpu=9)], [job("j")])
    assert presolved(alike) is alike, "tells none apart as it is"


def test_a_limit_that_may_bind_is_what_requests_can_come_to() -> None:
    """A pod that asks for memory alone finds no end but that of memory."""
    assert limits(unequal(30, {"cpu": 1, "memory": 10}), "memory") == [None] * 3
    assert limits(unequal(28, {"cpu": 1, "memory": 10}), "memory") == [20, 20, 30]
    two = unequal(43, {"cpu": 1, "memory": 20}, {"cpu": 0, "memory": 8})
    assert limits(two, "memory") == [40, 44, 44]


def test_of_two_limits_that_bind_each_other_one_stays() -> None:
    nodes = [node(f"n{i}", cpu=4 + i % 2, offers={"memory": 600 + i}) for i in range(3)]
    instance = question(nodes, [job("j", pods(count=99, requests={"cpu": 1, "memory": 100}))])
    assert limits(instance, "memory") == [None] * 3
    assert limits(instance, "cpu") == [4000, 5000, 4000]


def test_what_is_taken_beyond_a_limit_counts() -> None:
    """On the first node 6 cpus of 4 are taken: whoever comes in their stead may ask for as many."""
    nodes = [node(f"n{i}", cpu=4, offers={"memory": 50 + i}) for i in range(2)]
    runs = job("r", pods(count=6, requests={"cpu": 1}, on=["n0"] * 6))
    waits = job("j", pods(count=9, requests={"cpu": 1, "memory": 10}), priority=1)
    assert limits(question(nodes, [runs, waits]), "memory") == [50, 50]
    assert limits(question(nodes, [waits]), "memory") == [None] * 2


def test_what_an_objective_looks_at_stays() -> None:
    ask = {"cpu": 1, "memory": 10}
    balance = {"balance": {"resources": ["memory"], "target": 80}}
    assert limits(unequal(600, ask, objectives=[balance]), "memory") == [600, 601, 602]
    mix = {"stranded_gpus": {"mix": [{"requests": {"memory": 590}}]}}
    assert limits(unequal(610, ask, objectives=[mix]), "memory") == [610, 610, 610]
    assert limits(unequal(620, ask, objectives=[mix]), "memory") == [None] * 3
    gpus = question([node("a", gpu=8), node("b", gpu=9)], [job("j")])
    assert limits(gpus, "nvidia.com/gpu") == [8, 9]


def test_a_question_in_which_all_may_bind_is_itself() -> None:
    instance = question([node("a")], [job("j", pods(count=2, cpu=3))])
    assert presolved(instance) is instance
