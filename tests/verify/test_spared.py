"""For whom victims give way, and which of them could have stayed."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.search.construct import How, construct
from kantopt.search.strategy import Strategy
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from kantopt.verify.victims import spared
from kantopt.verify.victims.elsewhere import Elsewhere, free_spots
from kantopt.verify.victims.preemptors import Preemptors, preemptors_of
from kantopt.verify.victims.spared import could_be_spared, with_victims_spared
from tests.campaign import some
from tests.generate import random_instance
from tests.verify.world import job, node, pods, put, question

NODES = [node("a"), node("b"), node("c", cpu=2)]


def step(instance: Instance, **where: Any) -> Step:
    return Step(instance, instance.current, put(instance, where))


def running(name: str, *on: str, cpu: int = 4, **more: Any) -> dict[str, Any]:
    return job(name, pods(count=len(on), cpu=cpu, on=list(on)), priority=10, **more)


def pending(name: str, cpu: int = 4, priority: int = 100, count: int = 1) -> dict[str, Any]:
    return job(name, pods(count=count, cpu=cpu), priority=priority)


def named(made: Step) -> dict[str, str | None]:
    preemptors = Preemptors(made)
    found = {}
    for victim in made.changed_jobs:
        if any(made.evicted(s) for s in victim.podsets):
            other = preemptors.of_job(victim)
            found[victim.name.partition("/")[2]] = other and other.name.partition("/")[2]
    return found


def test_a_victim_gives_way_to_the_job_on_its_node() -> None:
    nodes = [node("a"), node("b")]
    jobs = [running("r", "a"), pending("first", priority=200), pending("second", priority=100)]
    made = step(question(nodes, jobs), r=[], first=["b"], second=["a"])
    assert named(made) == {"r": "second"}


def test_a_job_with_a_free_place_is_not_what_a_victim_gives_way_to() -> None:
    nodes = [node("a", cpu=6), node("c", cpu=2)]
    jobs = [running("r", "a"), pending("small", cpu=2, priority=200), pending("large")]
    made = step(question(nodes, jobs), r=[], small=["a"], large=["a"])
    assert named(made) == {"r": "large"}


def test_who_has_room_beside_the_victim_is_not_who_it_gives_way_to() -> None:
    """One core is free: the first would have it, and stays there were the victim put back."""
    jobs = [running("r", "a"), pending("first", cpu=1, priority=200), pending("later", cpu=3)]
    made = step(question([node("a", cpu=5)], jobs), r=[], first=["a"], later=["a"])
    assert named(made) == {"r": "later"}


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("listed", [("large", "small"), ("small", "large")])
def test_of_equals_a_victim_gives_way_to_the_one_that_has_no_room_as_things_stand(
    listed: tuple[str, str], count: int
) -> None:
    """There is room for the small one on c; it is in the room of r for the large one has c."""
    nodes = [node("a"), node("b"), node("c")]
    small = pending("small", cpu=2 // count, count=count)
    waiting = {"large": pending("large", cpu=4, count=2), "small": small}
    stays = job("s", pods(cpu=2, on=["a"]), priority=200)
    jobs = [running("r", "a", cpu=2), running("q", "b"), stays, *(waiting[x] for x in listed)]
    made = step(question(nodes, jobs), r=[], q=[], large=["b", "c"], small=["a"] * count)
    assert named(made) == {"r": "large", "q": "large"}


def test_a_victim_gives_way_to_whom_moved_pods_made_room_for() -> None:
    nodes = [node("a"), node("b", cpu=5)]
    jobs = [
        running("r", "a"),
        job("m", pods(cpu=4, on=["b"]), priority=50, movable=True),
        pending("big", cpu=5),
    ]
    made = step(question(nodes, jobs), r=[], m=["a"], big=["b"])
    assert named(made) == {"r": "big"}


@pytest.mark.parametrize("priority", [50, 100, 200])
def test_who_has_what_was_free_beside_a_victim_is_not_who_it_gives_way_to(priority: int) -> None:
    """One core of a is free and the small one has it; m has the rest, and has left b."""
    nodes = [node("a", cpu=5), node("b", cpu=5)]
    leaves = job("m", pods(cpu=4, on=["b"]), priority=50, movable=True)
    small = pending("small", cpu=1, priority=priority)
    jobs = [running("r", "a"), leaves, pending("big", cpu=5), small]
    made = step(question(nodes, jobs), r=[], m=["a"], big=["b"], small=["a"])
    assert named(made) == {"r": "big"}


@pytest.mark.parametrize("listed", [("big", "small"), ("small", "big")])
def test_a_victim_gives_way_to_whom_pods_left_for_that_have_the_room_of_an_equal(
    listed: tuple[str, str],
) -> None:
    """There is room for the small one beside r, had m not left b to the big one."""
    nodes = [node("a", cpu=6, labels={"disk": "ssd"}), node("b", cpu=5)]
    small = job("small", pods(cpu=2, nodeSelector={"disk": "ssd"}), priority=100)
    waiting = {"big": pending("big", cpu=5), "small": small}
    leaves = job("m", pods(cpu=4, on=["b"]), priority=50, movable=True)
    jobs = [running("r", "a", cpu=2), leaves, *(waiting[name] for name in listed)]
    made = step(question(nodes, jobs), r=[], m=["a"], big=["b"], small=["a"])
    assert named(made) == {"r": "big"}


@pytest.mark.parametrize("listed", [("big", "small"), ("small", "big")])
def test_of_lesser_equals_a_victim_gives_way_to_the_one_that_has_no_room_as_things_stand(
    listed: tuple[str, str],
) -> None:
    """Without either of them r would fit back: m has left b to the big one."""
    waiting = {"big": pending("big"), "small": pending("small", cpu=1)}
    leaves = job("m", pods(cpu=1, on=["b"]), priority=50, movable=True)
    victims = [running("r", "a", cpu=2), running("q", "b", cpu=3)]
    first = pending("first", cpu=1, priority=200)
    jobs = [*victims, leaves, first, *(waiting[name] for name in listed)]
    where = {"m": ["a"], "first": ["a"], "small": ["a"], "big": ["b"]}
    made = step(question([node("a"), node("b")], jobs), r=[], q=[], **where)
    assert named(made) == {"r": "big", "q": "big"}


def test_a_victim_gives_way_to_the_later_where_the_first_would_have_the_room_of_who_made_way() -> (
    None
):
    """The first has room beside r, and is on b since m has left that to both."""
    nodes = [node("a"), node("b", labels={"disk": "ssd"})]
    later = job("later", pods(cpu=2, nodeSelector={"disk": "ssd"}), priority=100)
    leaves = job("m", pods(cpu=4, on=["b"]), priority=50, movable=True)
    jobs = [running("r", "a", cpu=1), leaves, pending("first", cpu=2, priority=200), later]
    made = step(question(nodes, jobs), r=[], m=["a"], first=["b"], later=["b"])
    assert named(made) == {"r": "later"}


@pytest.mark.parametrize("listed", [("first", "big"), ("big", "first")])
def test_a_victim_does_not_give_way_to_a_lesser_job_without_which_it_would_not_be_back(
    listed: tuple[str, str],
) -> None:
    """The small one has the place that the first would have had, but m has half of r's room."""
    nodes = [node("a", cpu=2), node("b", cpu=5), node("c", cpu=1)]
    waiting = {"first": pending("first", 1, priority=200), "big": pending("big", 5, priority=200)}
    leaves = job("m", pods(on=["b"]), priority=50, movable=True)
    jobs = [running("r", "a", cpu=2), leaves, *(waiting[x] for x in listed), pending("small", 1)]
    made = step(question(nodes, jobs), r=[], m=["a"], first=["a"], big=["b"], small=["c"])
    assert named(made) == {"r": "big"}


