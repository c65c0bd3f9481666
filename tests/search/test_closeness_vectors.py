"""Where other schedulers document how gangs are kept close, the fast path finds the same.

Kueue: KEP 2724, Topology Aware Scheduling. KAI: its documentation of topology. NVL72: racks of 18
trays of 4 GPUs, in segments, as Slurm's block topology has them.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kantopt.problem.instance import Instance
from kantopt.search.strategy import Strategy
from tests.search.helpers import built, where
from tests.verify.world import Document, job, node, pods, question

STRATEGIES = pytest.mark.parametrize("strategy", list(Strategy), ids=str)


def racks(*free: int, gpu: int = 0, block: str = "b") -> list[Document]:
    """Racks of a single node with room for some pods of one core, or of one GPU."""
    return [
        node(f"{block}{i}", cpu=64 if gpu else k, gpu=k if gpu else 0, rack=f"{block}/{i}")
        for i, k in enumerate(free)
    ]


def trays(rack: str, count: int = 18) -> list[Document]:
    """A rack of NVL72: one domain of NVLink."""
    name = rack.replace("/", "-")
    return [node(f"{name}-{i:02d}", cpu=64, gpu=4, rack=rack) for i in range(count)]


def taken(rack: str, count: int) -> Document:
    """A job that has the first trays of a rack."""
    name = rack.replace("/", "-")
    on = [f"{name}-{i:02d}" for i in range(count)]
    return job(f"on-{name}", pods(count=count, gpu=4, on=on))


def by_rack(instance: Instance, strategy: Strategy, name: str = "j") -> dict[str, int]:
    """Pods of a job by rack."""
    labels = {n.name: f"{n.labels['block']}/{n.labels['rack']}" for n in instance.nodes}
    found: dict[str, int] = {}
    for on, k in where(instance, built(instance, strategy), name).items():
        found[labels[on]] = found.get(labels[on], 0) + k
    return found


def slices(size: int, **more: str) -> Mapping[str, object]:
    return {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": size, **more}


@STRATEGIES
@pytest.mark.parametrize("gpu", [0, 1])
def test_kueue_best_fit_of_slices_wastes_no_odd_pod(strategy: Strategy, gpu: int) -> None:
    """Room 6, 5, 4, 3, 2, slices of two: twelve pods take 6, 4 and 2, and no odd pod is left."""
    ask = pods(count=12, gpu=gpu, topologyRequest=slices(2))
    instance = question(racks(6, 5, 4, 3, 2, gpu=gpu), [job("j", ask)])
    assert by_rack(instance, strategy) == {"b/0": 6, "b/2": 4, "b/4": 2}


def test_kueue_least_free_capacity_is_most_allocated() -> None:
    """Of nodes of four, 3, 3, 2 and 1 are free: seven pods fill the fullest first."""
    free = {"a": 3, "b": 3, "c": 2, "d": 1}
    others = [job(f"r{n}", pods(cpu=4 - k, on=[n])) for n, k in free.items()]
    instance = question([node(n) for n in free], [*others, job("j", pods(count=7))])
    found = where(instance, built(instance, Strategy.MOST_ALLOCATED), "j")
    assert found == {"a": 3, "b": 1, "c": 2, "d": 1}


@STRATEGIES
@pytest.mark.parametrize("gpu", [0, 1])
def test_kai_packs_zones_and_fills_the_rack_with_most_room(strategy: Strategy, gpu: int) -> None:
    """Zones of 5 (racks 2, 1, 1, 1) and of 6 (2, 2, 2): three pods take 2 + 1 of the first."""
    nodes = racks(2, 1, 1, 1, gpu=gpu, block="x") + racks(2, 2, 2, gpu=gpu, block="y")
    close = {"required": "block", "preferred": "rack"}
    instance = question(nodes, [job("j", pods(count=3, gpu=gpu, topologyRequest=close))])
    assert by_rack(instance, strategy) == {"x/0": 2, "x/1": 1}


@STRATEGIES
def test_sixty_four_trays_go_into_four_racks_in_segments_of_sixteen(strategy: Strategy) -> None:
    """Of 18 trays 16 are taken, first in racks that have lost some already; 15 are too few."""
    nodes = [tray for r in range(6) for tray in trays(f"b/{r}")]
    used = [taken("b/1", 2), taken("b/3", 3), taken("b/4", 1)]
    ask = pods(count=64, gpu=4, topologyRequest=slices(16))
    instance = question(nodes, [*used, job("j", ask)])
    found = by_rack(instance, strategy)
    assert found == {"b/0": 16, "b/1": 16, "b/2": 16, "b/4": 16}


@STRATEGIES
def test_segments_in_one_block_need_racks_that_hold_them_whole(strategy: Strategy) -> None:
    """Block x has 17 + 15 trays free and one segment, block y 16 + 16 and two."""
    nodes = [tray for rack in ("x/0", "x/1", "y/0", "y/1") for tray in trays(rack)]
    used = [taken("x/0", 1), taken("x/1", 3), taken("y/0", 2), taken("y/1", 2)]
    ask = pods(count=32, gpu=4, topologyRequest=slices(16, required="block"))
    instance = question(nodes, [*used, job("j", ask)])
    assert by_rack(instance, strategy) == {"y/0": 16, "y/1": 16}


@STRATEGIES
def test_a_job_that_requires_a_domain_of_nvlink_gets_the_tightest(strategy: Strategy) -> None:
    nodes = [tray for r in range(3) for tray in trays(f"b/{r}")]
    used = [taken("b/1", 10), taken("b/2", 12)]
    ask = pods(count=8, gpu=4, topologyRequest={"required": "rack"})
    instance = question(nodes, [*used, job("j", ask)])
    assert by_rack(instance, strategy) == {"b/1": 8}
    larger = pods(count=19, gpu=4, topologyRequest={"required": "rack"})
    assert by_rack(question(nodes, [job("j", larger)]), strategy) == {}


@STRATEGIES
def test_small_segments_share_a_rack_as_far_as_they_fit_whole(strategy: Strategy) -> None:
    """Segments of four: 18 trays hold four of them; the fifth goes where least is left."""
    nodes = [tray for r in range(3) for tray in trays(f"b/{r}")]
    used = [taken("b/1", 10), taken("b/2", 13)]
    ask = pods(count=20, gpu=4, topologyRequest=slices(4))
    instance = question(nodes, [*used, job("j", ask)])
    assert by_rack(instance, strategy) == {"b/0": 16, "b/2": 4}
