"""Whom a plan disturbs, of plans that disturb as many."""

from __future__ import annotations

import pytest

from kantopt.schema.answers.explanation import Explanation
from tests.explain.helpers import asked, explained
from tests.verify.world import Document, job, node, pods


def told_of(jobs: list[Document]) -> Explanation:
    """Explain a job among others on four nodes."""
    return explained(asked([node(f"n{i}", cpu=9, gpu=8) for i in range(4)], jobs))


def test_of_as_many_moves_those_that_lose_least_and_then_the_least_important_are_made() -> None:
    """Two of four pods have to move: neither old ones nor those of a service."""
    began = {"old": 0, "new": 59}
    jobs = [
        job(
            f"{age}{i}",
            pods(gpu=4, on=[f"n{k}"]),
            startTime=f"2026-01-01T00:{began[age]:02d}:00Z",
        )
        for k, (age, i) in enumerate((age, i) for age in began for i in range(2))
    ]
    told = told_of([*jobs, job("j", pods(count=2, gpu=8))])
    assert told.verdict.message.endswith(" with 2 pods moved; no plan disturbs less.")
    assert told.plan is not None
    assert {item.job for item in told.plan.moves} == {"default/new0", "default/new1"}
    equal = [job(f"p{k}", pods(gpu=4, on=[f"n{k}"]), priority=(5, 0, 5, 0)[k]) for k in range(4)]
    told = told_of([*equal, job("j", pods(count=2, gpu=8))])
    assert told.plan is not None
    assert {item.job for item in told.plan.moves} == {"default/p1", "default/p3"}


@pytest.mark.parametrize("gpus", [(8, 4), (4, 8)])
def test_of_as_many_evictions_those_that_displace_the_fewest_gpus_are_shown(
    gpus: tuple[int, int],
) -> None:
    """As ``kantopt plan`` has it, which leaves as little unplaced as it can."""
    nodes = [node(f"n{i}", gpu=k) for i, k in enumerate(gpus)]
    jobs = [job(f"of{k}", pods(gpu=k, on=[f"n{i}"])) for i, k in enumerate(gpus)]
    told = explained(asked(nodes, [*jobs, job("j", pods(gpu=4), priority=9)]))
    assert told.verdict.message.endswith(" with 1 pod evicted; no plan disturbs less.")
    assert told.plan is not None
    assert [item.job for item in told.plan.evictions] == ["default/of4"]


def test_of_victims_that_cost_the_same_the_one_of_fewer_pods_is_shown() -> None:
    nodes = [node("n0"), node("n1")]
    whole = [
        job("three", pods(count=3, on=["n0"] * 3), disruptionMode="all"),
        job("one", pods(cpu=3, on=["n1"]), disruptionMode="all"),
    ]
    told = explained(asked(nodes, [*whole, job("j", pods(cpu=4), priority=9)]))
    assert told.plan is not None
    assert [item.job for item in told.plan.evictions] == ["default/one"]


def test_where_it_was_not_weighed_who_of_equals_moves_the_verdict_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kantopt.search.explain.decide.is_small", lambda _, *, most=0: most > 0)
    jobs = [job(f"p{k}", pods(gpu=4, on=[f"n{k}"])) for k in range(4)]
    told = told_of([*jobs, job("j", pods(count=2, gpu=8))])
    assert told.verdict.message.endswith("and their cost was not compared.")
