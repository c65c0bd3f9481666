"""Moving running pods out of the way of a job that does not fit."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search import construct as constructing
from kantopt.search.construct import How, construct
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.order.sequence import sequence
from kantopt.search.portfolio import run_portfolio
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from tests.campaign import some
from tests.generate import random_instance
from tests.questions import model, question
from tests.search.helpers import where
from tests.verify import world

PODS = ({"unplaced": {"unit": "pod"}}, "evictions", "moves")


def node(name: str, gpus: int, **labels: str) -> dict[str, Any]:
    return {"name": name, "labels": labels, "allocatable": {"nvidia.com/gpu": gpus, "cpu": 64}}


def job(name: str, gpus: int, count: int, on: dict[str, int], **more: Any) -> dict[str, Any]:
    podset: dict[str, Any] = {"count": count, "requests": {"nvidia.com/gpu": gpus}}
    podset["assignments"] = [{"node": n, "count": k} for n, k in on.items()]
    return {"name": name, "podSets": [podset], **more}


def placed(instance: Instance, *, thorough: bool = False) -> tuple[Placement, Step]:
    how = How(Strategy.BEST_FIT, relocate=True, thorough=thorough)
    placement = construct(instance, Deadline(None), how)
    assert not check(instance, placement)
    return placement, Step(instance, instance.current, placement)


def legal_at_once(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Return what the judge is going to say of placements while they are made."""
    judged: list[bool] = []

    def is_legal(instance: Instance, placement: Placement) -> bool:
        judged.append(legal(instance, placement))
        return judged[-1]

    legal = constructing.is_legal
    monkeypatch.setattr(constructing, "is_legal", is_legal)
    return judged


def moves(instance: Instance, step: Step) -> int:
    return sum(step.moved(podset.index) for podset in instance.podsets if podset.running)


def test_scattered_free_gpus_come_together_for_a_job() -> None:
    """7, 6 and 7 of 8 GPUs are used on three nodes; a job of 4 GPUs finds no node."""
    running = [
        job("a", 1, 7, {"n1": 7}),
        job("b", 1, 6, {"n2": 6}),
        job("c", 1, 7, {"n3": 7}),
    ]
    asked = question([node("n1", 8), node("n2", 8), node("n3", 8)], running, [job("new", 4, 1, {})])
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 2)
    assert sequence(instance, placement) is not None


def test_pods_that_cannot_move_stay() -> None:
    running = [job("a", 1, 7, {"n1": 7}, movable=False), job("b", 1, 6, {"n2": 6}, movable=False)]
    asked = question([node("n1", 8), node("n2", 8)], running, [job("new", 3, 1, {})])
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert placement == instance.current


def test_a_job_that_restarts_as_a_whole_moves_whole_for_one_that_waits() -> None:
    """Two pods that restart together, 2 GPUs on each of two nodes; c has room for one of them."""
    nodes = [node("a", 4), node("b", 4), node("c", 2)]
    unit = job("unit", 2, 2, {"a": 1, "b": 1}, disruptionMode="all")
    running = [unit, job("holds", 2, 1, {"b": 1}, movable=False)]
    asked = question(nodes, running, [job("new", 4, 1, {}, priority=9)])
    instance = asked.instance(model(*PODS))
    placement, step = placed(instance)
    assert where(instance, placement, "unit") == {"b": 1, "c": 1}
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 0, 2)
    assert moves(instance, step) == 2
    assert sequence(instance, placement) is not None


def test_single_pods_move_rather_than_more_that_restart_together() -> None:
    nodes = [node("a", 4), node("b", 4), node("c", 4)]
    unit = job("unit", 1, 3, {"a": 1, "c": 2}, disruptionMode="all")
    single = job("single", 1, 2, {"b": 2})
    asked = question(nodes, [unit, single], [job("new", 4, 1, {})])
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 2)
    assert where(instance, placement, "new") == {"b": 1}


def test_a_job_of_cpu_pods_has_others_restart_as_a_whole_too() -> None:
    """Chains, which move single pods for such jobs, leave them alone."""
    unit = world.job("unit", world.pods(count=2, cpu=2, on=["a", "b"]), disruptionMode="all")
    nodes = [world.node(name, cpu=4) for name in "ab"]
    instance = world.question(nodes, [unit, world.job("new", world.pods(cpu=4))])
    placement, _ = placed(instance)
    assert where(instance, placement, "new") != {}
    assert where(instance, placement, "unit") in ({"a": 2}, {"b": 2})


