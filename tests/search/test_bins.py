"""Nodes filled one by one to the last: contents, packings, choices, bounds and placements."""

from __future__ import annotations

import random
from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.bins.contents import SpentError, Work, nearly_full
from kantopt.search.bins.leaving import left_out
from kantopt.search.bins.packing import pack
from kantopt.search.bins.question import question as asked_of
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.engine.known import Bound
from kantopt.search.techniques.bin_completion import bins, choose
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from scripts.bench.models import bench_model
from scripts.bench.priority_matters import Cell, documents
from tests.oracle import best
from tests.verify.world import job, node, pods, question

ENOUGH = 10**8
Kinds = tuple[Any, Any]


def kinds(rng: random.Random, most: int) -> Kinds:
    """Requests of some kinds of pods, large ones first, and the number of pods of each."""
    asks = sorted(([rng.randrange(1, 9), rng.randrange(1, 9)] for _ in range(3)), key=max)[::-1]
    return np.array(asks), np.array([rng.randrange(1, most) for _ in asks])


def all_contents(counts: Any) -> Any:
    return [np.array(pods) for pods in product(*(range(n + 1) for n in counts))]


def test_all_contents_that_leave_next_to_nothing_are_found() -> None:
    found = 0
    for seed in range(60):
        rng = random.Random(seed)
        asks, counts = kinds(rng, 5)
        room, free = np.array([14, 12]), np.array([rng.randrange(5), rng.randrange(5)])
        first = rng.choice([None, 0, 1, 2])
        near, loads = nearly_full(asks, counts, room, free, Work(ENOUGH), first)
        expected = {
            tuple(pods.tolist())
            for pods in all_contents(counts)
            if ((room - free <= pods @ asks) & (pods @ asks <= room)).all()
            and (first is None or pods[first])
        }
        assert Counter(map(tuple, near.tolist())) == Counter(expected), seed
        assert (near @ asks == loads).all()
        found += len(expected)
    assert found > 20


def fits(asks: Any, counts: Any, rooms: list[Any]) -> bool:
    """Whether pods fit on nodes, by trying all contents of one node after the other."""
    if not rooms:
        return not counts.any()
    return any(
        fits(asks, counts - pods, rooms[1:])
        for pods in all_contents(counts)
        if (pods @ asks <= rooms[0]).all()
    )


def test_pods_are_packed_if_and_only_if_they_fit() -> None:
    answers = Counter[bool]()
    for seed in range(80):
        rng = random.Random(seed)
        asks, counts = kinds(rng, 4)
        total = counts @ asks
        nodes = [rng.randrange(1, 3), rng.randrange(2)]
        share = rng.choice([1.0, 1.1, 1.3]) / sum(nodes)
        rooms = np.array([np.ceil(total * share), np.ceil(total * share * 1.2)]).astype(np.int64)
        found = pack(asks, counts, rooms, nodes, Work(ENOUGH))
        each = [room for room, n in zip(rooms, nodes, strict=True) for _ in range(n)]
        assert (found is not None) == fits(asks, counts, each), seed
        answers[found is not None] += 1
        if found is not None:
            assert (sum(np.array(filled.pods) for filled in found) == counts).all()
            used = Counter(filled.node_class for filled in found)
            assert all(used[c] <= n for c, n in enumerate(nodes))
            for filled in found:
                assert (np.array(filled.pods) @ asks <= rooms[filled.node_class]).all()
    assert min(answers[True], answers[False]) > 9


def test_pods_are_left_out_in_every_way_to_which_nothing_can_be_added() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        asks, counts = kinds(rng, 4)
        weights = [rng.randrange(1, 4) for _ in counts]
        tiers, most = (range(1), range(1, 3)), [rng.randrange(3), rng.randrange(5)]
        short = np.array([rng.randrange(12), rng.randrange(12)])

        def weighs(out: Any, weights: list[int] = weights) -> list[int]:
            return [sum(weights[g] * int(out[g]) for g in tier) for tier in tiers]  # noqa: B023

        def full(out: Any) -> bool:
            return all(
                out[g] == counts[g] or weigh + weights[g] > limit  # noqa: B023
                for tier, weigh, limit in zip(tiers, weighs(out), most, strict=True)  # noqa: B023
                for g in tier
            )

        expected = [
            tuple(out.tolist())
            for out in all_contents(counts)
            if all(w <= m for w, m in zip(weighs(out), most, strict=True))
            and full(out)
            and (out @ asks >= short).all()
        ]
        found = left_out(weights, asks, counts, tiers, most, short, Work(ENOUGH))
        assert Counter(tuple(out.tolist()) for out in found) == Counter(expected), seed


