"""Nodes set apart: whose they are, how pods lie in them, and where the others go."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.errors import BadDataError
from kantopt.problem.build import build_instance
from kantopt.schema.zone import Zone
from kantopt.search.insertion.zones import placer_of
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.campaign import some
from tests.generate import random_documents
from tests.search.helpers import built, where
from tests.verify.world import Document, job, node, pods, question

ZONE: Document = {"nodes": "pool=inference", "jobs": ["default/web*"]}


def inside(name: str, **more: Any) -> Document:
    return node(name, labels={"pool": "inference"}, cpu=64, gpu=8, **more)


def outside(name: str, **more: Any) -> Document:
    return node(name, cpu=64, gpu=8, **more)


def test_replicas_of_a_service_lie_on_different_nodes_of_their_zone() -> None:
    """The zone's emptiest node would take all three, were replicas not kept apart."""
    nodes = [inside("z1"), inside("z2"), inside("z3"), outside("a")]
    jobs = [
        job("web-old", pods(count=2, gpu=3, minCount=0, on=["z1", "z2"])),
        job("web", pods(count=3, gpu=1, minCount=0)),
    ]
    instance = question(nodes, jobs, zone=ZONE)
    assert where(instance, built(instance, Strategy.E_SPREAD), "web") == {"z1": 1, "z2": 1, "z3": 1}


def test_a_second_replica_comes_to_a_node_only_when_all_have_one() -> None:
    instance = question(
        [inside("z1"), node("z2", labels={"pool": "inference"}, cpu=64, gpu=2)],
        [job("web", pods(count=4, gpu=1, minCount=0))],
        zone=ZONE,
    )
    assert where(instance, built(instance, Strategy.E_SPREAD), "web") == {"z1": 2, "z2": 2}


def test_training_packs_the_general_pool_and_stays_out_of_the_zone() -> None:
    nodes = [inside("z1"), outside("a"), outside("b")]
    jobs = [
        job("r", pods(gpu=4, on=["b"])),
        job("train", pods(count=2, gpu=2)),
        job("large", pods(count=3, gpu=8)),
    ]
    instance = question(nodes, jobs, zone=ZONE)
    placement = built(instance, Strategy.E_SPREAD)
    assert where(instance, placement, "train") == {"b": 2}
    assert where(instance, placement, "large") == {}, "the empty node of the zone is not for it"


def test_what_the_zone_cannot_hold_overflows_into_the_general_pool() -> None:
    """Two of five replicas find no room in the zone: they go where the pool is in use."""
    nodes = [inside("z1"), outside("a"), outside("b")]
    jobs = [
        job("web-old", pods(gpu=5, on=["z1"])),
        job("r", pods(gpu=2, on=["b"])),
        job("web", pods(count=5, gpu=1, minCount=0)),
    ]
    instance = question(nodes, jobs, zone=ZONE)
    assert where(instance, built(instance, Strategy.E_SPREAD), "web") == {"b": 2, "z1": 3}


def test_a_gang_that_the_zone_cannot_hold_goes_elsewhere_whole_if_it_can() -> None:
    nodes = [inside("z1"), outside("a"), outside("b")]
    jobs = [job("web-old", pods(gpu=5, on=["z1"])), job("web", pods(count=4, gpu=1))]
    instance = question(nodes, jobs, zone=ZONE)
    assert where(instance, built(instance, Strategy.E_SPREAD), "web") == {"a": 4}
    both = question([*nodes[:1], node("a", cpu=9, gpu=1)], jobs, zone=ZONE)
    assert where(both, built(both, Strategy.E_SPREAD), "web") == {"a": 1, "z1": 3}


def test_elastic_members_find_room_in_the_zone_first() -> None:
    nodes = [inside("z1"), outside("a")]
    web = job("web", pods(count=9, minCount=2, gpu=1))
    instance = question(nodes, [web], zone=ZONE)
    assert where(instance, built(instance, Strategy.E_SPREAD), "web") == {"a": 1, "z1": 8}


@pytest.mark.parametrize("strategy", list(Strategy))
def test_every_strategy_leaves_the_zone_to_those_it_is_for(strategy: Strategy) -> None:
    nodes = [inside("z1"), outside("a")]
    jobs = [job("web", pods(gpu=1)), job("train", pods(gpu=1))]
    instance = question(nodes, jobs, zone=ZONE)
    placement = built(instance, strategy)
    assert where(instance, placement, "web") == {"z1": 1}
    assert where(instance, placement, "train") == {"a": 1}


def test_the_zone_has_the_strategy_that_it_names() -> None:
    nodes = [inside("z1"), inside("z2")]
    jobs = [
        job("web-old", pods(gpu=3, on=["z2"])),
        job("web", pods(count=3, gpu=1, minCount=0)),
    ]
    instance = question(nodes, jobs, zone={**ZONE, "strategy": "most-allocated"})
    assert where(instance, built(instance, Strategy.E_SPREAD), "web") == {"z2": 3}


def test_daemons_are_not_barred_from_a_zone() -> None:
    daemon = job("daemon", pods(count=2, minCount=0, cpu=60), daemon=True)
    instance = question([inside("z1"), outside("a")], [daemon], zone=ZONE)
    assert where(instance, built(instance), "daemon") == {"a": 1, "z1": 1}


def test_jobs_may_come_one_by_one_as_in_a_simulation() -> None:
    instance = question(
        [inside("z1"), outside("a")],
        [job("web", pods(gpu=1)), job("train", pods(count=9, gpu=1))],
        zone=ZONE,
    )
    state = State(instance)
    placer = placer_of(state, Strategy.E_BINPACK)
    assert placer.place(instance.job_index["default/web"])
    assert not placer.place(instance.job_index["default/train"]), "nine GPUs, eight of them free"
    assert where(instance, state.placement(), "web") == {"z1": 1}


def test_a_zone_of_a_label_that_no_node_has_is_refused() -> None:
    with pytest.raises(BadDataError) as error:
        question([outside("a")], [job("web")], zone=ZONE)
    assert 'zone.nodes: found "pool", expected a label that nodes have' in str(error.value)


@pytest.mark.parametrize("seeds", [range(k, k + 20) for k in some(range(0, 100, 20))], ids=str)
def test_nobody_else_comes_to_a_zone_whatever_is_asked(seeds: range) -> None:
    barred = 0
    for seed in seeds:
        rng = random.Random(seed)
        snapshot, jobs, model = random_documents(seed)
        labels = sorted({f"{k}={v}" for n in snapshot.nodes for k, v in n.labels.items()})
        names = [each.name for each in (*snapshot.jobs, *jobs.jobs)]
        zone = Zone(nodes=rng.choice(labels), jobs=(rng.choice(names),))
        asked = model.model_copy(update={"zone": zone})
        instance = build_instance(snapshot, jobs.jobs, asked)
        placement = built(instance, Strategy.E_SPREAD, relocate=True)
        for podset, spots in zip(instance.podsets, placement.podsets, strict=True):
            came = {spot.node for spot in spots if spot not in podset.current}
            closed = {n for n in instance.zone_nodes if instance.is_barred(podset.index, n)}
            barred += len(closed)
            assert not came & closed, seed
    assert barred
