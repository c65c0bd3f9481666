"""Room is gathered from many nodes, pods are chosen anew, and nothing is lost on the way."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.chains.chain import settle
from kantopt.search.chains.gather import gather, reunite
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.improve import promising
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.pairs import _meeting, carry_over, share_out
from kantopt.search.chains.scope import scope_of
from kantopt.search.chains.select import select
from kantopt.search.shapes import Ints
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.search.helpers import searching
from tests.verify.world import Document, job, node, placed, pods, question

OBJECTIVES = ({"unplaced": {"unit": "pod"}}, {"evictions": {"by": "all"}}, "moves")
COUNTS = {"priority": "counts"}
BRIEF = Deadline(1.0, deterministic=True)

improve = searching(chains)


def packed(instance: Instance) -> Packing:
    tiers = tiers_of(instance)
    scope = scope_of(instance, instance.current)
    return Packing(scope, tiers, measure(instance, instance.current, tiers), 0)


def never() -> bool:
    return False


def always() -> bool:
    return True


def crowd(
    seed: int,
    *,
    limits: dict[str, int] | None = None,
    nodes: Sequence[Document] = (),
    beside: Sequence[Document] = (),
) -> Instance:
    """Five nodes nearly full of pods of all sizes, and some that wait; beside other nodes and jobs
    of another pool."""
    rng = random.Random(seed)
    jobs = []
    free = {f"n{i}": [40, 40] for i in range(5)}
    for i in range(40):
        cpu, gpu = rng.randint(3, 12), rng.randint(3, 12)
        able = [name for name, (a, b) in free.items() if a >= cpu and b >= gpu]
        on = rng.sample(able, min(1, len(able)))
        for name in on:
            free[name][0] -= cpu
            free[name][1] -= gpu
        jobs.append(job(f"j{i}", pods(cpu=cpu, gpu=gpu, on=on, nodeSelector={"pool": "a"})))
    full = [node(name, cpu=40, gpu=40, labels={"pool": "a"}) for name in free]
    return question(
        [*full, *nodes], [*jobs, *beside], objectives=OBJECTIVES, rules=COUNTS, limits=limits
    )


def best_price(packing: Packing, nodes: tuple[int, int], wanted: Ints, moves: float) -> float:
    """The least price of all ways to share out two nodes, one after the other."""
    first, second = nodes
    groups = sorted({*packing.slot[first], *packing.slot[second]})
    on = [packing.on[g].get(first, 0) for g in groups]
    found = []
    for chosen in product((0, 1), repeat=len(groups)):
        gone = sum((a - b) * packing.ask[g] for g, a, b in zip(groups, on, chosen, strict=True))
        free = packing.free[:, first] + gone, packing.free[:, second] - gone
        stays = sum(
            packing.home[g].get(first if here else second, 0)
            for g, here in zip(groups, chosen, strict=True)
        )
        if (free[0] >= 0).all() and (free[1] >= 0).all():
            lack = packing.weight @ np.maximum(0, wanted - free[1])
            found.append(float(lack) - moves * stays)
    return min(found)


def price(packing: Packing, nodes: tuple[int, int], wanted: Ints, moves: float) -> float:
    """The price of two nodes as they are."""
    stays = sum(
        min(pods, packing.home[g].get(n, 0))
        for n in nodes
        for g in packing.slot[n]
        for pods in (packing.on[g][n],)
    )
    lack = packing.weight @ np.maximum(0, wanted - packing.free[:, nodes[1]])
    return float(lack) - moves * stays


@pytest.mark.parametrize("seed", range(6))
def test_no_way_to_share_out_two_nodes_is_better_than_the_one_taken(seed: int) -> None:
    packing, rng = packed(crowd(seed)), random.Random(seed)
    for moves in (0.0, 0.05, 1.0):
        first, second = rng.sample(range(5), 2)
        wanted: Ints = packing.ask[rng.randrange(packing.count)]
        expected = best_price(packing, (first, second), wanted, moves)
        changes = share_out(packing, first, second, wanted, packing.fixed_place, moves, rng)
        carry_over(packing, first, second, changes)
        assert price(packing, (first, second), wanted, moves) == pytest.approx(expected)


@pytest.mark.parametrize("seed", range(20))
def test_gathering_is_legal_and_places_more_or_changes_nothing(seed: int) -> None:
    instance = crowd(seed)
    tiers = tiers_of(instance)
    packing, rng = packed(instance), random.Random(seed)
    settle(packing, [], 0.0, None, never)
    for operator in (gather, select, gather, select):
        before, counts = packing.value(), packing.snapshot()
        if operator(packing, rng, never):
            assert packing.value() < before
        else:
            assert packing.snapshot() == counts
        placement = packing.scope.placement(packing.snapshot())
        assert check(instance, placement) == []
        assert measure(instance, placement, tiers) == packing.value()[1:]


def test_gathering_places_pods_that_chains_cannot() -> None:
    more = 0
    for seed in range(20):
        packing, rng = packed(crowd(seed)), random.Random(seed)
        settle(packing, [], 0.0, None, never)
        more += any(operator(packing, rng, never) for operator in (gather, select) * 3)
    assert more >= 5


def test_a_pod_that_no_node_could_hold_misleads_nobody() -> None:
    huge = [job("huge", pods(count=2, cpu=1_000_000))]
    more = 0
    for seed in range(5):
        alone, beside = crowd(seed), crowd(seed, beside=huge)
        few, many = (
            measure(q, improve(q, q.current, tiers_of(q), BRIEF), tiers_of(q))
            for q in (alone, beside)
        )
        more += many[0] - few[0] - 2
    assert more <= 1


@pytest.mark.parametrize("waits", [False, True])
def test_room_that_another_pool_has_misleads_nobody(waits: bool) -> None:
    """Its pods ask for the same; or one waits there for more than is left on any node."""
    there = {"nodeSelector": {"pool": "b"}}
    nodes = [node(f"m{i}", cpu=40, gpu=40, labels={"pool": "b"}) for i in range(5)]
    running = [job(f"b{i}", pods(cpu=6, gpu=6, on=[f"m{i}"], **there)) for i in range(5)]
    large = [job(f"c{i}", pods(cpu=21, gpu=21, **there)) for i in range(5 + waits)]
    more = 0
    for seed in range(5):
        alone, beside = crowd(seed), crowd(seed, nodes=nodes, beside=[*running, *large])
        apart, both = (improve(q, q.current, tiers_of(q), BRIEF) for q in (alone, beside))
        unplaced = [
            measure(q, found, tiers_of(q))[0] for q, found in ((alone, apart), (beside, both))
        ]
        more += unplaced[1] - unplaced[0] - waits
    assert more <= 1


def test_where_nobody_waits_or_has_been_disturbed_chains_have_nothing_to_do_yet() -> None:
    nodes = [node(name, cpu=2) for name in "ab"]
    jobs = [job("x", pods(on=["a"])), job("y", pods(on=["b"]))]
    instance = question(nodes, jobs, objectives=OBJECTIVES)
    moved = placed(instance, x=["b"])
    assert promising(instance, instance.current)
    told: list[Placement] = []
    assert improve(instance, instance.current, tiers_of(instance), BRIEF) is instance.current
    improve(instance, moved, tiers_of(instance), BRIEF, found=told.append)
    assert told == [instance.current]


def test_what_moved_for_nothing_is_reunited() -> None:
    """x and y are on each other's node, full but for them: only a swap brings them home."""
    instance = question(
        [node("a", cpu=4), node("b", cpu=4)],
        [
            job("x", pods(cpu=2, on=["a"])),
            job("y", pods(cpu=2, on=["b"])),
            job("p", pods(cpu=2, on=["a"])),
            job("q", pods(cpu=2, on=["b"])),
        ],
        objectives=OBJECTIVES,
    )
    packing = packed(instance)
    swapped = packing.snapshot()
    swapped[0], swapped[1] = {1: 1}, {0: 1}
    packing.load(swapped)
    assert packing.moved == 2
    reunite(packing, random.Random(0))
    assert packing.moved == 0


def test_a_limit_on_moves_is_kept() -> None:
    for seed in range(10):
        packing, rng = packed(crowd(seed, limits={"moves": 2})), random.Random(seed)
        for operator in (gather, select):
            operator(packing, rng, never)
            assert packing.moved <= 2


def test_when_the_time_is_up_no_nodes_are_looked_at() -> None:
    for seed in range(10):
        packing, rng = packed(crowd(seed)), random.Random(seed)
        settle(packing, [], 0.0, None, never)
        gather(packing, rng, always)
        assert packing.looked == 0


def test_two_nodes_that_hold_more_than_they_have_share_nothing_out() -> None:
    """What the first may hold at most is then below what it must hold at the least."""
    ways = np.array([[0, 3, 6]], dtype=np.int64)
    left, right, loads = _meeting(ways, ways, np.array([7]), np.array([2]))
    assert (len(left), len(right), [len(load) for load in loads]) == (0, 0, [0])
    left, right, loads = _meeting(ways, ways, np.array([5]), np.array([7]))
    assert sorted(loads[0].tolist()) == [6, 6, 6]