def test_work_ends() -> None:
    asks, counts = np.array([[5, 1], [3, 3]]), np.array([40, 40])
    with pytest.raises(SpentError):
        nearly_full(asks, counts, np.array([100, 100]), np.array([100, 100]), Work(10))


def desk_of(instance: Instance, start: Placement) -> tuple[Desk, list[Placement], list[Bound]]:
    found: list[Placement] = []
    bounds: list[Bound] = []
    line = Line(found=found.append, bound=bounds.append, note=lambda _: None)
    return (
        Desk(instance, tiers_of(instance), start, (), Budget(Deadline(None)), line),
        found,
        bounds,
    )


def crowd(seed: int) -> Instance:
    """Draw three nodes of two kinds with pods of two priorities, some of them running."""
    rng = random.Random(seed)
    nodes = [node("a", cpu=6, gpu=6), node("b", cpu=6, gpu=6), node("c", cpu=7, gpu=5)]
    free = {each["name"]: [6, 6] for each in nodes} | {"c": [7, 5]}
    jobs = []
    for k in range(4):
        cpu, gpus, count = rng.randrange(1, 5), rng.randrange(1, 5), rng.randrange(1, 3)
        more: dict[str, Any] = {"priority": rng.randrange(1, 3)}
        name = rng.choice("abc")
        place = {}
        if free[name][0] >= cpu * count and free[name][1] >= gpus * count and rng.random() < 0.6:
            free[name] = [free[name][0] - cpu * count, free[name][1] - gpus * count]
            place = {"on": [name] * count}
            more["movable"] = rng.random() < 0.8
        asked = pods(count=count, cpu=cpu, gpu=gpus, minCount=0, **place)
        jobs.append(job(f"j{k}", asked, **more))
    objectives: list[Any] = [{"unplaced": {"by": "priority", "unit": "pod"}}, "evictions", "moves"]
    return question(nodes, jobs, objectives=objectives)


def test_bounds_are_below_the_optimum_and_placements_legal() -> None:
    closed = bettered = 0
    for seed in range(60):
        instance = crowd(seed)
        value, _ = best(instance)
        assert value is not None
        start = instance.current
        assert not check(instance, start)
        desk, found, bounds = desk_of(instance, start)
        bins(desk, Deadline(None))
        for bound in bounds:
            if all(v <= lock for v, lock in zip(value[: bound.tier], bound.locks, strict=True)):
                assert bound.bound <= value[bound.tier], seed
        for placement in found:
            assert not check(instance, placement), seed
            assert measure(instance, placement, desk.tiers) >= value
        closed += len(bounds)
        bettered += bool(found)
    assert closed > 5
    assert bettered > 5


@pytest.mark.parametrize(
    ("name", "cell", "seed", "left"),
    [
        ("placement-first", Cell(4, 4, 1, 105), 6452900031824671063, 3),
        ("placement-first", Cell(4, 8, 1, 105), 3394979529978938239, 2),
        ("placement-first", Cell(16, 4, 1, 100), 7309940385334237743, 1),
        ("placement-first", Cell(8, 8, 1, 105), 484806185843093489, 2),
        ("placement-first-strict", Cell(4, 4, 2, 100), 484806185843093489, 1),
    ],
)
def test_few_pods_on_equal_nodes_are_settled_at_once(
    name: str, cell: Cell, seed: int, left: int
) -> None:
    """The first two were not proved in a second, the next two not placed so well in ten."""
    made = documents(cell, seed)
    instance = build_instance(made.snapshot, made.pending, bench_model(name, counts=True))
    desk, _, _ = desk_of(instance, instance.current)
    bins(desk, Deadline(None))
    assert desk.incumbent.values[-3] == left
    assert desk.incumbent.floors[-3] == left


