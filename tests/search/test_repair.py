"""Repairs with few moves: legal, within the limit, and better by as much as tries of all say."""

from __future__ import annotations

import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.order.sequence import sequence
from kantopt.search.repair.bound import TURNS, change_prices
from kantopt.search.repair.improve import improve as repair
from kantopt.search.repair.improve import promising, suffices
from kantopt.search.strategy import Strategy
from kantopt.verify.metrics import bounds, measure
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from scripts.bench import openb
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best
from tests.questions import question
from tests.search.helpers import Witness, searching
from tests.search.repair_questions import few_moves, full_cluster, gpu_job, gpu_node, roomy

improve = searching(repair)

BRIEF = Deadline(1.0, deterministic=True)
UNLIMITED = Deadline(None)


def repaired(instance: Instance, start: Placement | None = None, seed: int = 0) -> Placement:
    begin = instance.current if start is None else start
    found = improve(instance, begin, tiers_of(instance), BRIEF, seed)
    assert check(instance, found) == []
    return found


def values(instance: Instance, placement: Placement) -> tuple[int, ...]:
    return measure(instance, placement, tiers_of(instance))


def asked(
    nodes: list[dict[str, Any]],
    running: list[dict[str, Any]],
    pending: list[dict[str, Any]],
    moves: int,
) -> Instance:
    return question(nodes, running, pending).instance(few_moves(moves))


def test_a_pod_goes_where_there_is_room() -> None:
    """320 of each GPU are free; the smaller pod's going makes room for 650."""
    instance = asked(
        [gpu_node("n1", 1, 8), gpu_node("n2", 1, 8)],
        [gpu_job("a", 320, 1, ("n1", (0,))), gpu_job("b", 650, 1, ("n2", (0,)))],
        [gpu_job("new", 1000, 1)],
        1,
    )
    assert values(instance, repaired(instance)) == (0, 1)


def test_a_pod_takes_the_place_of_another_that_goes_where_there_is_room() -> None:
    """The large pod fits only where the small one is, and the small one only on the third GPU."""
    instance = asked(
        [gpu_node("n1", 1, 8), gpu_node("n2", 1, 8), gpu_node("n3", 1, 1)],
        [
            gpu_job("large", 810, 2, ("n1", (0,))),
            gpu_job("small", 190, 1, ("n2", (0,))),
            gpu_job("other", 650, 0, ("n3", (0,))),
        ],
        [gpu_job("new", 1000, 8)],
        2,
    )
    assert values(instance, repaired(instance))[0] == 0


def test_pods_change_places_for_the_sake_of_the_nodes_cpu() -> None:
    """A GPU is free on n1 but no cpu, on n2 it is the other way round: one exchange does it."""
    running = [
        gpu_job("heavy", 1000, 8, ("n1", (0,))),
        gpu_job("light", 1000, 1, ("n2", (0,))),
        gpu_job("stays", 1000, 1, ("n2", (1,)), movable=False),
    ]
    nodes = [gpu_node("n1", 2, 8), gpu_node("n2", 2, 10)]
    instance = asked(nodes, running, [gpu_job("new", 1000, 6)], 2)
    placement = repaired(instance)
    assert values(instance, placement) == (0, 2)
    assert sequence(instance, placement) is not None
    # Neither can move before the other where both must be up all the time.
    live = [{**job, "moveMode": "live"} for job in running]
    instance = asked(nodes, live, [gpu_job("new", 1000, 6)], 2)
    assert repaired(instance) is instance.current
    # And one move alone does not do it.
    instance = asked(nodes, running, [gpu_job("new", 1000, 6)], 1)
    assert repaired(instance) is instance.current