def test_those_who_went_for_the_same_job_are_back_without_it() -> None:
    """As above, and n has left b as well, for the room of q, where the first may not be."""
    ssd = {"disk": "ssd"}
    sizes = {"a": 2, "b": 5, "c": 1, "d": 4}
    nodes = [node(n, cpu=cpu, labels=ssd if n != "d" else {}) for n, cpu in sizes.items()]
    leave = [
        job("m", pods(on=["b"]), priority=50, movable=True),
        job("n", pods(cpu=2, on=["b"]), priority=50, movable=True),
    ]
    first = job("first", pods(nodeSelector=ssd), priority=200)
    waiting = [first, pending("big", 5, priority=200), pending("small", 1)]
    jobs = [running("r", "a", cpu=2), running("q", "d"), *leave, *waiting]
    where = {"m": ["a"], "n": ["d"], "first": ["a"], "big": ["b"], "small": ["c"]}
    made = step(question(nodes, jobs), r=[], q=[], **where)
    assert named(made) == {"r": "big", "q": "big"}


def test_a_victim_could_be_spared_where_its_preemptor_has_a_free_place() -> None:
    made = step(question(NODES, [running("r", "a"), pending("j")]), r=[], j=["a"])
    (found,) = could_be_spared(made)
    assert str(found) == "could have been spared: default/j has a place on node b"
    assert not check(made.instance, found.placement)


def test_a_victim_could_be_spared_where_who_moved_into_its_room_can_stay() -> None:
    made = step(question(NODES, [running("v", "a"), running("m", "b")]), v=[], m=["a"])
    (found,) = could_be_spared(made)
    assert str(found) == "could have been spared: default/m can stay on node b"


