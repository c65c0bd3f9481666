"""Nodes and domains emptied fast: whole or not at all, and never against a rule."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.state import State
from kantopt.search.tidy.gains import Gains
from kantopt.search.tidy.improve import tidy
from kantopt.search.tidy.vacate import Vacation
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.agreement.test_goals import with_goals
from tests.drafts import GPU
from tests.oracle import best
from tests.verify.world import HOST, Document, job, node, placed, pods, question

EMPTY: dict[str, Any] = {"nodes_in_use": {}}


def tidied(instance: Instance, start: Placement | None = None) -> tuple[int, ...]:
    """Best values that the fast path finds; all it finds is legal."""
    tiers, start = tiers_of(instance), start or instance.current
    values = [measure(instance, start, tiers)]

    def found(placement: Placement) -> bool:
        faults = check(instance, placement)
        assert not faults
        values.append(measure(instance, placement, tiers))
        return True

    tidy(instance, start, tiers, Deadline(None), 0, found)
    return min(values)


def asked(nodes: list[Document], jobs: list[Document], *goals: Any, **more: Any) -> Instance:
    return question(nodes, jobs, objectives=[*goals, "moves"], **more)


def test_the_cheapest_nodes_are_emptied_into_the_fullest() -> None:
    jobs = [
        job("big", pods(gpu=4, on=["a"])),
        job("two", pods(count=2, gpu=1, on=["b", "b"])),
        job("one", pods(gpu=2, on=["c"])),
    ]
    nodes = [node(name, gpu=8) for name in "abc"]
    assert tidied(asked(nodes, jobs, EMPTY)) == (1, 2)  # not the node with two small pods
    assert tidied(asked(nodes, jobs, {"nodes_in_use": {"target": 2}})) == (0, 1)
    assert tidied(asked(nodes, jobs, EMPTY, limits={"moves": 1})) == (2, 1)
    assert tidied(asked(nodes, jobs, EMPTY, limits={"arrivalsPerNode": 1})) == (2, 1)


def test_a_node_that_cannot_be_emptied_whole_is_left() -> None:
    jobs = [
        job("full", pods(gpu=7, on=["a"])),
        job("two", pods(count=2, gpu=1, on=["b", "b"])),
    ]
    assert tidied(asked([node("a", gpu=8), node("b", gpu=8)], jobs, EMPTY)) == (2, 0)


def victims(*jobs: Document, **more: Any) -> tuple[Instance, Placement]:
    """A gang of a and b gone as a whole for a pod that needs a; what others want is on b."""
    nodes = [node("a", cpu=1), node("b", cpu=2), node("c", cpu=2)]
    gang = pods(count=2, on=["a", "b"])
    instance = question(
        nodes,
        [
            job("gang", gang, priority=5, movable=False, disruptionMode="all"),
            job("new", pods(nodeSelector={HOST: "a"}), priority=9),
            job("stays", pods(on=["b"]), priority=5, movable=False),
            *jobs,
        ],
        **more,
    )
    start = placed(instance, gang=[], new=["a"])
    assert not check(instance, start)
    return instance, start


def test_nobody_moves_into_the_room_of_victims_that_it_may_not_evict() -> None:
    low = job("low", pods(on=["c"]), priority=1)
    instance, start = victims(low, objectives=[EMPTY, "moves"])
    assert tidied(instance, start) == (3, 0)


def test_nobody_is_placed_in_the_room_of_victims_that_it_may_not_evict() -> None:
    low = job("low", pods(count=2, cpu=1, minCount=2), priority=1)
    blocks = job("blocks", pods(on=["c"]), priority=1, movable=False)
    fit: Any = {"unplaced": {"unit": "job", "target": 0}}
    instance, start = victims(low, blocks, objectives=[fit, "moves"])
    assert tidied(instance, start) == (0, 1, 0)


def on_nodes(*loads: str) -> Instance:
    """Nodes of 8 GPUs to be emptied; each string says how many GPUs each pod of a node has."""
    names = "abcdefgh"[: len(loads)]
    alone = [
        job(f"{name}{i}", pods(gpu=int(gpus), on=[name]))
        for name, load in zip(names, loads, strict=True)
        for i, gpus in enumerate(load)
    ]
    return asked([node(name, gpu=8) for name in names], alone, EMPTY)


def test_orders_near_the_best_one_empty_more_or_move_fewer() -> None:
    assert tidied(on_nodes("43", "113111", "", "2", "4", "3")) == (3, 3)
    assert tidied(on_nodes("", "1", "212", "", "23", "23")) == (2, 3)


def test_others_make_way_only_in_the_last_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take long, and where the bounds are met mostly more moves."""
    ejecting: list[bool] = []
    run = Vacation.run

    def noted(*given: Any, eject: bool) -> tuple[int, ...]:
        ejecting.append(eject)
        return run(*given, eject=eject)

    monkeypatch.setattr(Vacation, "run", noted)
    tidied(on_nodes("43", "2", "1"))
    assert ejecting[0] < ejecting[-1]
    assert ejecting == sorted(ejecting)