def test_pods_go_home_once_their_being_away_is_of_no_use() -> None:
    instance = asked(
        [gpu_node("n1", 1, 8), gpu_node("n2", 1, 8), gpu_node("n3", 1, 8)],
        [gpu_job("a", 320, 1, ("n1", (0,))), gpu_job("b", 810, 1, ("n2", (0,)))],
        [gpu_job("new", 1000, 1), gpu_job("newer", 1000, 1)],
        1,
    )
    start = instance.current.replace({0: {Spot(2, (0,)): 1}})
    assert values(instance, start) == (2000, 1)
    assert values(instance, repaired(instance, start)) == (1000, 0)


def test_moves_that_the_start_has_spent_on_little_are_spent_again() -> None:
    """One move is allowed: it makes room for 1000 milli on n2, but the start made 400 on n1."""
    running = [
        gpu_job("a", 320, 1, ("n1", (0,))),
        gpu_job("x", 600, 1, ("n1", (0,)), movable=False),
        gpu_job("b", 620, 1, ("n2", (0,))),
        gpu_job("y", 380, 4, ("n3", (0,)), movable=False),
    ]
    nodes = [gpu_node(name, 1, 8) for name in ("n1", "n2", "n3")]
    pending = [gpu_job("little", 400, 7), gpu_job("large", 1000, 1)]
    instance = asked(nodes, running, pending, 1)
    names = [instance.job_of(p.index).name for p in instance.podsets]
    start = instance.current.replace(
        {
            names.index("default/a"): {Spot(2, (0,)): 1},
            names.index("default/little"): {Spot(0, (0,)): 1},
        }
    )
    assert check(instance, start) == []
    assert values(instance, start) == (1000, 1)
    assert values(instance, repaired(instance, start)) == (400, 1)


def test_repair_suffices_only_where_it_may_do_all_that_can_be_done() -> None:
    nodes = [gpu_node("n1", 1, 8)]
    running, pending = [gpu_job("a", 320, 1, ("n1", (0,)))], [gpu_job("new", 1000, 1)]
    instance = asked(nodes, running, pending, 1)
    tiers = tiers_of(instance)
    assert suffices(instance, tiers)
    for update in ({"moves": None}, {"evictions": None}):
        limits = instance.model.limits.model_copy(update=update)
        other = replace(instance, model=instance.model.model_copy(update={"limits": limits}))
        assert not suffices(other, tiers)
    gang = {**gpu_job("gang", 500, 1), "podSets": [{**gpu_job("gang", 500, 1)["podSets"][0]}]}
    gang["podSets"][0]["count"] = 2
    other = asked(nodes, running, [*pending, gang], 1)
    assert not suffices(other, tiers_of(other))


@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 80, 20))], ids=str)
def test_whatever_is_asked_the_result_is_legal_and_never_worse(seeds: range) -> None:
    for seed in seeds:
        instance = random_instance(seed)
        tiers = tiers_of(instance)
        built = construct(instance, UNLIMITED, How(Strategy.BEST_FIT))
        for start in (built, instance.current):
            told: list[Placement] = []
            found = improve(instance, start, tiers, BRIEF, seed, told.append)
            assert found is (told[-1] if told else start)
            assert measure(instance, found, tiers) <= measure(instance, start, tiers)
            faults = check(instance, found)
            assert [fault for fault in faults if fault.rule != Rule.REQUIRED] == []
            assert len(faults) <= len(check(instance, start))


def test_full_clusters_are_repaired_within_the_limit() -> None:
    better = 0
    for seed in range(12):
        for moves in (0, 2, 6):
            instance = full_cluster(seed, nodes=8, gpus=4, running=80, pending=20, moves=moves)
            start = construct(instance, UNLIMITED, How(Strategy.BEST_FIT))
            placement = repaired(instance, start, seed)
            step = Step(instance, instance.current, placement)
            moved = sum(step.moved(p.index) for p in instance.podsets if p.running)
            assert moved <= moves
            assert placement is start or sequence(instance, placement) is not None
            better += values(instance, placement)[0] < values(instance, start)[0]
            assert repaired(instance, start, seed) == placement
    assert better >= 12


