"""Parts put together: what is legal and what is proved of the whole."""

from __future__ import annotations

from typing import Any

from kantopt.problem.derived.parts import Part
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.known import Bound
from kantopt.search.parts.assembly import Assembly, justified, need_of
from kantopt.search.parts.division import parts_of
from kantopt.verify.rules import check
from tests.pools import NODES, POOLS, running, waiting
from tests.verify.world import job, node, placed, pods, question

# An eviction in one part may need what another part places.


def outsiders() -> tuple[Instance, tuple[Part, ...]]:
    """In pool a, a victim is on a node that is overfull; only pool b has a preemptor."""
    nodes = [node("a1", cpu=0, labels=POOLS["a"]), node("a2", labels=POOLS["a"]), NODES[1]]
    stays = {"movable": False}
    jobs = [
        running("victim", "a1", priority=1, **stays),
        job(
            "mover", pods(cpu=1, on=["a2"], nodeSelector=POOLS["a"]), priority=1, preemptible=False
        ),
        waiting("modest", "a", priority=6, preemptionPolicy="Never"),
        waiting("boss", "b", priority=5),
    ]
    instance = question(nodes, jobs, objectives=["unplaced", "evictions"])
    parts = parts_of(instance, tiers_of(instance))
    return instance, tuple(sorted(parts, key=lambda part: part.share.nodes))


def test_a_job_elsewhere_is_in_the_part_whose_pods_might_be_evicted_for_it() -> None:
    _, (first, second) = outsiders()
    assert (first.share.outsider, second.share.outsider) == (5, None)
    assert [job.name for job in first.instance.jobs][-1] == "elsewhere"


def test_an_eviction_for_a_job_elsewhere_is_legal_if_that_is_placed() -> None:
    instance, parts = outsiders()
    alone, together = placed(instance, victim=[]), placed(instance, victim=[], boss=["b1"])
    assert [v.rule for v in check(instance, alone)] == ["priority"]
    assert check(instance, together) == []
    for placement, legal in ((alone, False), (together, True)):
        assert [check(part.instance, part.cut(placement)) for part in parts] == [[], []]
        needs = [need_of(part, part.cut(placement)) for part in parts]
        assert justified(needs) is legal


def test_parts_that_are_not_legal_together_fall_back_on_what_is() -> None:
    instance, parts = outsiders()
    tiers = tiers_of(instance)
    assembly = Assembly(instance, parts, tiers, None)
    first, second = assembly.members
    swapped = placed(instance, victim=[], mover=["a1"], modest=["a2"])
    assert first.take(parts[0].cut(swapped))
    assert assembly.placement() == instance.current
    assert second.take(parts[1].cut(placed(instance, boss=["b1"])))
    assert assembly.placement() == placed(
        instance, victim=[], mover=["a1"], modest=["a2"], boss=["b1"]
    )


# Bounds.


def two_halves() -> tuple[Instance, Assembly]:
    jobs = [waiting(f"{pool}{i}", pool, priority=i) for pool in "ab" for i in (1, 2)]
    tiers: list[Any] = [{"unplaced": {"by": "all", "unit": "pod"}}, "moves"]
    jobs += [job("r", pods(cpu=0, on=["a1"], nodeSelector=POOLS["a"]))]
    instance = question(NODES, jobs, objectives=tiers)
    parts = parts_of(instance, tiers_of(instance))
    return instance, Assembly(instance, parts, tiers_of(instance), None)


def test_bounds_of_the_first_open_tier_add_up() -> None:
    _, assembly = two_halves()
    for member in assembly.members:
        member.best.prove(Bound(0, 2, (), "cp-sat"))
    assert next(assembly.bounds((4, 0))) == Bound(0, 4, (), "cp-sat")


def test_below_an_open_tier_only_what_holds_in_spite_of_the_slack_adds_up() -> None:
    _, assembly = two_halves()
    for member in assembly.members:
        member.best.prove(Bound(0, 1, (), "cp-sat"))
        member.best.prove(Bound(1, 3, (1,), "cp-sat"))
        member.best.prove(Bound(1, 2, (2,), "cp-sat"))
    assert [bound.bound for bound in assembly.bounds((2, 9))] == [2, 6]
    assert [bound.bound for bound in assembly.bounds((3, 9))] == [2, 4]
    assert [bound.bound for bound in assembly.bounds((4, 9))] == [2, 0]
