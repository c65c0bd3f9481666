"""Column generation over contents: bounds that hold, prices that are exact, placements as said."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.solver import Effort
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Metric
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.slots.generation import Generation
from kantopt.search.techniques.content_columns import slots
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from kantopt.verify.slots.pieces import pieces_of
from kantopt.verify.slots.pricing import Prices, Pricing
from kantopt.verify.slots.program import Program, program_of
from kantopt.verify.slots.rooms import Counts, Rooms, rooms_of
from scripts.bench import vm_rescheduling
from tests.campaign import some
from tests.generate import random_instance
from tests.oracle import best
from tests.questions import model, question
from tests.solved import solved
from tests.vm_questions import vm_question

DATA = os.environ.get("KANTOPT_DATA")
needs_data = pytest.mark.skipif(DATA is None, reason="needs third-party data: KANTOPT_DATA unset")
SEEDS = 120
BLOCKS = 2


@cache
def optimum(seed: int, of: str = "free") -> tuple[int, ...]:
    """Best values of a question about virtual machines."""
    value, _ = best(vm_question(seed, of=of))
    assert value is not None
    return value


def desk_of(instance: Instance, work: float | None = None) -> Desk:
    line = Line(found=lambda _: None, bound=lambda _: None, note=lambda _: None)
    budget = Budget(Deadline(None), workers=1, work=work)
    return Desk(instance, tiers_of(instance), instance.current, (), budget, line)


def parts(instance: Instance, t: int) -> tuple[Program, Rooms]:
    tiers = tiers_of(instance)
    program = program_of(instance, tiers, measure(instance, instance.current, tiers), t)
    assert program is not None
    rooms = rooms_of(program)
    assert rooms is not None
    return program, rooms


def bounds(instance: Instance, values: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    """Tiers with the bounds that all rounds prove for plans no worse than some values above."""
    for t in range(len(values)):
        program = program_of(instance, tiers_of(instance), values, t)
        rooms = None if program is None else rooms_of(program)
        if program is None or rooms is None:
            continue
        generation = Generation(program, rooms)
        while not generation.ended:
            generation.round()
        yield t, generation.bound


@pytest.mark.parametrize("of", ["free", "in use"])
@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_no_bound_on_virtual_machines_exceeds_the_optimum(block: int, of: str) -> None:
    tight = checked = 0
    for seed in range(block, SEEDS, BLOCKS):
        instance = vm_question(seed, of=of)
        expected = optimum(seed, of)
        for t, bound in bounds(instance, expected):
            checked += 1
            tight += bound == expected[t]
            assert bound <= expected[t], f"seed {seed}: {tiers_of(instance)[t].name}"
    assert checked >= 80
    assert tight >= 0.8 * checked


@pytest.mark.parametrize("of", ["free", "capacity", "in use"])
@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_a_cordoned_machine_leaves_bounds_valid_and_an_empty_one_leaves_them_as_they_are(
    block: int, of: str
) -> None:
    tight = checked = 0
    for seed in range(block, SEEDS, BLOCKS):
        expected, _ = best(cordoned := vm_question(seed, cordoned="n1", of=of))
        assert expected is not None
        for t, bound in bounds(cordoned, expected):
            checked += 1
            tight += bound == expected[t]
            assert bound <= expected[t], f"seed {seed}"
        plain, more = vm_question(seed, of=of), vm_question(seed, also="x", cordoned="x", of=of)
        value, _ = best(plain)
        assert value is not None
        assert dict(bounds(more, value)) == dict(bounds(plain, value)), f"seed {seed}"
    assert checked >= 80
    assert tight >= 0.7 * checked


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_no_bound_on_any_question_exceeds_the_optimum(block: int) -> None:
    checked = 0
    for seed in range(block, 600, BLOCKS):
        instance = random_instance(seed)
        tiers = tiers_of(instance)
        counted = (Metric.FRAGMENT_RATE, Metric.NODES_IN_USE)
        if not any(tier.metric in counted for tier in tiers):
            continue
        expected, _ = best(instance)
        if expected is None:
            continue
        for t, bound in bounds(instance, expected):
            checked += 1
            assert bound <= expected[t], f"seed {seed}: {tiers[t].name}"
    assert checked >= 10


@pytest.mark.parametrize("of", ["free", "in use"])
@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_the_stage_finds_legal_placements_and_what_it_proves_is_the_optimum(
    block: int, of: str
) -> None:
    proved = 0
    for seed in range(block, SEEDS, BLOCKS):
        instance = vm_question(seed, of=of)
        desk = desk_of(instance, work=1.0 if seed % 3 else None)
        slots(desk, Deadline(None))
        expected = optimum(seed, of)
        found = desk.incumbent
        assert found.values == measure(instance, found.placement, tiers_of(instance)) >= expected
        assert check(instance, found.placement) == []
        if desk.incumbent.optimal:
            assert desk.incumbent.values == expected, f"seed {seed}"
            proved += expected < measure(instance, instance.current, tiers_of(instance))
    assert proved >= (5 if of == "in use" else 8)


@pytest.mark.parametrize("block", some(range(BLOCKS)))
def test_the_whole_model_finds_what_brute_force_finds(block: int) -> None:
    """Slots per zone, with the rounding that tightens them, under every kind of limit."""
    for seed in range(block, SEEDS, BLOCKS):
        instance = vm_question(seed)
        outcome = solved(instance, tiers_of(instance))
        assert outcome.bounds == optimum(seed), f"seed {seed}"


def cheapest(program: Program, rooms: Rooms, i: int, prices: Prices) -> int:
    """Least cost of a content of a node of class ``i``, by trying them all."""
    node = rooms.nodes[i]
    pieces = [rooms.pieces[p] for p in node.pieces]
    places = [(node.welcome, node.home), *((piece.welcome, piece.home) for piece in pieces)]
    choices = []
    for place, (welcome, home) in enumerate(places):
        widest = [piece.room for piece in (pieces if place == 0 else [pieces[place - 1]])]
        room = (min(r[0] for r in widest), min(r[1] for r in widest))
        choices.append(list(contents(program, welcome, home, room, prices)))
    least = None
    for chosen in itertools.product(*choices):
        (joint, cost), *each = chosen
        for piece, (load, own) in zip(pieces, each, strict=True):
            left = tuple(r - a - b for r, a, b in zip(piece.room, load, joint, strict=True))
            if min(left) < 0:
                break
            if program.tier.metric is Metric.NODES_IN_USE:
                lacking = int(piece.counts and left != piece.room)
            else:
                lacking = program.lacking(program.pieces.free(piece.beyond, left[0]))
            cost += own + prices.lacking * lacking
        else:
            least = cost if least is None else min(least, cost)
    assert least is not None
    return least


def contents(
    program: Program, welcome: tuple[int, ...], home: Counts, room: tuple[int, int], prices: Prices
) -> Iterator[tuple[tuple[int, int], int]]:
    """Loads and costs of all ways to keep pods and let others arrive within a room."""
    at_home = dict(home)
    kinds = sorted({*welcome, *at_home})

    def options(k: int) -> range:
        ask = program.kinds[k].ask.request
        most = min(r // a for r, a in zip(room, ask, strict=True) if a)
        return range(most + 1)

    for counts in itertools.product(*(options(k) for k in kinds)):
        load, cost = [0, 0], 0
        for k, pods in zip(kinds, counts, strict=True):
            kind = program.kinds[k]
            new = max(0, pods - at_home.get(k, 0))
            if new and k not in welcome:
                break
            still = not kind.allowed and kind.least == kind.count
            if still and pods < at_home.get(k, 0):
                break
            load = [load[r] + pods * kind.ask.request[r] for r in (0, 1)]
            cost += pods * int(prices.placed[k]) + new * int(prices.arrival[k])
        else:
            if load[0] <= room[0] and load[1] <= room[1]:
                yield (load[0], load[1]), cost


@pytest.mark.parametrize(
    ("of", "metric"), [("free", Metric.FRAGMENT_RATE), ("in use", Metric.NODES_IN_USE)]
)
def test_pricing_finds_the_cheapest_content_of_every_node(of: str, metric: Metric) -> None:
    compared = 0
    for seed in some(range(640), of=8):
        instance = vm_question(seed, of=of)
        tiers = tiers_of(instance)
        t = next(i for i, tier in enumerate(tiers) if tier.metric is metric)
        if pieces_of(instance, tiers[t]) is None:
            continue
        program, rooms = parts(instance, t)
        rng = np.random.default_rng(seed)
        prices = Prices(
            placed=rng.integers(-20, 10, len(program.kinds)),
            arrival=rng.integers(0, 8, len(program.kinds)),
            lacking=int(rng.integers(0, 12)),
        )
        pricing = Pricing(program, rooms)
        priced = pricing.best(prices)
        for i in range(len(rooms.nodes)):
            compared += 1
            standing = int(pricing.home[i] @ prices.placed)
            assert priced.costs[i] + standing == cheapest(program, rooms, i, prices), seed
            content = priced.content(i)
            cost = prices.lacking * content.lacking
            for kept, new in ((content.kept, content.new), *content.pieces):
                cost += sum(int(prices.placed[k]) * pods for k, pods in (*kept, *new))
                cost += sum(int(prices.arrival[k]) * pods for k, pods in new)
            assert cost == priced.costs[i] + standing, seed
    assert compared >= 150


def test_a_very_fine_second_resource_is_rounded_down_and_the_bound_holds() -> None:
    rng = random.Random(0)
    nodes, running = [], []
    for n in range(3):
        capacity = {"cpu": 8, "memory": 10_000_019}
        nodes.append(
            {"name": f"n{n}", "devices": [{"class": "zone", "count": 1, "capacity": capacity}]}
        )
        for i in range(2):
            asked = {"cpu": rng.choice((1, 2, 3)), "memory": 3_000_001 + 7 * rng.randrange(90_000)}
            podset = {
                "count": 1,
                "devices": [{"class": "zone", "count": 1, "requests": asked}],
                "assignments": [{"node": f"n{n}", "devices": [0]}],
            }
            running.append({"name": f"v{n}{i}", "podSets": [podset], "preemptible": False})
    objective = {"fragment_rate": {"resource": "cpu", "size": 4, "device_class": "zone"}}
    instance = question(nodes, running, []).instance(model(objective, "moves"))
    tiers = tiers_of(instance)
    pieces = pieces_of(instance, tiers[0])
    assert pieces is not None
    memory = [piece.room[1] for node in pieces.of_node for piece in node]
    assert max(memory) < 10_000
    assert min(ask.request[1] for ask in pieces.asks.values()) > 0
    expected, _ = best(instance)
    assert expected is not None
    for t, bound in bounds(instance, expected):
        assert bound <= expected[t]


def test_pods_on_some_but_not_all_of_many_pieces_have_no_program() -> None:
    devices = [{"class": "gpu", "count": 4, "capacity": {"cpu": 4}}]
    podset = {"count": 1, "devices": [{"class": "gpu", "count": 2, "requests": {"cpu": 1}}]}
    objective = {"fragment_rate": {"resource": "cpu", "size": 2, "device_class": "gpu"}}
    asked = question([{"name": "n", "devices": devices}], [], [{"name": "j", "podSets": [podset]}])
    instance = asked.instance(model(objective))
    assert program_of(instance, tiers_of(instance), (0,), 0) is None


def test_pods_that_take_nothing_of_the_pieces_have_no_program() -> None:
    devices = [{"class": "gpu", "count": 1, "capacity": {"gpu": 1}}]
    nodes = [{"name": name, "allocatable": {"cpu": 4}, "devices": devices} for name in "abc"]
    share = [{"class": "gpu", "requests": {"gpu": "400m"}}]
    running = [
        {"name": f"r{name}", "podSets": [{"count": 1, "devices": share, "assignments": [place]}]}
        for name in "abc"
        for place in ({"node": name, "devices": [0]},)
    ]
    instance = question(nodes, running, []).instance(model("nodes_in_use", "moves"))
    desk = desk_of(instance)
    slots(desk, Deadline(None))
    assert program_of(instance, tiers_of(instance), desk.incumbent.values, 0) is None


def test_choosing_repeatably_and_quickly_is_equally_good() -> None:
    for seed in range(30):
        instance = vm_question(seed)
        tiers = tiers_of(instance)
        t = next(i for i, tier in enumerate(tiers) if tier.metric is Metric.FRAGMENT_RATE)
        if pieces_of(instance, tiers[t]) is None:
            continue
        generation = Generation(*parts(instance, t))
        while not generation.ended:
            generation.round()
        found = [
            generation.choose(Effort(60.0, work=work), instance.current) for work in (None, 5.0)
        ]
        values = [measure(instance, p, tiers)[t] for p in found if p is not None]
        assert len(values) == 2
        assert values[0] == values[1], f"seed {seed}"


@pytest.mark.data
@needs_data
@pytest.mark.parametrize(("moves", "expected"), [(25, (63, 24)), (50, (50, 49))])
def test_the_vm_snapshot_is_proved_optimal(moves: int, expected: tuple[int, int]) -> None:
    """24 and 37 slots of 87, by the fewest moves."""
    made = vm_rescheduling.cases(Path(str(DATA)))[0].make()
    asked = vm_rescheduling.model(f"mnl-{moves}")(made)
    desk = desk_of(build_instance(made.snapshot, made.pending, asked))
    slots(desk, Deadline(None))
    assert desk.incumbent.values == expected
    assert desk.incumbent.optimal
