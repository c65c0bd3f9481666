"""Plans made after counts by domain."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.budget import Budget
from kantopt.clock import Deadline
from kantopt.cp.relaxed.domains import GangRelaxation, worth_dividing
from kantopt.cp.relaxed.harm import add_reasons
from kantopt.problem.build import build_instance
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.schema.extends import load_model
from kantopt.search.construct import How, construct
from kantopt.search.engine.desk import Desk, Line
from kantopt.search.preemption.justify import justify
from kantopt.search.realise import Wanted, realise
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from kantopt.search.techniques.domains import divided
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from scripts.bench.case import Documents
from scripts.bench.gangs import kant, nvl72
from tests.verify.world import job, node, placed, pods, question


def asked(documents: Documents) -> Instance:
    return build_instance(
        documents.snapshot, documents.pending, load_model("training"), source="made"
    )


def found_by_dividing(
    instance: Instance, seconds: float, *, relocate: bool = True
) -> tuple[Placement, Placement]:
    """What the fast path constructs, and the best after the stage."""
    start = construct(instance, Deadline(None), How(Strategy.E_BINPACK, relocate=relocate))
    deadline = Deadline.within(seconds)
    line = Line(found=lambda _: None, bound=lambda _: None, note=lambda text: None)
    desk = Desk(instance, tiers_of(instance), start, (), Budget(deadline), line)
    divided(desk, deadline)
    return start, desk.incumbent.placement


@pytest.mark.parametrize("documents", [nvl72(8, 0.85, 1), kant(96, 0.85, 3, None)])
def test_better_plans_are_legal(documents: Documents) -> None:
    instance = asked(documents)
    assert worth_dividing(instance, tiers_of(instance))
    assert not worth_dividing(instance, [t for t in tiers_of(instance) if t.metric == "moves"])
    # With moves the fast path leaves little to better.
    start, better = found_by_dividing(instance, 4.0, relocate=False)
    assert not check(instance, better)
    tiers = tiers_of(instance)
    assert measure(instance, better, tiers) < measure(instance, start, tiers)


def test_counts_of_a_placement_are_met_again() -> None:
    """Realised after its own counts, a placement comes out as good in what is placed."""
    instance = asked(kant(64, 0.85, 5, None))
    start = construct(instance, Deadline(None), How(Strategy.E_BINPACK))
    relaxation = GangRelaxation(instance, tiers_of(instance))
    add_reasons(relaxation)
    classes = [c.nodes for c in relaxation.classes.classes]
    wanted = []
    for kind in relaxation.kinds.pods:
        counts: dict[int, int] = {}
        for s in kind.podsets:
            for spot, k in start.podsets[s].items():
                c = relaxation.classes.class_of[spot.node]
                counts[c] = counts.get(c, 0) + k
        wanted.append(Wanted(kind.podsets, counts, kind.movable))
    again = realise(instance, classes, wanted)
    assert again is not None
    assert not check(instance, again)
    unplaced = [i for i, tier in enumerate(tiers_of(instance)) if tier.unit == "milli-GPU"]
    before = measure(instance, start, tiers_of(instance))
    after = measure(instance, again, tiers_of(instance))
    assert [after[i] for i in unplaced] == [before[i] for i in unplaced]


def test_a_more_important_pod_comes_where_a_victim_was() -> None:
    """The victim left node a for a job as important; exchanged, it left for the higher one."""
    nodes = [node("a", gpu=8), node("b", gpu=8)]
    jobs = [
        job("victim", pods(gpu=8, on=["a"]), priority=5),
        job("equal", pods(gpu=8), priority=5),
        job("high", pods(gpu=8), priority=9),
    ]
    instance = question(nodes, jobs)
    before = placed(instance, victim=[], equal=["a"], high=["b"])
    assert {v.rule.value for v in check(instance, before)} == {"priority"}
    state = State(instance, before)
    justify(state, [(instance.jobs[0], frozenset({0}))])
    after = state.placement()
    assert after.podsets[1] == {Spot(1): 1}
    assert not check(instance, after)


@pytest.mark.parametrize("racks", [("", ""), ("b/r", "b/s")])
def test_room_of_victims_is_filled_by_those_who_may_evict_them(racks: tuple[str, str]) -> None:
    """The other nodes are left to those who may not, and everybody has a place."""
    nodes = [node(name, gpu=8, rack=racks[name in "cd"]) for name in "abcd"]
    jobs = [
        job("victim", pods(count=2, gpu=8, on=["c", "d"]), priority=5, disruptionMode="all"),
        job("high", pods(count=2, gpu=8), priority=9, minCount=2),
        job("low", pods(count=2, gpu=8), priority=1),
    ]
    instance = question(nodes, jobs)
    wanted = [Wanted((0,), {}, movable=False), *(Wanted((s,), {0: 2}, False) for s in (1, 2))]
    after = realise(instance, [(0, 1, 2, 3)], wanted)
    assert after is not None
    assert not check(instance, after)
    assert after.podsets[1] == {Spot(2): 1, Spot(3): 1}
    assert after.podsets[2] == {Spot(0): 1, Spot(1): 1}


def test_counts_by_domain_are_kept_though_finer_domains_are_merged() -> None:
    """Blocks are asked about, racks are not: each of two blocks is to have a pod of the gang."""
    nodes = [node(name, gpu=8, rack=f"{name[0]}/{name}") for name in ("x1", "x2", "y1", "y2")]
    jobs = [
        job("gang", pods(count=2, gpu=8), minCount=2),
        job("other", pods(count=2, gpu=8), minCount=2, topologyRequest={"preferred": "block"}),
    ]
    instance = question(nodes, jobs)
    wanted = [Wanted((s,), {0: 1, 1: 1}, movable=False) for s in (0, 1)]
    after = realise(instance, [(0, 1), (2, 3)], wanted)
    assert after is not None
    for s in (0, 1):
        assert [
            sum(spot.node in block for spot in after.podsets[s]) for block in ((0, 1), (2, 3))
        ] == [1, 1]


def test_a_gang_that_finds_no_domain_has_the_first_choice_then() -> None:
    """Two nodes are free, in different racks: a lesser pod leaves one of them after all."""
    nodes = [node(name, gpu=8, rack="b/r" if name in "ab" else "b/s") for name in "abcd"]
    close = {"required": "rack"}
    jobs = [
        job("one", pods(gpu=8, on=["b"]), priority=1, movable=False),
        job("two", pods(gpu=8, on=["d"]), priority=1, movable=False),
        job("gang", pods(count=2, gpu=8), priority=9, minCount=2, topologyRequest=close),
    ]
    instance = question(nodes, jobs)
    stay = [Wanted((s,), {0: 1}, movable=False) for s in (0, 1)]
    after = realise(instance, [(0, 1, 2, 3)], [*stay, Wanted((2,), {0: 2}, movable=False)])
    assert after is not None
    assert not check(instance, after)
    assert after.placed(2) == 2
    assert after.placed(0) + after.placed(1) == 1


def test_new_pods_take_the_nodes_of_those_who_are_to_leave() -> None:
    """Of two that run in a rack the first is to stay there; the new ones are larger than both."""
    nodes = [node(name, gpu=8, rack="b/r" if name in "abc" else "b/s") for name in "abcd"]
    jobs = [
        job("stays", pods(gpu=8, on=["a"]), priority=1),
        job("leaves", pods(gpu=8, on=["b"]), priority=2),
        job("gang", pods(count=2, cpu=4, gpu=8), priority=9, minCount=2),
    ]
    instance = question(nodes, jobs)
    wanted = [
        Wanted((0,), {0: 1}, movable=True),
        Wanted((1,), {1: 1}, movable=True),
        Wanted((2,), {0: 2}, movable=False),
    ]
    after = realise(instance, [(0, 1, 2), (3,)], wanted)
    assert after is not None
    assert after.podsets == ({Spot(0): 1}, {Spot(3): 1}, {Spot(1): 1, Spot(2): 1})


def test_who_leaves_a_node_for_two_kinds_of_pods_leaves_once() -> None:
    """Two nodes of three are left by four pods each; a role takes half of one of them."""
    racks = dict.fromkeys(["stays", "x", "y", "z"], "b/r") | dict.fromkeys(["e", "f"], "b/s")
    nodes = [node(name, gpu=8, rack=rack) for name, rack in racks.items()]
    roles = [pods(name, count=k, gpu=4) for name, k in (("one", 1), ("others", 3))]
    jobs = [
        job("stays", pods(count=4, cpu=0, gpu=2, on=["stays"] * 4), priority=1),
        job("leaves", pods(count=12, gpu=2, cpu=0, on=[*"xyz"] * 4), priority=2),
        job("gang", *roles, priority=9, minCount=4),
    ]
    instance = question(nodes, jobs)
    wanted = [
        Wanted((0,), {0: 4}, movable=True),
        Wanted((1,), {0: 4, 1: 8}, movable=True),
        Wanted((2,), {0: 1}, movable=False),
        Wanted((3,), {0: 3}, movable=False),
    ]
    after = realise(instance, [(0, 1, 2, 3), (4, 5)], wanted)
    assert after is not None
    assert after.podsets[0] == instance.current.podsets[0]


def test_who_moves_takes_no_node_of_those_who_are_to_stay() -> None:
    """The more important one comes first, into a rack where another is to stay."""
    nodes = [node(name, gpu=8, rack="b/r" if name == "a" else "b/s") for name in "abc"]
    jobs = [
        job("stays", pods(gpu=8, on=["b"]), priority=1),
        job("moves", pods(gpu=8, on=["a"]), priority=2),
        job("new", pods(gpu=8), priority=9),
    ]
    instance = question(nodes, jobs)
    wanted = [
        Wanted((0,), {1: 1}, movable=True),
        Wanted((1,), {1: 1}, movable=True),
        Wanted((2,), {0: 1}, movable=False),
    ]
    after = realise(instance, [(0,), (1, 2)], wanted)
    assert after is not None
    assert after.podsets == ({Spot(1): 1}, {Spot(2): 1}, {Spot(0): 1})


def test_as_many_leave_as_are_to_and_then_those_whose_node_has_the_fewest() -> None:
    """One of two nodes with four pods is to be left; then that with two is the better one."""
    nodes = [node(name, gpu=8, rack="b/s" if name == "e" else "b/r") for name in "abcde"]
    jobs = [
        job("four", pods(count=8, cpu=0, gpu=2, on=[*"aaaabbbb"]), priority=1),
        job("two", pods(count=4, cpu=0, gpu=2, on=[*"ccdd"]), priority=2),
        job("gang", pods(count=2, gpu=8), priority=9, minCount=2),
    ]
    instance = question(nodes, jobs)
    wanted = [
        Wanted((0,), {0: 4, 1: 4}, movable=True),
        Wanted((1,), {0: 4}, movable=True),
        Wanted((2,), {0: 2}, movable=False),
    ]
    after = realise(instance, [(0, 1, 2, 3), (4,)], wanted)
    assert after is not None
    assert after.podsets == ({Spot(1): 4, Spot(4): 4}, {Spot(3): 4}, {Spot(0): 1, Spot(2): 1})


def test_who_moves_goes_beside_those_who_are_home_rather_than_where_one_is_to_come() -> None:
    nodes = [node(name, gpu=8, rack="b/r" if name == "a" else "b/s") for name in "abc"]
    jobs = [
        job("fixed", pods(gpu=4, on=["b"]), movable=False, preemptible=False),
        job("home", pods(count=2, gpu=2, on=["b", "c"]), priority=3),
        job("moves", pods(gpu=2, on=["a"]), priority=2),
        job("later", pods(gpu=2, on=["b"]), priority=1),
    ]
    instance = question(nodes, jobs)
    wanted = [
        Wanted((1,), {1: 2}, movable=True),
        Wanted((2,), {1: 1}, movable=True),
        Wanted((3,), {1: 1}, movable=True),
    ]
    after = realise(instance, [(0,), (1, 2)], wanted)
    assert after is not None
    home = [dict(podset.current) for podset in instance.podsets]
    assert after.podsets == (*home[:2], {Spot(2): 1}, home[3])


def test_with_many_gangs_and_domains_pods_are_counted_by_class_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kantopt.cp.relaxed.domains.MOST_GANGS", 10)
    instance = asked(kant(96, 0.85, 3, None))
    assert worth_dividing(instance, tiers_of(instance))
    start, better = found_by_dividing(instance, 4.0, relocate=False)
    assert not check(instance, better)
    tiers = tiers_of(instance)
    assert measure(instance, better, tiers) < measure(instance, start, tiers)


@pytest.mark.parametrize("without", [(), ("relocation", "exchange")])
def test_the_fast_path_goes_on_from_plans_without_what_is_left_out(
    monkeypatch: pytest.MonkeyPatch, without: tuple[str, ...]
) -> None:
    moved: list[bool] = []
    exchanged: list[bool] = []

    def constructed(asked: Instance, deadline: Deadline, how: How) -> Placement:
        moved.append(how.relocate)
        return construct(asked, deadline, how)

    def exchanges(_: Instance, placement: Placement, *__: Any) -> Placement:
        exchanged.append(True)
        return placement

    monkeypatch.setattr("kantopt.search.techniques.domains.construct", constructed)
    monkeypatch.setattr("kantopt.search.techniques.domains.exchange", exchanges)
    instance, deadline = asked(kant(64, 0.85, 5, None)), Deadline.within(8.0)
    line = Line(found=lambda _: None, bound=lambda _: None, note=lambda text: None)
    tiers, start = tiers_of(instance), instance.current
    divided(Desk(instance, tiers, start, (), Budget(deadline), line, without), deadline)
    assert set(moved) == {not without}
    assert bool(exchanged) is not bool(without)
