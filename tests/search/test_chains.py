"""Single pods that move for each other: chains, put-back, and who gives way to whom."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.chains import rooms
from kantopt.search.chains.chain import put, replace, settle
from kantopt.search.chains.gather import gather
from kantopt.search.chains.improve import improve as chains
from kantopt.search.chains.packing import Packing
from kantopt.search.chains.scope import scope_of
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.search.helpers import Witness, built, searching, where
from tests.verify.world import HOST, job, node, placed, pods, question

improve = searching(chains)

OBJECTIVES = ({"unplaced": {"unit": "pod"}}, {"evictions": {"by": "all"}}, "moves")
COUNTS = {"priority": "counts"}
BRIEF = Deadline(1.0, deterministic=True)


def improved(instance: Instance, start: Placement | None = None) -> Placement:
    """Improve, and insist that the judge finds nothing wrong."""
    found = improve(instance, start or instance.current, tiers_of(instance), BRIEF)
    assert check(instance, found) == []
    return found


def ask(nodes: list[Any], jobs: list[Any], **more: Any) -> Instance:
    return question(nodes, jobs, objectives=OBJECTIVES, **more)


def staircase(steps: int, **more: Any) -> Instance:
    """Nodes of 1, 2, ... cores, each but the smallest with a pod of one core less; one pod waits.

    Only the largest node has room for it, and every pod of the staircase has to step down.
    """
    nodes = [node(f"n{size}", cpu=size) for size in range(1, steps + 2)]
    jobs = [job(f"j{size}", pods(cpu=size, on=[f"n{size + 1}"])) for size in range(1, steps + 1)]
    return ask(nodes, [*jobs, job("new", pods(cpu=steps + 1))], **more)


@pytest.mark.parametrize("steps", [1, 2, 3, 4])
def test_pods_step_aside_one_after_the_other(steps: int) -> None:
    instance = staircase(steps)
    found = improved(instance)
    assert where(instance, found, "new") == {f"n{steps + 1}": 1}
    assert measure(instance, found, tiers_of(instance)) == (0, 0, steps)


def test_a_chain_longer_than_the_limit_on_moves_is_not_begun() -> None:
    for most, moves in ((2, 0), (3, 3)):
        instance = staircase(3, limits={"moves": most})
        assert measure(instance, improved(instance), tiers_of(instance))[-1] == moves


def test_a_victim_comes_back_where_who_came_evicts_whom_it_may_not() -> None:
    """The new pod took the node of ``mid``, which may not evict ``low``; the new one may."""
    jobs = [
        job("mid", pods(cpu=2, on=["a"]), priority=5),
        job("low", pods(cpu=2, on=["b"]), priority=1),
        job("new", pods(cpu=2), priority=9),
    ]
    objectives = [{"unplaced": {"by": "priority", "unit": "pod"}}, "evictions"]
    instance = question([node("a", cpu=2), node("b", cpu=2)], jobs, objectives=objectives)
    start = placed(instance, new=["a"], mid=[])
    packing = Packing(scope_of(instance, start), tiers_of(instance), (0,) * 9, 0)
    jobs_of = [instance.jobs[group.job].name for group in packing.scope.groups]
    names = [name.removeprefix("default/") for name in jobs_of]
    assert replace(packing, names.index("mid"), 0.0) == [names.index("low")]
    assert [packing.on[names.index(name)] for name in ("mid", "low", "new")] == [{0: 1}, {}, {1: 1}]


def service(name: str, on: list[str], **more: Any) -> Any:
    """Replicas of which a node holds one."""
    away = [{"topologyKey": HOST, "labelSelector": {"matchLabels": {"job": name}}}]
    return job(name, pods(count=len(on), on=on, podAntiAffinity=away), **more)


def test_replicas_that_keep_apart_step_aside_to_a_node_without_one() -> None:
    """On a one of them makes room; on d there is one already, so it goes to c."""
    rest = job("rest", pods(count=5, on=["a", "b", "b", "c", "c"]), movable=False)
    left = ask(
        [node("a", cpu=2), node("b", cpu=3), node("c", cpu=3), node("d", cpu=4)],
        [service("s", ["a", "b", "d"]), rest, job("new", pods(nodeSelector={HOST: "a"}))],
    )
    found = improved(left)
    assert where(left, found, "new") == {"a": 1}
    assert where(left, found, "s") == {"b": 1, "c": 1, "d": 1}


def test_replicas_that_keep_apart_stay_where_every_other_node_has_one() -> None:
    nodes = [node("a", cpu=1), node("b", cpu=9), node("c", cpu=9)]
    instance = ask(
        nodes, [service("s", ["a", "b", "c"]), job("new", pods(nodeSelector={HOST: "a"}))]
    )
    assert where(instance, improved(instance), "new") == {}


def test_a_chain_that_is_taken_back_finds_pods_where_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each node has slots for the groups on it, and more of them when another group comes."""
    monkeypatch.setattr(rooms, "SLOTS", 1)
    names = ("a", "b", "c")
    nodes = [*(node(name, cpu=2, labels={"pool": "x"}) for name in names), node("d", cpu=1)]
    full = [job(f"on-{name}", pods(count=2, on=[name, name])) for name in names]
    instance = ask(nodes, [*full, job("new", pods(nodeSelector={"pool": "x"}))])
    tiers = tiers_of(instance)
    scope = scope_of(instance, instance.current)
    packing = Packing(scope, tiers, measure(instance, instance.current, tiers), 0)
    packing.limited, before = True, packing.snapshot()
    monkeypatch.setattr(Packing, "broken", lambda _: 1)  # no chain is good enough
    (waits,) = filter(packing.waits, range(packing.count))
    assert not put(packing, waits, 0.0)
    assert packing.snapshot() == before