def test_racks_are_emptied_and_empty_nodes_elsewhere_may_take_their_pods() -> None:
    nodes = [
        node(name, gpu=8, labels={"block": "x", "rack": name[0]})
        for name in ("a1", "a2", "b1", "b2")
    ]
    jobs = [
        job("a", pods(count=2, gpu=6, on=["a1", "a1"], minCount=0)),
        job("b", pods(gpu=8, on=["b1"])),
    ]
    goal: Any = {"domains_in_use": {"level": "rack", "target": 1}}
    assert tidied(asked(nodes, jobs, goal)) == (0, 1)


def test_a_gang_stays_in_its_required_rack() -> None:
    nodes = [
        node(name, gpu=8, labels={"block": "x", "rack": name[0]}) for name in ("a1", "a2", "b1")
    ]
    gang = pods(count=2, gpu=2, on=["a1", "a2"], topologyRequest={"required": "rack"})
    jobs = [job("gang", gang), job("other", pods(gpu=2, on=["b1"]))]
    goal: Any = {"domains_in_use": {"level": "rack", "target": 1}}
    assert tidied(asked(nodes, jobs, goal)) == (0, 1)  # the other job goes, not the gang
    assert tidied(asked(nodes, jobs, EMPTY)) == (1, 2)


def test_single_moves_make_slots_and_spare_stranded_gpus() -> None:
    nodes = [node(name, gpu=8) for name in "abc"]
    jobs = [job(name, pods(gpu=k, on=[name])) for name, k in (("a", 2), ("b", 5), ("c", 8))]
    slots: Any = {"fragment_rate": {"resource": GPU, "size": 8}}
    assert tidied(asked(nodes, jobs, slots)) == (0, 1)
    assert tidied(asked(nodes, jobs, slots, limits={"movesPerJob": 0})) == (1, 0)
    stranded: Any = {"stranded_gpus": {"mix": [{"requests": {GPU: 8}}]}}
    assert tidied(asked(nodes, jobs, stranded)) == (1000, 1)
    partly: Any = {"fragmented_nodes": {}}
    assert tidied(asked(nodes, jobs, partly)) == (1, 1)


def test_single_moves_make_slots_on_devices() -> None:
    zones = [{"class": "numa", "count": 2, "capacity": {"cpu": 4}}]
    nodes = [node("a", cpu=8, devices=zones), node("b", cpu=8, devices=zones)]
    need = [{"class": "numa", "requests": {"cpu": 2}}]
    jobs = [
        job(f"j{i}", pods(cpu=0, devices=need, on=[spot]))
        for i, spot in enumerate([("a", 0), ("a", 1), ("b", 0)])
    ]
    slots: Any = {"fragment_rate": {"resource": "cpu", "size": 4, "device_class": "numa"}}
    assert tidied(asked(nodes, jobs, slots)) == (0, 1)


def test_a_pod_does_not_move_to_the_node_that_it_is_on() -> None:
    """Without it the node would have a slot, and one more pod like it would take none."""
    jobs = [
        job("goes", pods(gpu=2, on=["a"])),
        job("stays", pods(gpu=4, on=["a"]), movable=False),
        job("full", pods(gpu=8, on=["b"]), movable=False),
    ]
    slots: Any = {"fragment_rate": {"resource": GPU, "size": 4}}
    instance = asked([node(name, gpu=8) for name in "ab"], jobs, slots)
    looks = iter([False] * 20)
    gains = Gains(State(instance, instance.current), tiers_of(instance)[0], lambda: False)
    assert gains.run(lambda: next(looks), None) == instance.current
    assert gains.state.mark() == 0


FIT: dict[str, Any] = {"unplaced": {"unit": "job", "target": 0}}


def test_room_for_a_gang_is_made_node_by_node() -> None:
    """A node whose pod finds no other place does not keep the others from being cleared."""
    nodes = [node(name, gpu=8) for name in "abcd"]
    jobs = [
        job("whole", pods(gpu=8, on=["a"])),
        *(job(name, pods(gpu=2, on=[name])) for name in "bcd"),
        job("gang", pods(count=2, gpu=8)),
    ]
    assert tidied(asked(nodes, jobs, FIT)) == (0, 2)
    assert tidied(asked(nodes, jobs, FIT, limits={"moves": 1})) == (1, 0)


def test_another_node_is_cleared_where_a_job_on_one_cannot_restart_elsewhere() -> None:
    nodes = [*(node(name, gpu=8, labels={"of": name}) for name in "abc"), node("e", gpu=7)]
    stays = pods(count=2, gpu=1, on=["a", "a"], nodeSelector={"of": "a"})
    jobs = [
        job("stays", stays, disruptionMode="all"),
        *(job(name, pods(count=3, gpu=1, minCount=0, on=[name] * 3)) for name in "bc"),
        job("gang", pods(count=2, gpu=8)),
    ]
    assert tidied(asked(nodes, jobs, FIT)) == (0, 6)