def test_contents_are_chosen_that_place_the_most() -> None:
    """All contents are listed: of one tier, given the one above, as much is placed as fits."""
    chosen = 0
    for seed in range(40):
        instance = crowd(seed)
        tiers = tiers_of(instance)
        asked = asked_of(instance, tiers[:2])
        if asked is None or len(asked.tiers) < 2:
            continue
        most = [int(asked.counts[asked.tiers[0]].sum())]
        while most[0]:
            try_less = asked.fill([most[0] - 1, ENOUGH], Work(ENOUGH))
            if try_less is None:
                break
            most[0] -= 1
        least = next(k for k in range(ENOUGH) if asked.fill([*most, k], Work(ENOUGH)) is not None)
        there = [int(asked.counts[tier].sum()) for tier in asked.tiers]
        must = [there[0] - most[0], 0]
        filled = asked.choose(must, 1.0, 60.0, Work(ENOUGH))
        assert filled is not None
        pods = sum(np.array(full.pods) for full in filled)
        left = asked.counts - pods
        assert (left >= 0).all()
        assert left[asked.tiers[0]].sum() <= most[0], seed
        assert left[asked.tiers[1]].sum() == least, seed
        for full in filled:
            assert (np.array(full.pods) @ asked.asks <= asked.rooms[full.node_class]).all()
        chosen += 1
    assert chosen > 5


def test_a_choice_places_what_no_pod_by_pod_search_does() -> None:
    """Four pods stayed out after ten seconds; three do, and the whole has room for no more."""
    made = documents(Cell(16, 4, 1, 105), 7309940385334237743)
    instance = build_instance(
        made.snapshot, made.pending, bench_model("placement-first", counts=True)
    )
    desk, _, _ = desk_of(instance, instance.current)
    choose(desk, Deadline.within(60))
    assert desk.incumbent.values[0] == desk.incumbent.floor(0) == 3


def test_some_of_many_nodes_are_chosen_for_while_the_others_stay_as_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kantopt.search.techniques.bin_completion.MOST_NODES", 6)
    made = documents(Cell(16, 4, 1, 105), 7309940385334237743)
    instance = build_instance(
        made.snapshot, made.pending, bench_model("placement-first", counts=True)
    )
    desk, found, _ = desk_of(instance, instance.current)
    before = desk.incumbent.values[0]
    choose(desk, Deadline.within(60))
    assert desk.incumbent.values[0] < before - 1
    assert not any(check(instance, placement) for placement in found)


def test_what_is_placed_elsewhere_meanwhile_is_not_looked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    single = job("s", pods(count=3, cpu=2, minCount=0), priority=1)
    instance = question([node("a", cpu=4)], [single], objectives=["unplaced"])
    _, placement = best(instance)
    assert placement is not None
    line = Line(lambda _: None, lambda _: None, lambda _: None, news=lambda: placement)
    start, budget = instance.current, Budget(Deadline(None))
    asked: list[Any] = []
    monkeypatch.setattr(
        "kantopt.search.techniques.bin_completion.question", lambda *args: asked.append(args)
    )
    bins(Desk(instance, tiers_of(instance), start, (), budget, line), Deadline(None))
    choose(Desk(instance, tiers_of(instance), start, (), budget, line), Deadline(None))
    assert not asked


def test_bounds_rise_by_whole_pods_not_by_units() -> None:
    """Nodes of 10 cores have room for 20, and for no two of three pods: one GPU stays out."""
    sizes = {"a": 6, "b": 6, "c": 8}
    single = [
        job(name, pods(cpu=cpu, gpu=1, minCount=0), priority=1) for name, cpu in sizes.items()
    ]
    nodes = [node(name, cpu=10, gpu=8) for name in "mn"]
    objectives: list[Any] = [{"unplaced": {"by": "priority", "unit": "gpu"}}]
    instance = question(nodes, single, objectives=objectives)
    desk, _, bounds = desk_of(instance, instance.current)
    bins(desk, Deadline(None))
    assert desk.incumbent.values[0] == 1000
    assert [bound.bound for bound in bounds] == [1000]


def test_nothing_is_asked_where_pods_go_together_share_devices_or_there_is_room_for_all() -> None:
    gang = job("g", pods(count=2, cpu=4), priority=1)
    single = job("s", pods(count=2, cpu=4, minCount=0), priority=1)
    share = [{"class": "gpu", "count": 1, "requests": {"gpu": "500m"}}]
    shares = job("d", pods(count=2, cpu=4, minCount=0, devices=share), priority=1)
    device = [{"class": "gpu", "count": 1, "capacity": {"gpu": 1}}]
    for wanted, cpu in ((gang, 5), (single, 8), (shares, 5)):
        instance = question([node("a", cpu=cpu, devices=device)], [wanted], objectives=["unplaced"])
        assert asked_of(instance, tiers_of(instance)) is None
    instance = question([node("a", cpu=5)], [single], objectives=["unplaced"])
    assert asked_of(instance, tiers_of(instance)) is not None