def test_all_victims_of_one_pod_are_spared_together() -> None:
    jobs = [running("r", "a", "a", cpu=2), pending("j")]
    instance = question([node("a"), node("b")], jobs)
    placement = put(instance, {"r": [], "j": ["a"]})
    *_, last = with_victims_spared(instance, placement, lambda: False)
    assert last.podsets == put(instance, {"r": ["a", "a"], "j": ["b"]}).podsets


def test_two_pods_in_the_room_of_one_victim_go_elsewhere_together() -> None:
    jobs = [running("r", "a"), pending("j", cpu=2, count=2)]
    made = step(question([node("a"), node("b", cpu=2), node("c", cpu=2)], jobs), r=[], j=["a", "a"])
    (found,) = could_be_spared(made)
    assert {said.split()[-1] for said in found.elsewhere} == {"b", "c"}


def test_a_gang_is_spared_whole_or_not_at_all() -> None:
    gang = job("g", pods(count=2, minCount=2, cpu=4, on=["a", "b"]), priority=10)
    jobs = [gang, pending("j"), pending("k", cpu=2)]
    nodes = [node("a"), node("b"), node("c", cpu=2)]
    both = step(question(nodes, jobs), g=[], j=["a"], k=["b"])
    assert not list(could_be_spared(both))
    only = step(question(nodes, [gang, pending("k", cpu=2)]), g=[], k=["b"])
    (found,) = could_be_spared(only)
    assert str(found) == "could have been spared: default/k has a place on node c"


def test_a_large_gang_without_room_for_its_last_pod_is_not_placed_in_every_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """25 of 26 pods have another place: whichever of them are tried, one has none."""
    others = [node(f"n{i:02d}") for i in range(25)]
    jobs = [running("r", *["full"] * 26, cpu=1), pending("gang", cpu=1, count=26)]
    full = node("full", cpu=26)
    instance = question([full, *(node(n["name"], cpu=1) for n in others)], jobs)
    made = step(instance, r=[], gang=["full"] * 26)
    looks = 0

    def counted(*given: Any) -> Any:
        nonlocal looks
        looks += 1
        return free_spots(*given)

    monkeypatch.setattr("kantopt.verify.victims.elsewhere.free_spots", counted)
    assert Preemptors(made).of_job(made.instance.jobs[0]) is not None
    assert looks < 10_000


def test_other_places_are_looked_for_only_while_there_is_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Then it is somebody in the room of the victim who is named."""
    looks, left = 0, 1

    def counted(*given: Any) -> None:
        nonlocal looks, left
        looks, left = looks + 1, left - 1

    monkeypatch.setattr(Elsewhere, "place", counted)
    jobs = [running(f"r{i}", "a", cpu=1) for i in range(4)]
    jobs += [pending(f"p{i}", cpu=1) for i in range(4)]
    gone: dict[str, list[str]] = {f"r{i}": [] for i in range(4)}
    instance = question([node("a"), node("c", cpu=2)], jobs)
    made = step(instance, **gone, **{f"p{i}": ["a"] for i in range(4)})
    told = Preemptors(made, over=lambda: left <= 0)
    assert all(told.of_job(instance.jobs[j]) is not None for j in range(4))
    assert looks == 1


def test_a_gang_is_looked_for_in_every_domain_though_many_hold_only_a_part_of_it() -> None:
    racks = [node(f"n{i:02d}", cpu=1, rack=f"b/r{i:02d}") for i in range(20)]
    nodes = [node("full", cpu=2, rack="b/r"), *racks, node("last", cpu=2, rack="b/z")]
    gang = pending("gang", cpu=1, count=2)
    gang["podSets"][0]["topologyRequest"] = {"required": "rack"}
    instance = question(nodes, [running("r", "full", "full", cpu=1), gang])
    made = step(instance, r=[], gang=["full", "full"])
    spots = [(s, x) for s, x, k in made.after.items() for _ in range(k)]
    assert Elsewhere(made).place(spots, {}) is not None


def test_who_has_no_other_place_spares_nobody() -> None:
    jobs = [running("r", "a"), pending("j"), pending("k")]
    assert not list(could_be_spared(step(question(NODES, jobs), r=[], j=["a"], k=["b"])))


@pytest.mark.parametrize("seeds", [range(150), range(150, 300)])
def test_what_a_look_finds_is_legal_and_has_fewer_victims(seeds: range) -> None:
    """And whoever a victim is said to be for has no free place that would spare it."""
    spared = victims = 0
    for seed in seeds:
        instance = random_instance(seed)
        placement = construct(instance, Deadline(None, deterministic=True), How(Strategy.BEST_FIT))
        made = Step(instance, instance.current, placement)
        if any(v.rule != Rule.REQUIRED for v in check(instance, placement)):
            continue
        for found in could_be_spared(made):
            spared += 1
            after = Step(instance, instance.current, found.placement)
            assert not [v for v in check(instance, found.placement) if v.rule != Rule.REQUIRED]
            assert sum(map(after.evicted, after.changed)) < sum(map(made.evicted, made.changed))
            assert [sum(x.values()) for x in found.placement.podsets] >= [
                sum(x.values()) if not instance.podsets[s].running else 0
                for s, x in enumerate(placement.podsets)
            ]
        *_, last = (placement, *with_victims_spared(instance, placement, lambda: False))
        final = Step(instance, instance.current, last)
        preemptors = Preemptors(final)
        free = Elsewhere(final)
        for s in final.changed:
            for spot in final.departures[s] if final.evicted(s) else ():
                other = preemptors.of(s, spot)
                victims += 1
                if not instance.strict:
                    continue
                assert other is not None
                pods = [
                    (t, x)
                    for t in other.podsets
                    if not instance.podsets[t].running
                    for x, k in final.arrivals[t].items()
                    if x.node == spot.node
                    for _ in range(k)
                ]
                assert free.place(pods, {(s, spot): 1}) is None
    assert victims > 10


def test_looking_first_for_room_changes_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a job's absence makes no room, its pods' places are not looked for: none is found."""
    steps, seeds = [], some(range(300))
    for seed in seeds:
        instance = random_instance(seed)
        placement = construct(instance, Deadline(None, deterministic=True), How(Strategy.BEST_FIT))
        made = Step(instance, instance.current, placement)
        if any(made.evicted(s) for s in made.changed):
            steps.append(made)
    names = [named(made) for made in steps]
    assert sum(len(each) for each in names) > len(seeds) / 6
    monkeypatch.setattr(Preemptors, "_may_fit", lambda *_: True)
    assert [named(made) for made in steps] == names