def test_of_two_chains_the_one_through_a_pod_that_has_moved_already_is_taken() -> None:
    """Both x and y could leave for c; x was moved before, so its leaving costs nothing."""
    instance = ask(
        [node("a", cpu=2), node("b", cpu=2), node("c", cpu=1), node("d", cpu=1)],
        [
            job("x", pods(cpu=1, on=["d"])),
            job("y", pods(cpu=1, on=["b"])),
            job("new", pods(cpu=2)),
            job("late", pods(cpu=1)),
        ],
    )
    start = placed(instance, x=["a"], late=["d"])
    found = improved(instance, start)
    assert measure(instance, found, tiers_of(instance)) == (0, 0, 0)


def test_pods_that_were_moved_for_nothing_are_put_back() -> None:
    instance = ask([node("a"), node("b")], [job("x", pods(on=["a"])), job("y", pods(on=["b"]))])
    assert improved(instance, placed(instance, x=["b"], y=["a"])) == instance.current


def test_a_pod_that_was_evicted_for_nothing_comes_back() -> None:
    instance = ask([node("a"), node("b")], [job("x", pods(on=["a"])), job("new", pods(cpu=4))])
    start = placed(instance, x=[], new=["a"])
    found = improved(instance, start)
    assert where(instance, found, "x") == {"a": 1}
    assert where(instance, found, "new") == {"b": 1}


def test_the_least_important_makes_room_and_only_for_a_more_important_one() -> None:
    running = [
        job("middle", pods(cpu=2, on=["a"]), priority=5),
        job("low", pods(cpu=2, on=["b"]), priority=1),
    ]
    nodes = [node("a", cpu=2), node("b", cpu=2)]
    instance = ask(nodes, [*running, job("high", pods(cpu=2), priority=9)])
    found = improved(instance)
    assert where(instance, found, "high")
    assert where(instance, found, "middle")
    assert not where(instance, found, "low")
    instance = ask(nodes, [*running, job("equal", pods(cpu=2), priority=1)])
    assert improved(instance) == instance.current


def test_several_pods_on_a_node_make_room_together() -> None:
    running = [job(f"low{i}", pods(cpu=1, on=["a"]), priority=1) for i in range(3)]
    instance = ask([node("a", cpu=3)], [*running, job("high", pods(cpu=2), priority=9)])
    found = improved(instance)
    assert where(instance, found, "high") == {"a": 1}
    assert measure(instance, found, tiers_of(instance)) == (0, 2, 2, 0)


def test_an_equal_makes_room_for_two_only_where_nothing_but_counts_matters() -> None:
    """One pod of two cores or two of one core each, all of the same priority."""
    jobs = [job("large", pods(cpu=2, on=["a"])), job("x", pods(cpu=1)), job("y", pods(cpu=1))]
    nodes = [node("a", cpu=2)]
    strict = ask(nodes, jobs)
    assert improved(strict) == strict.current
    counts = ask(nodes, jobs, rules=COUNTS)
    assert measure(counts, improved(counts), tiers_of(counts)) == (1, 1, 0)


def test_no_more_pods_are_evicted_than_the_limit_allows() -> None:
    jobs = [job("low", pods(cpu=2, on=["a"])), job("high", pods(cpu=2), priority=9)]
    for most in (0, 1):
        instance = ask([node("a", cpu=2)], jobs, limits={"evictions": most})
        assert len(where(instance, improved(instance), "high")) == most


