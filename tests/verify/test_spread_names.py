"""Of equals that wait, each that is in a victim's room is who that victim gives way to."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.problem.instance import Instance
from kantopt.verify.step import Step
from tests.verify.test_spared import named, pending, running, step
from tests.verify.world import job, node, pods, question

ABC = "abc"


def full(*more: Any, nodes: str = ABC) -> Instance:
    """Nodes each full of one victim, and jobs that wait."""
    return question([node(n) for n in nodes], [*(running(f"v{n}", n) for n in nodes), *more])


def gone(instance: Instance, nodes: str = ABC, **where: Any) -> Step:
    return step(instance, **{f"v{n}": [] for n in nodes}, **where)


def test_each_victim_gives_way_to_the_equal_that_has_its_room() -> None:
    """Each needs one of them, whoever it is: none is in the queue before two victims' room."""
    instance = full(*(pending(f"w{n}") for n in ABC))
    made = gone(instance, wa=["c"], wb=["a"], wc=["b"])
    assert named(made) == {"va": "wb", "vb": "wc", "vc": "wa"}


def test_victims_on_one_node_give_way_to_one_equal_each() -> None:
    halves = [running(f"v{i}", "a", cpu=2) for i in "12"]
    jobs = [*halves, pending("first", cpu=2), pending("later", cpu=2)]
    made = step(question([node("a")], jobs), v1=[], v2=[], first=["a"], later=["a"])
    assert named(made) == {"v1": "first", "v2": "later"}


@pytest.mark.parametrize("free", [0, 1, 2])
def test_who_is_first_among_equals_has_what_is_free_and_each_of_the_others_a_victim(
    free: int,
) -> None:
    waiting = [pending(f"w{i}") for i in range(3)]
    jobs = [*(running(f"v{n}", n) for n in ABC[free:]), *waiting]
    instance = question([node(n) for n in ABC], jobs)
    lost: dict[str, Any] = {f"v{n}": [] for n in ABC[free:]}
    there = {f"w{i}": [n] for i, n in zip((2, 0, 1), ABC, strict=True)}
    names = named(step(instance, **lost, **there))
    assert len(set(names.values())) == 3 - free
    if free:
        assert "w0" not in names.values()


def test_a_lesser_job_that_has_what_is_free_is_still_who_the_victim_gives_way_to() -> None:
    nodes = [node("a"), node("b")]
    lesser = job("lesser", pods(cpu=4), priority=50)
    jobs = [running("va", "a"), pending("first"), lesser]
    made = step(question(nodes, jobs), va=[], first=["a"], lesser=["b"])
    assert named(made) == {"va": "lesser"}