def test_free_room_that_nobody_may_have_does_not_count_as_a_place() -> None:
    """An empty node that is closed would hold whoever has to go: the plans are those without it."""
    closed = (
        {"ready": False},
        {"unschedulable": True},
        {"taints": [{"key": "maintenance", "effect": "NoSchedule"}]},
    )
    for seed in range(12):
        node = {**gpu_node("x", 4, 64), **closed[seed % 3]}
        plain, beside = (
            full_cluster(seed, nodes=8, gpus=4, running=80, pending=20, moves=6, more=more)
            for more in ((), ((node, ()),))
        )
        found = repaired(plain, seed=seed)
        assert repaired(beside, seed=seed).podsets == found.podsets, f"seed {seed}"


def test_beside_a_pool_that_has_room_a_full_one_is_repaired_as_by_itself() -> None:
    """The pods of both ask for the same, but neither may go to the other."""
    for seed in range(12):
        size = (seed, 8, 4, 80, 20, 6)
        alone, beside = full_cluster(*size), full_cluster(*size, more=roomy("b"), pool="a")
        found, other = repaired(alone, seed=seed), repaired(beside, seed=seed)
        assert values(beside, other) == values(alone, found), f"seed {seed}"


def services(rng: random.Random) -> dict[str, Any]:
    """Spread over racks of two, apart from another service, or neither."""
    mine, other = rng.sample(["s", "t", "u"], 2)

    def of(name: str) -> dict[str, Any]:
        return {"topologyKey": "rack", "labelSelector": {"matchLabels": {"service": name}}}

    spread = {"topologySpreadConstraints": [{"maxSkew": 2, **of(mine)}]}
    rules: dict[str, Any] = {"s": spread, "t": {"podAntiAffinity": [of(other)]}, "u": {}}[mine]
    return {"labels": {"service": mine}, **rules}


def test_pods_that_are_spread_or_keep_apart_are_repaired_and_never_refused() -> None:
    better = 0
    for seed in range(12):
        instance = full_cluster(seed, 8, 4, running=80, pending=20, moves=9, said=services)
        incumbent = Witness(instance, tiers_of(instance), instance.current)
        repair(incumbent, BRIEF, seed)
        better += incumbent.values < values(instance, instance.current)
    assert better >= 4


def test_no_pod_leaves_a_rack_that_is_then_too_empty_for_one_that_has_come() -> None:
    """One comes to n2, so that n1 must keep the one that could make room for another."""
    nodes = [{**gpu_node(f"n{i}", 1, 8), "labels": {"rack": f"r{i}"}} for i in (1, 2, 3)]
    running = [
        gpu_job("leaves", 650, 1, ("n1", (0,))),
        gpu_job("x", 190, 1, ("n2", (0,))),
        gpu_job("y", 350, 1, ("n3", (0,))),
    ]
    pending = [gpu_job("comes", 810, 1), gpu_job("large", 1000, 1)]
    for each in (*running, pending[0]):
        each["podSets"][0]["labels"] = {"service": "s"}
        each["podSets"][0]["movable"] = each["name"] == "leaves"
    term = {"topologyKey": "rack", "labelSelector": {"matchLabels": {"service": "s"}}}
    pending[0]["podSets"][0]["topologySpreadConstraints"] = [{"maxSkew": 1, **term}]
    for skew, left in ((1, (1000, 0)), (2, (0, 1))):
        pending[0]["podSets"][0]["topologySpreadConstraints"][0]["maxSkew"] = skew
        instance = asked(nodes, running, pending, 1)
        incumbent = Witness(instance, tiers_of(instance), instance.current)
        repair(incumbent, BRIEF)
        assert incumbent.values == left


def repair_bound(
    instance: Instance, tiers: tuple[Tier, ...], values: tuple[int, ...], turns: int = TURNS
) -> int:
    """What prices prove of the first tier, or arithmetic where that is more."""
    found = change_prices(instance, tiers, values, 0, lambda: False, turns)
    floor = bounds(instance, tiers[:1], values[:1])[0]
    return floor if found is None else max(floor, found.bound)