@pytest.mark.parametrize(
    "pinned",
    [{"movable": False}, {"movable": False, "preemptible": False}, {"nodeSelector": {"x": "y"}}],
    ids=str,
)
def test_a_pod_that_may_not_go_anywhere_else_stays(pinned: dict[str, Any]) -> None:
    """Room for both there is, were it not for the pod that stays."""
    instance = ask(
        [node("a", cpu=2, labels={"x": "y"}), node("b", cpu=1)],
        [job("x", pods(cpu=1, on=["a"], **pinned)), job("new", pods(cpu=2))],
    )
    assert improved(instance) == instance.current


def test_a_pod_that_may_not_be_evicted_may_still_move() -> None:
    jobs = [
        job("x", pods(cpu=1, on=["a"], preemptible=False)),
        job("new", pods(cpu=2), priority=9),
    ]
    instance = ask([node("a", cpu=2)], jobs)
    assert improved(instance) == instance.current
    instance = ask([node("a", cpu=2), node("b", cpu=1)], jobs)
    assert where(instance, improved(instance), "x") == {"b": 1}


def test_members_of_a_gang_move_but_none_is_left_out_or_added() -> None:
    nodes = [node("a", cpu=2), node("b", cpu=1), node("c", cpu=1)]
    gang = job("gang", pods(count=2, cpu=1, on=["a", "c"]))
    instance = ask(nodes, [gang, job("new", pods(cpu=2), priority=9)])
    found = improved(instance)
    assert where(instance, found, "gang") == {"b": 1, "c": 1}
    assert where(instance, found, "new") == {"a": 1}
    tight = ask([nodes[0], nodes[2]], [gang, job("new", pods(cpu=2), priority=9)])
    assert improved(tight) == tight.current


def test_members_of_a_gang_beyond_its_minimum_come_and_go() -> None:
    nodes = [node("a", cpu=3)]
    gang = job("gang", pods(count=3, cpu=1, on=["a"] * 3, minCount=1))
    instance = ask(nodes, [gang, job("new", pods(cpu=2), priority=9)])
    found = improved(instance)
    assert where(instance, found, "gang") == {"a": 1}
    assert where(instance, found, "new") == {"a": 1}
    more = job("gang", pods(count=3, cpu=1, on=["a"], minCount=1))
    instance = ask(nodes, [more])
    assert measure(instance, improved(instance), tiers_of(instance)) == (0, 0, 0, 0)


def test_a_gang_that_does_not_stand_is_begun_only_where_one_member_is_enough() -> None:
    for least, most in ((1, 3), (2, 0)):
        gang = job("gang", pods(count=3, cpu=1, minCount=least))
        instance = ask([node("a", cpu=3)], [gang])
        scope = scope_of(instance, instance.current)
        assert [group.most for group in scope.groups] == [most]


BUDGET = {"name": "b", "namespace": "default", "selector": {}}


def test_pods_under_a_budget_that_bears_a_disruption_step_aside() -> None:
    for allowed, moves in ((0, 0), (1, 3)):
        budgets = [{**BUDGET, "disruptionsAllowed": allowed}]
        instance = staircase(3, podDisruptionBudgets=budgets)
        assert measure(instance, improved(instance), tiers_of(instance))[-1] == moves


def test_no_more_pods_are_evicted_than_budgets_bear() -> None:
    jobs = [job("low", pods(count=3, cpu=1, minCount=0, on=["a"] * 3))]
    jobs += [job(f"high{i}", pods(cpu=1), priority=9) for i in range(3)]
    for allowed in range(4):
        budgets = [{**BUDGET, "disruptionsAllowed": allowed}]
        instance = ask([node("a", cpu=3)], jobs, podDisruptionBudgets=budgets)
        found = improved(instance)
        assert sum(len(where(instance, found, f"high{i}")) for i in range(3)) == allowed


def test_pods_under_quotas_change_places_and_no_more_come_than_quotas_admit() -> None:
    """Three wait that have room once one has stepped aside; the queue admits some of them."""
    for nominal, comes in ((3, 0), (4, 1), (5, 2), (90, 2)):
        jobs = [job("old", pods(count=3, cpu=1, minCount=0, on=["a", "b", "b"]), queueName="q")]
        jobs += [job("new", pods(count=3, cpu=1, minCount=0), queueName="q")]
        queues = [{"name": "q", "resources": [{"name": "cpu", "nominalQuota": nominal}]}]
        instance = ask([node("a", cpu=3), node("b", cpu=2)], jobs, queues=queues)
        assert sum(where(instance, improved(instance), "new").values()) == comes


