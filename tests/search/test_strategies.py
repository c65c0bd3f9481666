"""What each strategy is about, on clusters of two or three nodes."""

from __future__ import annotations

import random
from hashlib import blake2b
from math import log
from typing import Any, get_args

import numpy as np
import pytest

from kantopt.cli import options
from kantopt.problem.cluster import Spot
from kantopt.problem.tiers import Tier, tiers_of
from kantopt.schema.model import Metric
from kantopt.schema.zone import StrategyName
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.insertion.stranded import Stranded
from kantopt.search.portfolio import run_portfolio
from kantopt.search.state import State, rooms
from kantopt.search.strategy import DEFAULT_PORTFOLIO, Strategy
from kantopt.verify.metrics import measure
from tests.generate import random_instance
from tests.search.helpers import FOREVER, built, where
from tests.verify.world import GPU, Document, job, node, pods, question


def test_strategies_have_the_same_names_wherever_they_are_told() -> None:
    """Zones and policies know all but the one that needs a zone and the one for comparison."""
    named = {strategy.value for strategy in Strategy}
    assert {option.value for option in options.Strategy} == named
    told = {Strategy.E_SPREAD.value, Strategy.REVERSE_TRIM.value}
    assert set(get_args(StrategyName)) == named - told


def test_best_fit_leaves_the_smallest_piece() -> None:
    """The big node would be fuller (13 of 16), but 3 cores are left there, 2 of the small one's."""
    nodes = [node("big", cpu=16), node("small", cpu=8)]
    jobs = [job("r", pods(cpu=7, on=["big"])), job("j", pods(cpu=6))]
    instance = question(nodes, jobs)
    assert where(instance, built(instance, Strategy.BEST_FIT), "j") == {"small": 1}
    assert where(instance, built(instance, Strategy.MOST_ALLOCATED), "j") == {"big": 1}


def test_most_allocated_fills_the_fullest_in_percent_and_least_allocated_the_emptiest() -> None:
    nodes = [node("empty", cpu=8), node("half", cpu=8)]
    jobs = [job("r", pods(cpu=4, on=["half"])), job("j", pods(cpu=2))]
    instance = question(nodes, jobs)
    assert where(instance, built(instance, Strategy.MOST_ALLOCATED), "j") == {"half": 1}
    assert where(instance, built(instance, Strategy.LEAST_ALLOCATED), "j") == {"empty": 1}


def test_least_allocated_spreads_a_job_node_by_node() -> None:
    instance = question([node("a", cpu=4), node("b", cpu=4)], [job("j", pods(count=4, cpu=1))])
    spread = built(instance, Strategy.LEAST_ALLOCATED)
    assert where(instance, spread, "j") == {"a": 2, "b": 2}
    packed = built(instance, Strategy.MOST_ALLOCATED)
    assert where(instance, packed, "j") == {"a": 4}


def test_e_binpack_takes_the_fullest_group_that_holds_the_job_whole() -> None:
    """Rack 1 has 3 GPUs left, rack 2 has 8, rack 3 has 16: a job of 4 goes to rack 2."""
    nodes = [
        node("a1", cpu=64, gpu=4, rack="b/1"),
        node("a2", cpu=64, gpu=4, rack="b/1"),
        node("b1", cpu=64, gpu=8, rack="b/2"),
        node("b2", cpu=64, gpu=8, rack="b/2"),
        node("c1", cpu=64, gpu=8, rack="b/3"),
        node("c2", cpu=64, gpu=8, rack="b/3"),
    ]
    jobs = [
        job("r", pods(count=2, gpu=4, on=["a1", "b1"])),
        job("t", pods(gpu=1, on=["a2"])),
        job("u", pods(gpu=4, on=["b2"])),
        job("j", pods(count=4, gpu=1)),
    ]
    instance = question(nodes, jobs)
    chosen = where(instance, built(instance, Strategy.E_BINPACK), "j")
    assert chosen == {"b1": 4}, "one node of rack 2 holds all four"


def test_fgd_keeps_the_gpu_whole_that_the_mix_wants_whole() -> None:
    """Most pods want a whole GPU: half a GPU belongs where a GPU is broken already."""
    devices = [{"class": "gpu", "count": 1, "capacity": {"gpu": 1}}]
    nodes = [node("whole", devices=devices), node("broken", devices=devices)]

    def share(milli: int, **more: Any) -> Document:
        return pods(cpu=0, devices=[{"class": "gpu", "requests": {"gpu": f"{milli}m"}}], **more)

    jobs = [
        job("r", share(400, on=[("broken", 0)])),
        job("j", share(500), priority=5),
        *(job(f"w{i}", share(1000)) for i in range(3)),
    ]
    instance = question(nodes, jobs)
    assert where(instance, built(instance, Strategy.FGD), "j") == {"broken": 1}


@pytest.mark.parametrize("seed", range(40))
def test_stranded_gpus_of_arrays_are_those_of_the_metric(seed: int) -> None:
    """One pod more, by the metric's own arithmetic, on every node and the best of its devices."""
    instance = random_instance(seed)
    state = State(instance)
    stranded = Stranded(state, instance.mix)

    tier = Tier(Metric.STRANDED_GPUS, "milli-GPU x mix", mix=instance.mix)

    def total() -> int:
        return measure(instance, state.placement(), (tier,))[0]

    for podset in instance.podsets:
        shape = state.shape[podset.index]
        for n in range(len(instance.nodes)):
            if rooms(state, shape, 1, np.array([n]))[0] < 1:
                continue
            before = total()
            increase = int(stranded.increase(shape, np.array([n]))[0])
            devices = stranded.best_devices(podset.index, n)
            assert devices is not None
            mark = state.mark()
            state.add(podset.index, Spot(n, devices), 1)
            assert total() - before == increase
            state.undo(mark)