def test_no_more_pods_move_than_the_model_allows() -> None:
    running = [job("a", 1, 7, {"n1": 7}), job("b", 1, 6, {"n2": 6}), job("c", 1, 7, {"n3": 7})]
    asked = question([node("n1", 8), node("n2", 8), node("n3", 8)], running, [job("new", 4, 1, {})])
    limited = model(*PODS).model_copy(
        update={"limits": model(*PODS).limits.model_copy(update={"moves": 1})}
    )
    instance = asked.instance(limited)
    placement, _ = placed(instance)
    assert placement == instance.current


def test_a_gang_gets_a_rack_of_its_own_when_others_move_away() -> None:
    """One small pod on a node of each rack keeps a gang of two whole nodes out of both."""
    nodes = [node(f"{r}{i}", 8, rack=r) for r in ("x", "y") for i in (1, 2)]
    small = [job("s1", 1, 1, {"x1": 1}), job("s2", 1, 1, {"y1": 1})]
    gang = job("gang", 8, 2, {}, minCount=2)
    gang["podSets"][0]["topologyRequest"] = {"required": "rack"}
    asked = question(
        nodes, small, [gang], topology={"levels": [{"name": "rack", "nodeLabel": "rack"}]}
    )
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance)
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 1)


def test_who_leaves_for_a_gang_goes_where_others_make_way() -> None:
    """Of two pods of 4 GPUs one has room; for the other a small one leaves its node."""
    nodes = [node(n, 8, rack=n[0]) for n in ("x1", "x2", "y1", "y2", "y3")]
    running = [
        job("p1", 4, 1, {"x1": 1}),
        job("p2", 4, 1, {"x2": 1}),
        job("q1", 4, 1, {"y1": 1}, movable=False),
        job("q2", 4, 1, {"y2": 1}, movable=False),
        job("q3", 7, 1, {"y3": 1}, movable=False),
        job("small", 1, 1, {"y2": 1}),
    ]
    gang = job("gang", 8, 2, {}, minCount=2)
    gang["podSets"][0]["topologyRequest"] = {"required": "rack"}
    asked = question(
        nodes, running, [gang], topology={"levels": [{"name": "rack", "nodeLabel": "rack"}]}
    )
    instance = asked.instance(model(*PODS))
    placement, _ = placed(instance, thorough=True)
    assert measure(instance, placement, tiers_of(instance)) == (0, 0, 3)
    assert sequence(instance, placement) is not None


def test_a_victim_that_fits_elsewhere_moves_instead() -> None:
    running = [job("low", 8, 1, {"n1": 1}, priority=1)]
    wants = job("high", 8, 1, {}, priority=9)
    wants["podSets"][0]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    asked = question([node("n1", 8), node("n2", 8)], running, [wants])
    instance = asked.instance(model(*PODS))
    _, step = placed(instance)
    assert moves(instance, step) == 1
    assert not any(step.evicted(p.index) for p in instance.podsets if p.running)


class Unfailing(Incumbent):
    """Refuses nothing that is better without failing the test."""

    def offer(self, placement: Placement, by: str = "", **more: bool) -> bool:
        """Offer a placement that should be legal."""
        better = super().offer(placement, by, **more)
        assert self.fault is None, self.fault
        return better


@pytest.mark.parametrize("seed", range(60))
def test_placements_are_legal_and_in_an_order(seed: int) -> None:
    instance = random_instance(seed)
    best = Unfailing(instance, tiers_of(instance), instance.current)
    run_portfolio(best, Deadline(None), ())
    faults = check(instance, best.placement)
    assert all(fault.rule == "required" for fault in faults), seed


RACKS = [world.node(name, gpu=8, rack=f"b/{name[0]}") for name in ("x1", "x2", "y1", "y2")]


def close(name: str, gpu: int, on: list[str]) -> dict[str, Any]:
    """A job whose pods have to be in one rack."""
    return world.job(name, world.pods(count=len(on), gpu=gpu, on=on, topologyRequest=RACK))


RACK = {"required": "rack"}


def test_pods_that_must_be_close_move_within_their_rack() -> None:
    """Room for a whole node in x means that one of two close pods goes to the other node there."""
    standing = [close("r", 3, ["x1", "x2"]), world.job("y", world.pods(gpu=6, on=["y1"]))]
    new = world.job("new", world.pods(gpu=8), world.pods("more", gpu=8, cpu=2))
    instance = world.question(RACKS, [*standing, new])
    placement, step = placed(instance)
    r = world.podset_of(instance, "r")
    assert moves(instance, step) == 1
    assert {instance.nodes[x.node].name for x in placement.podsets[r]} in ({"x1"}, {"x2"})
    assert all(
        placement.podsets[s] for s in instance.jobs[instance.job_index["default/new"]].podsets
    )


