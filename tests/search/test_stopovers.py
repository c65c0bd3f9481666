"""Circles of moves: restarts go round together, live moves by a stop-over, or something gives."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kantopt.problem.actions import Action, Wave
from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.schema.model import Limits
from kantopt.search.order.concessions import concessions
from kantopt.search.order.sequence import sequence
from kantopt.verify.replay import replay
from kantopt.verify.rules import check
from tests.verify.world import Document, job, node, placed, pods, podset_of, put, question


def swap(mode: str = "live", **more: object) -> list[Document]:
    return [
        job(name, pods(cpu=4, on=[on]), moveMode=mode, **more)
        for name, on in (("r", "a"), ("s", "b"))
    ]


def stops(waves: tuple[Wave, ...] | None) -> int:
    assert waves is not None
    return sum(action.pods for wave in waves for action in wave.actions if action.stopover)


def legal(instance: Instance, waves: tuple[Wave, ...] | None) -> bool:
    assert waves is not None
    return replay(instance, waves)[0] == []


def test_a_live_circle_is_broken_by_a_stop_over_where_there_is_room_for_now() -> None:
    instance = question([node("a"), node("b"), node("c")], swap())
    waves = sequence(instance, placed(instance, r=["b"], s=["a"]))
    assert waves is not None
    assert stops(waves) == 1
    assert [len(wave.actions) for wave in waves] == [1, 1, 1]
    assert legal(instance, waves)
    aside, _, back = (wave.actions[0] for wave in waves)
    assert aside.podset == back.podset
    assert aside.target == back.source


def test_pods_of_slices_of_one_pod_step_aside_too() -> None:
    single = {"podSetSliceRequiredTopology": "rack", "podSetSliceSize": 1}
    jobs = [
        job(name, pods(cpu=4, on=[on], topologyRequest=single), moveMode="live")
        for name, on in (("r", "a"), ("s", "b"))
    ]
    instance = question([node(n, rack=f"1/{n}") for n in "abc"], jobs)
    waves = sequence(instance, placed(instance, r=["b"], s=["a"]))
    assert stops(waves) == 1
    assert legal(instance, waves)
    nowhere = question([*(node(n, rack=f"1/{n}") for n in "ab"), node("c")], jobs)
    assert sequence(nowhere, placed(nowhere, r=["b"], s=["a"])) is None, "c is in no rack"


def test_two_circles_need_one_place_after_the_other() -> None:
    more = [
        job(name, pods(cpu=4, on=[on]), moveMode="live") for name, on in (("t", "d"), ("u", "e"))
    ]
    instance = question([node(n) for n in "abcde"], [*swap(), *more])
    waves = sequence(instance, put(instance, {"r": ["b"], "s": ["a"], "t": ["e"], "u": ["d"]}))
    assert stops(waves) == 2
    assert legal(instance, waves)


def test_stop_overs_are_not_looked_for_when_the_time_is_up() -> None:
    instance = question([node("a"), node("b"), node("c")], swap())
    wanted = placed(instance, r=["b"], s=["a"])
    assert sequence(instance, wanted, lambda: True) is None
    assert stops(sequence(instance, wanted, lambda: False)) == 1


@pytest.mark.parametrize(("limit", "found"), [(2, False), (3, True)])
def test_a_stop_over_counts_against_the_limit_on_moves(limit: int, found: bool) -> None:
    instance = question([node("a"), node("b"), node("c")], swap(), limits={"moves": limit})
    waves = sequence(instance, placed(instance, r=["b"], s=["a"]))
    assert (waves is not None) is found


def test_a_stop_over_is_no_way_round_a_selector() -> None:
    jobs = [
        job(name, pods(cpu=4, on=[on], nodeSelector={"pool": "x"}), moveMode="live")
        for name, on in (("r", "a"), ("s", "b"))
    ]
    nodes = [node(n, labels={"pool": "x"}) for n in "ab"]
    instance = question([*nodes, node("c")], jobs)
    assert sequence(instance, placed(instance, r=["b"], s=["a"])) is None


def test_restarts_that_share_a_slot_go_round_by_a_stop_over() -> None:
    """Together they would be two away where one is allowed."""
    budget = {"name": "pdb", "selector": {}, "disruptionsAllowed": 1}
    for others, most in (([], None), ([node("c")], 1)):
        instance = question(
            [node("a"), node("b"), *others], swap("restart"), podDisruptionBudgets=[budget]
        )
        waves = sequence(instance, placed(instance, r=["b"], s=["a"]))
        assert (waves is None) is (most is None)
        if waves is not None:
            assert stops(waves) == most
            assert legal(instance, waves)


def test_a_stop_over_may_use_the_room_of_an_evicted_pod_before_it_is_taken() -> None:
    more = [
        job("v", pods(cpu=4, on=["c"]), preemptible=True, priority=1),
        job("w", pods(cpu=4), priority=9),
    ]
    instance = question([node("a"), node("b"), node("c")], [*swap(), *more])
    waves = sequence(instance, put(instance, {"r": ["b"], "s": ["a"], "v": [], "w": ["c"]}))
    assert stops(waves) == 1
    assert legal(instance, waves)


def test_without_room_the_cheapest_pod_of_the_circle_is_evicted_if_the_model_lets_it() -> None:
    jobs = [
        job("r", pods(cpu=4, on=["a"]), moveMode="live", preemptible=True, disruptionCost=5),
        job("s", pods(cpu=4, on=["b"]), moveMode="live", preemptible=True, disruptionCost=2),
    ]
    nodes = [node("a"), node("b")]
    instance = question(nodes, jobs, rules={"priority": "counts"})
    wanted = placed(instance, r=["b"], s=["a"])
    assert sequence(instance, wanted) is None
    first, *_, last = list(concessions(instance, wanted))
    assert first == placed(instance, r=["b"], s=[])
    assert sequence(instance, first) is not None
    assert last == instance.current, "at last the circle stays as it is"


def test_where_evicting_is_not_allowed_what_has_no_order_is_left_undone() -> None:
    more = [job("t", pods(on=["c"]), moveMode="live")]
    instance = question(
        [node("a"), node("b"), node("c", cpu=1), node("d", cpu=1)], [*swap(), *more]
    )
    wanted = put(instance, {"r": ["b"], "s": ["a"], "t": ["d"]})
    assert sequence(instance, wanted) is None
    assert list(concessions(instance, wanted)) == [put(instance, {"t": ["d"]})]


def test_victims_of_what_has_no_order_come_back_where_they_fit() -> None:
    """The gang waits for a circle: who was to make way for it on another node need not go."""
    jobs = [
        job("r", pods(cpu=8, on=["a"]), moveMode="live"),
        job("s", pods(cpu=4, on=["b"]), moveMode="live"),
        job("v", pods(cpu=3, on=["c"]), preemptible=True, priority=1),
        job("t", pods(cpu=1), priority=9),
        job("gang", pods("small", cpu=3), pods("large", cpu=4), priority=9),
    ]
    instance = question([node("a", cpu=8), node("b", cpu=8), node("c", cpu=3), node("d", 1)], jobs)
    wanted = put(
        instance,
        {"r": ["b"], "s": ["a"], "v": [], "t": ["d"], "gang/small": ["c"], "gang/large": ["a"]},
    )
    assert check(instance, wanted) == []
    assert sequence(instance, wanted) is None
    nothing = instance.current
    found = [put(instance, {"t": ["d"]}), nothing]
    assert list(concessions(instance, wanted, lambda: True)) == found, "and then ever less"


@pytest.mark.parametrize("late", [False, True])
def test_a_pod_that_others_came_near_stays_if_its_successor_has_no_order(*, late: bool) -> None:
    """The new friend in the rack is in a circle: the guest comes, the old one has to stay."""
    friend = {"labels": {"app": "friend"}}
    near = {"topologyKey": "rack", "labelSelector": {"matchLabels": friend["labels"]}}
    jobs = [
        job("r", pods(cpu=4, on=["a"]), moveMode="live"),
        job("s", pods(cpu=4, on=["b"], **friend), moveMode="live"),
        job("old", pods(on=["c"], **friend), moveMode="live"),
        job("guest", pods(on=["f"], podAffinity=[near]), moveMode="live"),
    ]
    racks = {"a": "x", "b": "y", "c": "x", "e": "x", "f": "y"}
    nodes = [
        node(name, labels={"rack": rack}, **({} if name in "ab" else {"cpu": 1}))
        for name, rack in racks.items()
    ]
    instance = question(nodes, jobs)
    wanted = put(instance, {"r": ["b"], "s": ["a"], "old": ["f"], "guest": ["e"]})
    assert check(instance, wanted) == []
    assert sequence(instance, wanted) is None
    found = [put(instance, {"guest": ["e"]}), *([instance.current] if late else [])]
    assert list(concessions(instance, wanted, lambda: late)) == found


def test_independent_chains_do_not_wait_for_each_other() -> None:
    jobs = [job(f"r{i}", pods(cpu=4, on=[f"n{i}"]), moveMode="live") for i in (0, 1, 3, 4)]
    instance = question([node(f"n{i}") for i in range(6)], jobs)
    waves = sequence(instance, put(instance, {f"r{i}": [f"n{i + 1}"] for i in (0, 1, 3, 4)}))
    assert waves is not None
    told = {wave.actions[0].podset: wave.after for wave in waves}
    first = {i: podset_of(instance, f"r{i}") for i in (0, 1, 3, 4)}
    ids = {wave.actions[0].podset: wave.id for wave in waves}
    assert told[first[1]] == told[first[4]] == ()
    assert told[first[0]] == (ids[first[1]],)
    assert told[first[3]] == (ids[first[4]],)


def test_no_more_pods_move_at_a_time_than_the_model_allows() -> None:
    jobs = [job("r", pods(count=5, minCount=0, on=["a"] * 5), moveMode="live")]
    nodes = [node("a", cpu=8), node("b", cpu=8)]
    instance = question(nodes, jobs, limits={"movesPerWave": 2})
    waves = sequence(instance, placed(instance, r=["b"] * 5))
    assert waves is not None
    assert [(wave.after, wave.actions[0].pods) for wave in waves] == [((), 2), ((1,), 2), ((2,), 1)]
    beside = tuple(Wave(w.id, (), w.actions) for w in waves)
    assert "limits: wave 1: moves: 5 of 2 pods at once" in map(str, replay(instance, beside)[0])


def test_no_stop_over_is_made_that_another_limit_forbids() -> None:
    jobs = [
        job("r", pods(cpu=4, on=["a"]), moveMode="live", namespace="one"),
        job("s", pods(cpu=4, on=["b"]), moveMode="live", namespace="two"),
    ]
    limits = {"movesPerNamespace": 1}
    nodes = [node("a"), node("b"), node("c")]
    instance = question(nodes, jobs, limits=limits)
    r, s = (instance.job_index[name] for name in ("one/r", "two/s"))
    target = instance.current.replace(
        {
            instance.jobs[r].podsets[0]: {Spot(1): 1},
            instance.jobs[s].podsets[0]: {Spot(0): 1},
        }
    )
    assert sequence(instance, target) is None
    free = replace(instance, model=instance.model.model_copy(update={"limits": Limits()}))
    assert stops(sequence(free, target)) == 1


def test_the_judge_looks_at_the_place_of_a_stop_over_whichever_move_is_called_one() -> None:
    jobs = [job("r", pods(cpu=4, on=["a"], nodeSelector={"pool": "x"}), moveMode="live")]
    nodes = [*(node(n, labels={"pool": "x"}) for n in "ab"), node("c")]
    instance = question(nodes, jobs)
    for first in (True, False):
        waves = [
            Wave(1, (), (Action("m1", "move", 0, 1, Spot(0), Spot(2), first),)),
            Wave(2, (1,), (Action("m2", "move", 0, 1, Spot(2), Spot(1), not first),)),
        ]
        said = [str(violation) for violation in replay(instance, waves)[0]]
        assert said == [
            "eligibility: job default/r pod set main: 1 of 0 pods allowed on node c (on the way)"
        ]
        unsaid = [replace(w, actions=(replace(w.actions[0], stopover=False),)) for w in waves]
        assert any("2 of 1 pods move" in str(v) for v in replay(instance, unsaid)[0])


def test_equal_pods_change_parts_where_that_opens_a_circle() -> None:
    """From b to c and x from c to b is a circle; from b to d, and from a to c, is none."""
    jobs = [
        job("e", pods(count=2, cpu=4, minCount=0, on=["a", "b"]), moveMode="live"),
        job("x", pods(cpu=4, on=["c"]), moveMode="live"),
    ]
    for names in ("abcd", "abdc"):
        instance = question([node(n) for n in names], jobs, limits={"moves": 3})
        waves = sequence(instance, put(instance, {"e": ["c", "d"], "x": ["b"]}))
        assert stops(waves) == 0
        assert legal(instance, waves)
