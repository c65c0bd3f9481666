"""Who gives way to whom: as few and as unimportant as can be, and nobody in vain."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.cluster import Spot
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.search.helpers import built, where
from tests.verify.world import Document, job, node, placed, pods, question


def running(name: str, on: list[str], cpu: int = 1, priority: int = 0, **more: Any) -> Document:
    return job(name, pods(count=len(on), cpu=cpu, minCount=0, on=on), priority=priority, **more)


def test_the_least_important_pod_that_makes_room_gives_way() -> None:
    jobs = [
        running("low", ["a"], cpu=2, priority=1),
        running("lower", ["b"], cpu=2, priority=0),
        job("j", pods(cpu=2), priority=9),
    ]
    instance = question([node("a", cpu=2), node("b", cpu=2)], jobs)
    placement = built(instance)
    assert where(instance, placement, "lower") == {}
    assert where(instance, placement, "low") == {"a": 1}
    assert where(instance, placement, "j") == {"b": 1}


@pytest.mark.parametrize("waits", [None, 0, 1])
@pytest.mark.parametrize("spared", ["elastic", "low"])
def test_whom_a_gang_can_do_without_goes_before_anybody_is_displaced(
    spared: str, waits: int | None
) -> None:
    """Where evictions are counted by priority before what is displaced, the least goes as ever.

    Who waits and may evict nobody, which comes after what is said of evictions, changes nothing.
    """
    jobs = [
        job("elastic", pods(count=2, cpu=2, minCount=1, on=["a", "c"]), priority=5),
        running("low", ["b"], cpu=2, priority=1),
        job("j", pods(cpu=2), priority=9),
    ]
    if waits is not None:
        jobs.append(job("harmless", pods(cpu=2), priority=waits))
    objectives = [{"unplaced": {"by": "priority", "unit": "gpu"}}, "evictions"]
    if spared == "elastic":
        objectives.reverse()
    instance = question([node(n, cpu=2) for n in "abc"], jobs, objectives=objectives)
    gone = 2 - sum(where(instance, built(instance), "elastic").values())
    assert gone == (0 if spared == "elastic" else 1)
    assert where(instance, built(instance), "low") == ({} if spared == "elastic" else {"b": 1})


def test_for_quota_too_those_go_first_whom_gangs_can_do_without() -> None:
    """Of six that are allowed, four are needed: two can be spared, for the others low goes."""
    quota = [{"name": "cpu", "nominalQuota": 6}]
    jobs = [
        job("elastic", pods(count=3, cpu=1, minCount=1, on=["a"] * 3), priority=5, queueName="q"),
        running("low", ["a"] * 3, priority=1, queueName="q"),
        job("j", pods(cpu=4), priority=9, queueName="q"),
    ]
    queues = [{"name": "q", "resources": quota}]
    objectives = [{"unplaced": {"by": "priority", "unit": "gpu"}}, "evictions"]
    instance = question([node("a", cpu=16)], jobs, objectives=objectives, queues=queues)
    placement = built(instance)
    assert where(instance, placement, "elastic") == {"a": 1}
    assert where(instance, placement, "low") == {"a": 1}


def test_pods_that_still_fit_are_put_back() -> None:
    """Two of the four cores suffice, so two of the four pods stay."""
    jobs = [running("r", ["a"] * 4), job("j", pods(cpu=2), priority=9)]
    instance = question([node("a", cpu=4)], jobs)
    assert where(instance, built(instance), "r") == {"a": 2}


def test_of_several_nodes_the_one_with_least_harm_is_taken() -> None:
    """Four cores cost four small pods on one node, one large pod on the other."""
    jobs = [
        running("small", ["a"] * 4),
        running("large", ["b"], cpu=4),
        job("j", pods(cpu=4), priority=9),
    ]
    instance = question([node("a", cpu=4), node("b", cpu=4)], jobs)
    placement = built(instance)
    assert where(instance, placement, "j") == {"b": 1}
    assert where(instance, placement, "small") == {"a": 4}


@pytest.mark.parametrize("count", [1, 2])
def test_lesser_ones_give_way_to_a_victim_that_can_run_elsewhere(count: int) -> None:
    """Nobody but the least important one is gone in the end; a gang moves as a whole."""
    middle = pods(count=count, cpu=2 // count, on=["a"] * count)
    jobs = [
        job("middle", middle, priority=5),
        running("low", ["b"], cpu=2, priority=1),
        job("j", pods(cpu=2, nodeSelector={"kind": "fast"}), priority=9),
    ]
    nodes = [node("a", cpu=2, labels={"kind": "fast"}), node("b", cpu=2)]
    instance = question(nodes, jobs)
    placement = built(instance, relocate=True)
    assert where(instance, placement, "j") == {"a": 1}
    assert where(instance, placement, "middle") == {"b": count}
    assert where(instance, placement, "low") == {}


def test_a_victim_runs_elsewhere_though_an_equal_of_who_left_room_there_may_not() -> None:
    """The gang leaves six GPUs on b: room for the middle one, but not for who may not evict it."""
    gang = [pods("near", gpu=2, on=["a"]), pods("far", gpu=6, on=["b"])]
    jobs = [
        job("middle", pods(gpu=4, on=["a"]), priority=5),
        job("gang", *gang, priority=1),
        job("low", pods(gpu=2, on=["a"]), priority=1),
        job("j", pods(gpu=8, nodeSelector={"kind": "fast"}), priority=9),
    ]
    nodes = [node("a", gpu=8, labels={"kind": "fast"}), node("b", gpu=6)]
    placement = built(instance := question(nodes, jobs), relocate=True)
    assert where(instance, placement, "j") == {"a": 1}
    assert where(instance, placement, "middle") == {"b": 1}
    assert where(instance, placement, "low") == {}


@pytest.mark.parametrize("gone", [0, 1])
def test_who_had_moved_and_is_evicted_returns_if_there_is_room_where_it_was(gone: int) -> None:
    """Also if others of its set are evicted already."""
    kinds = {"a": "any", "b": "fast", "c": "other"}
    held = ["a", *["c"] * gone]
    jobs = [
        job("m", pods(count=len(held), cpu=2, minCount=0, on=held), priority=1),
        job("j", pods(cpu=2, nodeSelector={"kind": "fast"}), priority=9),
        job("k", pods(cpu=2, nodeSelector={"kind": "other"}), priority=9),
    ]
    nodes = [node(name, cpu=2, labels={"kind": kind}) for name, kind in kinds.items()]
    instance = question(nodes, jobs)
    state = State(instance)
    preemption = Preemption(Placer(Scores(state, Strategy.BEST_FIT)))
    by_name = {each.name.split("/")[-1]: each for each in instance.jobs}
    assert not gone or preemption.make_room(by_name["k"].index)
    (m,) = by_name["m"].podsets
    state.add(m, Spot(0), -1)
    state.add(m, Spot(1), 1)
    assert preemption.make_room(by_name["j"].index)
    assert where(instance, state.placement(), "j") == {"b": 1}
    assert where(instance, state.placement(), "m") == {"a": 1}


def test_a_victim_is_back_once_a_move_for_others_leaves_it_room() -> None:
    """The gang takes one core of the two that ``moves`` leaves."""
    kinds = {"n": 3, "o": 2, "q": 1}
    gang = [pods(f"on-{n}", cpu=1, nodeSelector={"kind": n}) for n in "nq"]
    jobs = [
        job("victim", pods(cpu=1, on=["n"]), priority=1, movable=False),
        job("moves", pods(cpu=2, on=["n"]), priority=1, preemptible=False),
        job("first", pods(cpu=1, nodeSelector={"kind": "n"}), priority=9),
        job("gang", *gang, priority=8),
    ]
    nodes = [node(name, cpu=cpu, labels={"kind": name}) for name, cpu in kinds.items()]
    start = placed(instance := question(nodes, jobs), victim=[], first=["n"])
    placement = built(instance, relocate=True, start=start)
    assert where(instance, placement, "gang/on-n") == {"n": 1}
    assert where(instance, placement, "moves") == {"o": 1}
    assert where(instance, placement, "victim") == {"n": 1}


@pytest.mark.parametrize(
    ("victim", "preemptor"),
    [
        ({"priority": 9}, {}),
        ({"preemptible": False}, {}),
        ({}, {"preemptionPolicy": "Never"}),
    ],
    ids=["equal priority", "not preemptible", "Never preempts"],
)
def test_some_pods_never_give_way(victim: Document, preemptor: Document) -> None:
    held = job("r", pods(cpu=2, on=["a"]), **{"priority": 0, **victim})
    asking = job("j", pods(cpu=2), priority=9, **preemptor)
    instance = question([node("a", cpu=2)], [held, asking])
    assert built(instance) == instance.current


def test_a_gang_at_its_minimum_goes_whole_and_frees_what_it_held_elsewhere() -> None:
    jobs = [
        job("gang", pods(count=2, cpu=2, on=["a", "b"])),
        job("j", pods(cpu=2), priority=9),
        job("k", pods(cpu=2), priority=8),
    ]
    instance = question([node("a", cpu=2), node("b", cpu=2)], jobs)
    placement = built(instance)
    assert where(instance, placement, "gang") == {}
    assert where(instance, placement, "j")
    assert where(instance, placement, "k")


def whole_nodes(name: str, on: list[int]) -> Document:
    """A gang of pods that fill a node each."""
    return job(name, pods(count=len(on), cpu=2, on=[f"n{n}" for n in on]))


def test_no_gang_goes_of_which_no_node_is_needed() -> None:
    """Eight nodes: those of two gangs do, and neither of the other two has to go."""
    gangs = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [*range(6, 16, 2)], "d": [*range(7, 17, 2)]}
    running = [whole_nodes(name, on) for name, on in gangs.items()]
    jobs = [*running, job("j", pods(count=8, cpu=2), priority=9)]
    instance = question([node(f"n{i}", cpu=2) for i in range(17)], jobs)
    placement = built(instance)
    assert sum(where(instance, placement, "j").values()) == 8
    assert sum(bool(where(instance, placement, name)) for name in gangs) == 2


def test_a_gang_goes_rather_from_a_rack_of_its_own_than_one_that_is_mostly_elsewhere() -> None:
    """Two nodes of a rack: one is free in seven of them, and a gang over all has the other."""
    nodes = [node(f"n{i}", cpu=2, rack=f"b/r{i // 2}") for i in range(16)]
    asked = job("j", pods(count=2, cpu=2, topologyRequest={"required": "rack"}), priority=9)
    jobs = [whole_nodes("large", [*range(0, 14, 2)]), whole_nodes("small", [14, 15]), asked]
    instance = question(nodes, jobs)
    assert where(instance, built(instance), "j") == {"n14": 1, "n15": 1}


def test_where_displaced_gpus_count_first_the_fewest_gpus_go() -> None:
    """One pod of four GPUs, or two of one."""
    jobs = [
        job("large", pods(gpu=4, on=["a"])),
        job("small", pods(count=2, gpu=1, minCount=0, on=["b"] * 2)),
        job("stays", pods(gpu=2, on=["b"]), priority=9),
        job("j", pods(gpu=2), priority=9),
    ]
    nodes = [node("a", gpu=4), node("b", gpu=4)]
    displaced = [{"displaced": {"by": "priority", "unit": "gpu"}}]
    instance = question(nodes, jobs, objectives=["unplaced", *displaced, "evictions"])
    assert where(instance, built(instance), "small") == {}
    fewest = question(nodes, jobs, objectives=["unplaced", "evictions", *displaced])
    assert where(fewest, built(fewest), "large") == {}


def test_few_of_a_higher_priority_count_more_than_many_of_a_lower() -> None:
    """Three nodes: two that large pods leave which matter little, one that a small one leaves."""
    displaced = [{"displaced": {"by": "priority", "unit": "gpu"}}]
    jobs = [
        *(job(f"low{n}", pods(gpu=8, on=[n]), priority=1) for n in "cd"),
        *(job(f"high{n}", pods(gpu=1, on=[n]), priority=2) for n in "ab"),
        job("j", pods(count=3, gpu=8), priority=9),
    ]
    nodes = [node(n, gpu=8) for n in "abcd"]
    instance = question(nodes, jobs, objectives=["unplaced", *displaced, "evictions"])
    placement = built(instance)
    assert sum(bool(where(instance, placement, f"high{n}")) for n in "ab") == 1


def test_a_gang_with_members_to_spare_loses_only_those() -> None:
    elastic = job("gang", pods(count=3, minCount=1, on=["a"] * 3))
    instance = question([node("a", cpu=3)], [elastic, job("j", pods(cpu=2), priority=9)])
    assert where(instance, built(instance), "gang") == {"a": 1}
    greedy = question([node("a", cpu=3)], [elastic, job("j", pods(cpu=3), priority=9)])
    assert where(greedy, built(greedy), "gang") == {}


def test_disruption_mode_all_takes_the_whole_job_even_if_it_is_no_gang() -> None:
    jobs = [
        running("r", ["a", "b"], disruptionMode="all"),
        job("j", pods(cpu=1), priority=9),
    ]
    instance = question([node("a", cpu=1), node("b", cpu=1)], jobs)
    assert where(instance, built(instance), "r") == {}


def budget(allowed: int, name: str = "pdb") -> Document:
    selector = {"matchLabels": {"job": "r"}}
    return {"name": name, "selector": selector, "disruptionsAllowed": allowed}


@pytest.mark.parametrize(("allowed", "left"), [(0, 4), (1, 4), (2, 2), (3, 2)])
def test_a_budget_bears_what_it_allows(allowed: int, left: int) -> None:
    """The job needs two pods gone: a budget of one saves them all."""
    jobs = [running("r", ["a"] * 4), job("j", pods(cpu=2), priority=9)]
    instance = question([node("a", cpu=4)], jobs, podDisruptionBudgets=[budget(allowed)])
    assert where(instance, built(instance), "r") == {"a": left}


def test_a_pod_under_two_budgets_stays() -> None:
    jobs = [running("r", ["a"]), job("j", pods(cpu=1), priority=9)]
    budgets = [budget(5), budget(5, "other")]
    instance = question([node("a", cpu=1)], jobs, podDisruptionBudgets=budgets)
    assert built(instance) == instance.current


def test_a_limit_on_evictions_is_kept() -> None:
    jobs = [running("r", ["a"] * 4), job("j", pods(cpu=2), priority=9)]
    assert built(question([node("a", cpu=4)], jobs, limits={"evictions": 1})).placed(0) == 4
    assert built(question([node("a", cpu=4)], jobs, limits={"evictions": 2})).placed(0) == 2


def test_a_gang_with_a_required_domain_empties_the_one_that_costs_least() -> None:
    """Rack 2 has a free node already: only one pod must go there, two in rack 1."""
    nodes = [node(f"n{i}", cpu=2, rack=f"b/{1 + i // 2}") for i in range(4)]
    jobs = [
        running("r", ["n0", "n1", "n2"], cpu=2),
        job("j", pods(count=2, cpu=2, topologyRequest={"required": "rack"}), priority=9),
    ]
    instance = question(nodes, jobs)
    placement = built(instance)
    assert where(instance, placement, "j") == {"n2": 1, "n3": 1}
    assert where(instance, placement, "r") == {"n0": 1, "n1": 1}


def test_quota_that_lesser_jobs_hold_is_freed() -> None:
    """There is room on the node, but the queue's quota is used up by its own lesser job."""
    queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": 2}]}]
    jobs = [
        running("r", ["a", "a"], queueName="q"),
        running("other", ["a"]),
        job("j", pods(cpu=1), priority=9, queueName="q"),
    ]
    instance = question([node("a", cpu=9)], jobs, queues=queues)
    placement = built(instance)
    assert where(instance, placement, "r") == {"a": 1}
    assert where(instance, placement, "other") == {"a": 1}