def test_the_job_itself_grows_where_its_pods_are() -> None:
    """Of two pods that must be in one rack the one that runs says in which."""
    own = world.job("own", world.pods(count=2, gpu=4, minCount=1, on=["x1"], topologyRequest=RACK))
    full = [world.job(f"f{n}", world.pods(gpu=5, on=[n]), movable=False) for n in ("x2", "y2")]
    instance = world.question(RACKS, [own, *full, world.job("g", world.pods(gpu=3, on=["x1"]))])
    placement, _ = placed(instance)
    there = [x.node for s in instance.jobs[0].podsets for x in placement.podsets[s]]
    assert len({instance.nodes[n].name[0] for n in there}) == 1


@pytest.mark.parametrize("cohort", ["", "all"])
def test_pods_that_are_lifted_off_their_nodes_keep_their_quota(
    cohort: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is room on each node, and nothing is left of the quota of those who run."""
    judged = legal_at_once(monkeypatch)
    names = [f"n{i}" for i in range(4)]
    running = [job(f"r{n}", 1, 3, {n: 3}, queueName="team") for n in names]
    lent = [{"name": "nvidia.com/gpu", "nominalQuota": 12}]
    queues = [{"name": name, "cohort": cohort, "resources": lent} for name in ("team", "idle")]
    if cohort:
        queues[1]["resources"] = [{"name": "nvidia.com/gpu", "nominalQuota": 0}]
    waiting = [job(f"w{k}", 4, k, {}, queueName="team") for k in (1, 2)]
    asked = question([node(n, 8) for n in names], running, waiting, queues=queues)
    placement, step = placed(asked.instance(model(*PODS)))
    assert judged == [True]
    assert not step.changed
    assert placement == asked.instance(model(*PODS)).current


@pytest.mark.parametrize("seeds", [range(k, k + 50) for k in some(range(0, 200, 50))], ids=str)
def test_what_moves_make_is_legal_at_once(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing has to be taken back in the end, which would cost other jobs their places."""
    judged = legal_at_once(monkeypatch)
    for seed in seeds:
        construct(random_instance(seed), Deadline(None), How(Strategy.BEST_FIT, relocate=True))
    assert judged
    assert all(judged)


def tight(seed: int) -> Instance:
    """A full cluster whose queues have about as much quota as they use, and more who wait."""
    rng, nodes = random.Random(seed), range(8)
    free, used, running = [8] * len(nodes), [0] * 4, []
    for i in range(40):
        pods, gpus, q = rng.choice((1, 1, 1, 2)), rng.choice((1, 1, 2, 4)), rng.randrange(4)
        on = [n for n in nodes if free[n] >= gpus]
        if len(on) >= pods:
            on = rng.sample(on, pods)
            priority = rng.choice((10, 50, 100))
            there = {f"n{n}": 1 for n in on}
            running.append(job(f"r{i}", gpus, pods, there, priority=priority, queueName=f"q{q}"))
            used[q] += pods * gpus
            for n in on:
                free[n] -= gpus
    cohort = rng.choice(("", "all"))
    queues = [
        {
            "name": f"q{q}",
            "cohort": cohort,
            "resources": [
                {
                    "name": "nvidia.com/gpu",
                    "nominalQuota": max(0, k + rng.choice((-4, -2, 0, 0, 4))),
                }
            ],
        }
        for q, k in enumerate(used)
    ]
    waiting = [
        job(
            f"w{i}",
            rng.choice((1, 2, 4, 8)),
            rng.choice((1, 1, 2, 3)),
            {},
            priority=rng.choice((10, 50, 100, 200)),
            queueName=f"q{rng.randrange(4)}",
            preemptionPolicy=rng.choice(("Never", "PreemptLowerPriority", "PreemptLowerPriority")),
        )
        for i in range(14)
    ]
    asked = question([node(f"n{n}", 8) for n in nodes], running, waiting, queues=queues)
    return asked.instance(model(*PODS))


@pytest.mark.parametrize(
    "seeds", [range(k, k + 20) for k in (20, *some(range(40, 120, 20)))], ids=str
)
def test_what_is_made_where_quotas_are_used_up_is_legal_at_once(
    seeds: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Quota is kept for those who were lifted, and for victims where they may not be evicted."""
    judged, evicted = legal_at_once(monkeypatch), 0
    for seed in seeds:
        instance = tight(seed)
        made = construct(instance, Deadline(None), How(Strategy.BEST_FIT, relocate=True))
        step = Step(instance, instance.current, made)
        evicted += any(map(step.evicted, range(len(instance.podsets))))
    assert evicted > len(seeds) // 2
    assert judged == [True] * len(seeds)