def test_crumbs_of_room_on_two_nodes_become_room_for_one_more_pod() -> None:
    """One core is left on each node; no chain helps, but six cores for five do."""
    instance = ask(
        [node("a", cpu=10), node("b", cpu=10)],
        [
            job("a6", pods(cpu=6, on=["a"])),
            job("a3", pods(cpu=3, on=["a"])),
            job("b5", pods(cpu=5, on=["b"])),
            job("b4", pods(cpu=4, on=["b"])),
            job("new", pods(cpu=2)),
        ],
    )
    tiers = tiers_of(instance)
    scope = scope_of(instance, instance.current)
    packing = Packing(scope, tiers, measure(instance, instance.current, tiers), 0)
    settle(packing, [], 0.0, None, lambda: False)
    assert packing.value() == (0, 1, 0, 0)
    assert gather(packing, random.Random(0), lambda: False)
    after = scope.placement(packing.snapshot())
    assert check(instance, after) == []
    assert measure(instance, after, tiers) == (0, 0, 2)


def test_replicas_are_interchangeable() -> None:
    """A running and a new pod of one role: the new one takes the small node, nobody moves."""
    instance = ask(
        [node("a", cpu=1), node("b", cpu=2)],
        [
            job("x", pods(count=2, cpu=1, minCount=0, on=["b"])),
            job("new", pods(cpu=1)),
        ],
    )
    found = improved(instance)
    assert measure(instance, found, tiers_of(instance)) == (0, 0, 0)


def test_an_unlimited_resource_is_no_obstacle() -> None:
    instance = ask([node("a", cpu=100)], [job(f"j{i}", pods(cpu=1)) for i in range(5)])
    assert measure(instance, improved(instance), tiers_of(instance)) == (0,)


def test_when_the_time_is_up_the_start_is_the_answer() -> None:
    instance = staircase(2)
    tiers = tiers_of(instance)
    assert improve(instance, instance.current, tiers, Deadline(0.0)) is instance.current


def test_chains_begin_with_nobody_where_others_have_taken_the_room() -> None:
    """From where pods run now, low has not been evicted, though the gang stays in its place."""
    nodes = [node(name, cpu=1, rack="x/y") for name in ("a", "b")]
    gang = pods(count=2, topologyRequest={"required": "rack"})
    jobs = [
        job("low", pods(on=["a"]), priority=1, movable=False),
        job("gang", gang, priority=9, minCount=2),
        job("late", pods(), priority=1),
    ]
    instance = ask(nodes, jobs, rules=COUNTS)
    start = built(instance)
    assert where(instance, start, "gang") == {"a": 1, "b": 1}
    chains(Witness(instance, tiers_of(instance), start), BRIEF)


def test_the_room_of_victims_that_chains_leave_alone_is_kept_for_those_who_may_evict_them() -> None:
    """All of the gang goes for the pod that needs a; on b there is room, but not for a lesser."""
    nodes = [node("a", cpu=1), node("b", cpu=1), node("c", cpu=1)]
    jobs = [
        job("gang", pods(count=2, on=["a", "b"]), priority=5, movable=False, disruptionMode="all"),
        job("new", pods(nodeSelector={HOST: "a"}), priority=9),
        job("late", priority=1),
        job("later", priority=1),
    ]
    instance = ask(nodes, jobs)
    start = placed(instance, gang=[], new=["a"], late=["c"])
    chains(Witness(instance, tiers_of(instance), start), BRIEF)


def test_chains_go_on_around_a_gang_that_has_gone_whole_though_one_of_its_homes_is_free() -> None:
    """It would come back whole or not at all, and its other home is taken."""
    nodes = [node(name, cpu=1) for name in "abcd"]
    jobs = [
        job("gang", pods(count=2, on=["a", "b"]), priority=5, minCount=2),
        job("new", pods(nodeSelector={HOST: "a"}), priority=9),
        job("aside", pods(on=["c"]), priority=9),
    ]
    instance = ask(nodes, jobs)
    start = placed(instance, gang=[], new=["a"], aside=["d"])
    assert improved(instance, start) == placed(instance, gang=[], new=["a"])


def test_each_improvement_is_told_and_better_than_the_one_before() -> None:
    instance = staircase(4)
    told: list[Placement] = []
    tiers = tiers_of(instance)
    best = improve(instance, instance.current, tiers, BRIEF, found=told.append)
    values = [measure(instance, found, tiers) for found in (instance.current, *told)]
    assert told[-1] is best
    assert values == sorted(set(values), reverse=True)