def test_room_for_a_gang_is_made_in_one_rack() -> None:
    nodes = [
        node(name, gpu=8, labels={"block": "x", "rack": name[0]}) for name in ("a1", "b1", "b2")
    ]
    gang = pods(count=2, gpu=6, topologyRequest={"required": "rack"})
    jobs = [job("one", pods(gpu=3, on=["b1"])), job("gang", gang)]
    assert tidied(asked(nodes, jobs, FIT)) == (0, 1)


def test_a_job_that_is_no_gang_is_placed_whole_or_not() -> None:
    nodes = [node("a", gpu=8), node("b", gpu=8)]
    loose = job("loose", pods(count=2, gpu=7, minCount=0))
    still = job("still", pods(gpu=2, on=["a"]), movable=False)
    assert tidied(asked(nodes, [still, loose], FIT)) == (1, 0)
    assert tidied(asked(nodes, [job("r", pods(gpu=1, on=["a"])), loose], FIT)) == (0, 0)


def test_on_random_questions_it_is_legal_and_never_better_than_the_best() -> None:
    gained = optimal = 0
    for seed in range(60):
        instance = with_goals(seed)
        if check(instance, instance.current):
            continue
        tiers = tiers_of(instance)
        before = measure(instance, instance.current, tiers)
        value, least = tidied(instance), best(instance)[0]
        assert least is not None
        assert least <= value <= before
        gained += value < before
        optimal += value == least
    assert gained >= 2
    assert optimal >= 20


def test_a_dear_node_is_emptied_before_a_cheap_one_and_into_a_cheaper_one_that_is_empty() -> None:
    jobs = [job("one", pods(gpu=2, on=["a"])), job("two", pods(count=2, gpu=1, on=["b", "b"]))]
    nodes = [node("a", gpu=2, price=1), node("b", gpu=8, price=9), node("c", gpu=2, price=2)]
    assert tidied(asked(nodes, jobs, "cost")) == (3_000_000, 2)
    assert tidied(asked(nodes, jobs, "cost", limits={"moves": 1})) == (9_000_000, 1)
    powers = [{**n, "idlePower": n["price"], "powerPerGpu": 1} for n in nodes]
    assert tidied(asked(powers, jobs, "energy")) == (7_000, 2)
    assert tidied(asked(powers, jobs, {"energy": {"target": 13}}))[1] <= 2


def test_single_moves_level_the_load_to_the_target_and_no_further() -> None:
    nodes = [node("a", cpu=10), node("b", cpu=10), node("c", cpu=20)]
    jobs = [job(f"r{i}", pods(cpu=2, on=["a"])) for i in range(5)]
    level = {"balance": {"resources": ["cpu"], "target": 60}}
    assert tidied(asked(nodes, jobs, level)) == (0, 2)
    assert tidied(asked(nodes, jobs, level, limits={"moves": 1})) == (200, 1)


def test_others_leave_a_node_for_a_pod_that_must_go() -> None:
    jobs = [
        job("whole", pods(gpu=8, on=["a"])),
        *(job(f"pair-{name}", pods(gpu=2, on=[name])) for name in "bc"),
        job("stays", pods(gpu=1, on=["c"]), movable=False),
    ]
    nodes = [node(name, gpu=8) for name in "abc"]
    assert tidied(asked(nodes, jobs, "undrained", drain=["a"])) == (0, 2)
    assert tidied(asked(nodes, jobs, "undrained", drain=["a"], limits={"moves": 1})) == (1, 0)


def test_others_leave_a_node_for_pods_of_one_that_is_emptied() -> None:
    jobs = [
        job("large", pods(gpu=6, on=["a"])),
        job("leaves", pods(gpu=3, on=["b"])),
        *(job(f"stays-{n}", pods(gpu=g, on=[n]), movable=False) for n, g in (("b", 1), ("c", 3))),
    ]
    nodes = [node(name, gpu=8) for name in "abc"]
    assert tidied(asked(nodes, jobs, EMPTY)) == (2, 2)
    assert tidied(asked(nodes, jobs, EMPTY, limits={"moves": 1})) == (3, 0)


def test_a_domain_is_not_emptied_into_its_own_empty_nodes() -> None:
    names = ("a1", "a2", "b1", "b2")
    nodes = [node(name, gpu=8, labels={"block": "x", "rack": name[0]}) for name in names]
    jobs = [job("a", pods(gpu=4, on=["a1"])), job("b", pods(gpu=6, on=["b1"]), movable=False)]
    goal: Any = {"domains_in_use": {"level": "rack", "target": 1}}
    assert tidied(asked(nodes, jobs, goal)) == (0, 1)