def test_nobody_is_evicted_in_vain() -> None:
    """Even all lesser pods together leave too little: they all stay."""
    jobs = [
        running("r", ["a"] * 2),
        running("kept", ["a"] * 2, preemptible=False),
        job("j", pods(cpu=3), priority=9),
    ]
    instance = question([node("a", cpu=4)], jobs)
    assert built(instance) == instance.current


def test_a_later_victim_does_not_leave_an_earlier_one_out_in_the_cold() -> None:
    """Put-back holds for all victims together, whatever the strategy and the order."""
    jobs = [
        running("mid", ["a"] * 2, priority=5),
        running("low", ["a"] * 2, priority=1),
        job("top", pods(cpu=3), priority=9),
        job("next", pods(cpu=1), priority=6),
        job("weak", pods(cpu=1), priority=5),
    ]
    for strategy in Strategy:
        instance = question([node("a", cpu=4)], jobs)
        placement = built(instance, strategy)
        assert where(instance, placement, "top") == {"a": 1}
        assert where(instance, placement, "low") == {}


def test_without_preemption_nobody_gives_way() -> None:
    jobs = [running("r", ["a"]), job("j", pods(cpu=1), priority=9)]
    instance = question([node("a", cpu=1)], jobs)
    assert built(instance, preempt=False) == instance.current


def test_counts_too_only_lets_lesser_jobs_give_way() -> None:
    jobs = [
        running("r", ["a"], priority=5),
        job("equal", pods(cpu=1), priority=5),
    ]
    instance = question([node("a", cpu=1)], jobs, rules={"priority": "counts"})
    assert built(instance) == instance.current