def test_no_plan_beats_the_bound_nor_does_the_bound_say_nothing() -> None:
    """Against all placements of tiny clusters, and against arithmetic."""
    beaten = tight = 0
    for seed in range(40):
        instance = full_cluster(seed, nodes=2, gpus=2, running=5, pending=2, moves=seed % 3)
        tiers = tiers_of(instance)
        now = values(instance, instance.current)
        value, _ = best(instance, now)
        least = now[0] if value is None else value[0]
        proved = repair_bound(instance, tiers, now, turns=40)
        assert proved <= least
        beaten += proved > bounds(instance, tiers, now)[0]
        tight += proved == least
    assert beaten >= 10
    assert tight >= 10


def test_the_bound_holds_for_any_prices() -> None:
    for seed in range(12):
        instance = full_cluster(seed, nodes=2, gpus=2, running=5, pending=2, moves=2)
        tiers = tiers_of(instance)
        now = values(instance, instance.current)
        value, _ = best(instance, now)
        least = now[0] if value is None else value[0]
        for gain in (0, now[0]):
            for turns in (1, 2, 5, 13):
                assert repair_bound(instance, tiers, (now[0] - gain, 0), turns=turns) <= least


def test_without_a_limit_of_moves_or_with_evictions_the_bound_is_that_of_arithmetic() -> None:
    instance = full_cluster(2, nodes=2, gpus=2, running=5, pending=2, moves=0)
    tiers = tiers_of(instance)
    now = values(instance, instance.current)
    assert repair_bound(instance, tiers, now) > bounds(instance, tiers, now)[0]
    for update in ({"moves": None}, {"evictions": None}):
        limits = instance.model.limits.model_copy(update=update)
        other = replace(instance, model=instance.model.model_copy(update={"limits": limits}))
        assert repair_bound(other, tiers, now) == bounds(other, tiers, now)[0] < now[0]


def test_nothing_is_promised_where_nothing_waits_or_nothing_may_move() -> None:
    nodes = [gpu_node("n1", 1, 8)]
    run = gpu_job("a", 320, 1, ("n1", (0,)))
    for running, pending in (
        ([run], []),
        ([{**run, "movable": False}], [gpu_job("new", 1000, 1)]),
        ([run], [gpu_job("new", 0, 20)]),
    ):
        instance = asked(nodes, running, pending, 1)
        assert not promising(instance, instance.current, tiers_of(instance))
        assert repaired(instance) is instance.current


@pytest.mark.data
def test_half_a_percent_of_moves_allocates_most_of_what_it_can() -> None:
    folder = os.environ.get("KANTOPT_DATA")
    if not folder or not (Path(folder) / "openb").is_dir():
        pytest.skip("KANTOPT_DATA does not name a folder with openb")
    case = next(case for case in openb.cases(Path(folder)) if case.instance == "repair-fgd")
    documents = case.make()
    instance = build_instance(
        documents.snapshot, documents.pending, openb.model("moves-0.5")(documents)
    )
    tiers = tiers_of(instance)
    now = values(instance, instance.current)
    found: list[Placement] = []
    placement = improve(
        instance,
        instance.current,
        tiers,
        UNLIMITED,
        found=found.append,
        enough=lambda values: values < now,
    )
    after = values(instance, placement)
    assert check(instance, placement) == []
    assert sequence(instance, placement) is not None
    ceiling = now[0] - repair_bound(instance, tiers, after, turns=15)
    assert now[0] - after[0] >= 30_000
    assert ceiling <= 46_000


def test_rows_grow_as_pods_come_to_new_places(monkeypatch: pytest.MonkeyPatch) -> None:
    instance = full_cluster(4, 8, 2, 40, 12, 6)
    expected = repaired(instance)
    assert expected != instance.current
    monkeypatch.setattr("kantopt.search.repair.board._MORE", 1)
    assert repaired(instance) == expected