def test_the_same_step_is_asked_about_once() -> None:
    jobs = [running("r", "a"), pending("first", priority=200)]
    instance = question([node("a")], jobs)
    made, again = (step(instance, r=[], first=["a"]) for _ in range(2))
    assert preemptors_of(made) is preemptors_of(again)
    assert preemptors_of(step(instance)) is not preemptors_of(made)


def test_the_larger_a_question_the_fewer_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look goes through all pod sets: thousands of looks took an hour on 10,000 nodes."""
    many = [running(f"r{i}", "a", cpu=0) for i in range(3)]
    instance = question(NODES, [running("v", "a"), pending("w"), *many])
    made = step(instance, v=[], w=["a"])
    assert [each.job.name for each in could_be_spared(made)] == ["default/v"]
    monkeypatch.setattr(spared, "MOST_WORK", len(instance.podsets) - 1)
    assert list(could_be_spared(made)) == []


def test_full_nodes_are_asked_for_other_places_once_for_all_pods_that_ask_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With fifty victims each on a node of its own, not fifty times for each of them."""
    names = [f"n{i:02}" for i in range(50)]
    jobs = [running(f"r{name}", name) for name in names]
    jobs += [pending(f"p{name}", priority=100 + i % 2) for i, name in enumerate(names)]
    gone: dict[str, Any] = {f"r{name}": [] for name in names}
    there = {f"p{name}": [name] for name in names}
    made = step(question([node(name) for name in names], jobs), **gone, **there)
    asked = 0

    def counting(instance: Instance, loads: Any, s: int, nodes: Any) -> Any:
        nonlocal asked
        nodes = list(nodes)
        asked += len(nodes)
        return free_spots(instance, loads, s, nodes)

    monkeypatch.setattr("kantopt.verify.victims.elsewhere.free_spots", counting)
    assert len(named(made)) == 50
    assert asked < 50 * 20


@pytest.mark.parametrize("skew", [1, 9])
def test_a_victim_that_breaks_a_spread_where_it_stands_would_be_back_there_all_the_same(
    skew: int,
) -> None:
    """Without the later one nobody need leave: there is room for the first beside the victims."""
    nodes = [
        node("a", cpu=8, labels={"host": "a"}),
        node("b", cpu=4, labels={"host": "b", "disk": "ssd"}),
    ]
    own = {"matchLabels": {"job": "v"}}
    spread = {"maxSkew": skew, "topologyKey": "host", "labelSelector": own}
    together = pods(count=3, cpu=1, on=["a"] * 3, topologySpreadConstraints=[spread])
    jobs = [
        job("v", together, priority=10),
        job("s", pods(cpu=2, on=["a"]), priority=2000),
        job("m", pods(cpu=4, on=["b"]), priority=100, movable=True),
        job("later", pods(cpu=2, nodeSelector={"disk": "ssd"}), priority=100),
        pending("first", cpu=1, count=2, priority=1000),
    ]
    made = step(question(nodes, jobs), v=["a", "a"], m=["a"], later=["b"], first=["b", "b"])
    assert named(made) == {"v": "later"}
