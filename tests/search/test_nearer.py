"""Plans come nearer to the last one by steps that no objective minds."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.problem.tiers import tiers_of
from kantopt.search.engine.incumbent import Incumbent
from kantopt.search.nearer import nearer
from tests.search.helpers import where
from tests.verify.world import Document, job, node, placed, pods, question

NODES = [node(name, cpu=4) for name in "abc"]


def whole(name: str) -> Document:
    """Make a job of one pod that fills a node."""
    return job(name, pods(count=1, cpu=4))


def asked(*jobs: Document, **last: str) -> Instance:
    wants = [
        {"job": f"default/{name}", "podSet": "main", "state": "pending", "nodes": {at: 1}}
        for name, at in last.items()
    ]
    return question(NODES, jobs, objectives=["unplaced", "changes_to_plan"], last_plan=wants)


def brought(instance: Instance, now: Placement, last: Placement) -> Placement:
    best = Incumbent(instance, tiers_of(instance), now)
    nearer(best, last, lambda: False, "returning")
    return best.placement


def test_a_pod_goes_where_the_last_plan_wants_it() -> None:
    instance = asked(whole("x"), x="a")
    last = placed(instance, x=["a"])
    assert brought(instance, placed(instance, x=["b"]), last) == last


def test_two_pods_that_stand_in_each_others_place_go_together() -> None:
    instance = asked(whole("x"), whole("y"), x="a", y="b")
    last = placed(instance, x=["a"], y=["b"])
    assert brought(instance, placed(instance, x=["b"], y=["a"]), last) == last


def test_a_pod_that_the_last_plan_says_nothing_of_makes_way_in_exchange() -> None:
    instance = asked(whole("x"), whole("new"), x="a")
    now = placed(instance, x=["b"], new=["a"])
    found = brought(instance, now, placed(instance, x=["a"], new=["a"]))
    assert where(instance, found, "x") == {"a": 1}
    assert where(instance, found, "new") == {"b": 1}


def test_nothing_is_given_up_for_it_and_nothing_done_when_it_is_late() -> None:
    instance = asked(whole("x"), whole("new"), x="a")
    now = placed(instance, x=["b"], new=["a"])
    nobody_new = placed(instance, x=["a"], new=[])
    best = Incumbent(instance, tiers_of(instance), now)
    nearer(best, nobody_new, lambda: True, "returning")
    assert best.placement == now
    nearer(best, nobody_new, lambda: False, "returning")
    assert where(instance, best.placement, "new") != {}, "more objectives would lose than gain"