def stream(seed: int, *labels: object) -> random.Random:
    """Random numbers of one label of a published benchmark instance."""
    digest = blake2b(digest_size=16)
    digest.update(seed.to_bytes(16, "big"))
    for label in labels:
        digest.update(b"\0" + str(label).encode())
    return random.Random(int.from_bytes(digest.digest(), "big"))


def replica_sets(seed: int, nodes: int, pods_wanted: int) -> list[tuple[int, int, int]]:
    """Replicas, milli-cores and bytes of each ReplicaSet."""
    sizes, left, rng = [], pods_wanted, stream(seed, "rs-sizes")
    while left > 0:
        top = min(4, left)
        sizes.append(rng.randint(1 if left <= 4 else min(1, top), top))
        left -= sizes[-1]
    cpu, memory = stream(seed, "rs-cpu"), stream(seed, "rs-mem")
    cpus = [cpu.randint(100, 1000) for _ in sizes]
    memories = [memory.randint(10**8, 10**9) for _ in sizes]
    return list(zip(sizes, cpus, memories, strict=True))


def test_kube_default_reproduces_a_worked_placement_pod_by_pod() -> None:
    """The published instance with check value, scored by a plain reading of the formulas."""
    sets = replica_sets(484806185843093489, 4, 16)
    assert sets == [
        (4, 427, 343966759),
        (2, 391, 390597870),
        (2, 828, 613089629),
        (4, 151, 549358279),
        (1, 553, 311363716),
        (3, 671, 700290895),
    ]
    cpu, memory = 1926, 2103397777
    nodes = [
        {"name": f"n{i}", "allocatable": {"cpu": f"{cpu}m", "memory": memory}} for i in range(4)
    ]
    jobs = [
        job(
            f"rs{i}",
            {"name": "main", "count": k, "minCount": 0, "requests": {"cpu": f"{c}m", "memory": m}},
        )
        for i, (k, c, m) in enumerate(sets)
    ]
    instance = question(nodes, jobs)
    placement = built(instance, Strategy.KUBE_DEFAULT, preempt=False, in_order=True)
    expected = plain_kube(sets, 4, cpu, memory)
    found = [where(instance, placement, f"rs{i}") for i in range(len(sets))]
    assert found == expected


def plain_kube(
    sets: list[tuple[int, int, int]], nodes: int, cpu: int, memory: int
) -> list[dict[str, int]]:
    """Place one pod at a time, every node scored from scratch."""
    used = [[0, 0] for _ in range(nodes)]
    result = []
    for replicas, c, m in sets:
        count = [0] * nodes
        for _ in range(replicas):
            able = [n for n in range(nodes) if used[n][0] + c <= cpu and used[n][1] + m <= memory]
            if not able:
                break
            raw = {n: round(count[n] * log(len(able) + 2) + 2) for n in able}
            most, least = max(raw.values()), min(raw.values())
            score = {}
            for n in able:
                x, y = used[n][0] + c, used[n][1] + m
                score[n] = (
                    ((cpu - x) * 100 // cpu + (memory - y) * 100 // memory) // 2
                    + int((1 - abs(x / cpu - y / memory) / 2) * 100)
                    + 2 * (100 * (most + least - raw[n]) // most)
                )
            best = max(able, key=lambda n: (score[n], -n))
            used[best][0] += c
            used[best][1] += m
            count[best] += 1
        result.append({f"n{n}": k for n, k in enumerate(count) if k})
    return result


def test_the_portfolio_keeps_the_best_and_stops_at_the_bound() -> None:
    """Three jobs fit only if the big one finds a node of its own, which packing leaves it."""
    nodes = [node("a", cpu=4), node("b", cpu=4)]
    jobs = [
        job("x", pods(cpu=2), priority=9),
        job("y", pods(cpu=2), priority=8),
        job("z", pods(cpu=4), priority=7),
    ]
    instance = question(nodes, jobs)
    tiers = tiers_of(instance)
    spread = built(instance, Strategy.LEAST_ALLOCATED)
    assert measure(instance, spread, tiers)[-1] == 1
    chosen = (Strategy.LEAST_ALLOCATED, Strategy.BEST_FIT, Strategy.FGD, Strategy.LOOKAHEAD)
    best = Incumbent(instance, tiers, instance.current)
    assert run_portfolio(best, FOREVER, chosen) == Strategy.BEST_FIT
    assert best.values == (0, 0, 0)
    another = Incumbent(instance, tiers, instance.current)
    assert run_portfolio(another, FOREVER, ()) in DEFAULT_PORTFOLIO


def test_gpu_resources_count_whatever_they_are_called() -> None:
    """A CPU-only pod keeps off the node with GPUs when packing by what is left over."""
    nodes = [node("gpus", cpu=8, gpu=8), node("plain", cpu=8)]
    instance = question(nodes, [job("j", pods(cpu=2))])
    assert GPU in instance.resources
    assert where(instance, built(instance, Strategy.BEST_FIT), "j") == {"plain": 1}
