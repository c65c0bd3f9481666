"""A plan after another: it begins with what still stands, and is never worse for it."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest

from kantopt.clock import Deadline
from kantopt.planning.later.kept import moved_again, still_legal
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.problem.cluster import Spot
from kantopt.problem.tiers import tiers_of
from kantopt.report.plan_difference import plan_difference
from kantopt.schema.answers.plan import Plan
from kantopt.schema.jobs import PodRef
from kantopt.schema.model import Model
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.questions import model, question
from tests.render.plans import bind, move
from tests.render.plans import make_plan as written

MODEL = model("unplaced", "evictions", "moves", "fragmented_nodes")


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "allocatable": {"cpu": 64, "nvidia.com/gpu": 8}, **more}


def job(name: str, gpus: int, count: int = 1, on: Sequence[str] = (), **more: Any) -> Any:
    podset = {
        "count": count,
        "requests": {"cpu": 4, "nvidia.com/gpu": gpus},
        "pods": [{"name": f"{name}-{i}", "uid": f"u-{name}-{i}"} for i in range(count - len(on))],
        "assignments": [
            {"node": n, "count": 1, "pods": [{"name": f"{name}-{i}", "uid": f"u-{name}-{i}"}]}
            for i, n in enumerate(on)
        ],
    }
    return {"name": name, "podSets": [podset], **more}


def crowded(seed: int, nodes: int = 6) -> Question:
    """A cluster that is half full of small jobs, with as much waiting as there is room for."""
    rng = random.Random(seed)
    names = [f"n{i:02d}" for i in range(nodes)]
    free = dict.fromkeys(names, 8)
    running, pending = [], []
    for i in range(nodes * 2):
        gpus, name = rng.choice((1, 1, 2, 3)), rng.choice(names)
        if free[name] >= gpus:
            free[name] -= gpus
            running.append(job(f"r{i:02d}", gpus, on=[name], priority=rng.choice((1, 2))))
    for i in range(nodes):
        gpus, count = rng.choice(((8, 1), (4, 2), (2, 2), (1, 3)))
        pending.append(job(f"p{i:02d}", gpus, count, priority=rng.choice((2, 3))))
    return question([node(name) for name in names], running, pending)


def planned(asked: Question, wanted: Model = MODEL, last: Plan | None = None) -> Plan:
    settings = Options(engine="fast", workers=1)
    deadline = Deadline.within(30.0, deterministic=True)
    return make_plan(asked, wanted, settings, deadline, last=last).plan


def values(plan: Plan) -> list[int]:
    return [tier.value for tier in plan.objectives]


def churn(last: Plan, plan: Plan) -> int:
    difference = plan_difference(last, plan)
    return len(difference.new) + len(difference.gone) + len(difference.changed)


def one_job_more(asked: Question, seed: int) -> Question:
    """The same cluster a little later: one job more waits, a running one has ended."""
    rng = random.Random(seed)
    gone = rng.randrange(len(asked.snapshot.jobs))
    jobs = tuple(each for i, each in enumerate(asked.snapshot.jobs) if i != gone)
    more = question([], [], [job("later", 1, priority=2)]).pending
    snapshot = asked.snapshot.model_copy(update={"jobs": jobs})
    return replace(asked, snapshot=snapshot, pending=(*asked.pending, *more))


def test_what_was_announced_stays_where_nothing_better_comes_up() -> None:
    with_last = without = 0
    for seed in range(3):
        asked = crowded(seed)
        first = planned(asked)
        later = one_job_more(asked, seed)
        anew, kept = planned(later), planned(later, last=first)
        instance = later.instance(MODEL)
        start = still_legal(later, instance, first, Deadline(None))
        assert values(kept) <= list(measure(instance, start, tiers_of(instance)))
        without += churn(first, anew)
        with_last += churn(first, kept)
    assert 4 * with_last < 3 * without, (with_last, without)


@pytest.mark.parametrize("seed", range(3))
def test_the_same_question_gets_the_same_plan_or_a_better_one(seed: int) -> None:
    asked = crowded(seed)
    first = planned(asked)
    again = planned(asked, last=first)
    assert values(again) <= values(first)
    if values(again) == values(first):
        assert churn(first, again) == 0
        assert again.solver.found_by == "last-plan"


@pytest.mark.parametrize("seed", range(4))
def test_what_is_kept_is_legal_however_the_cluster_has_changed(seed: int) -> None:
    rng = random.Random(seed)
    asked = crowded(seed)
    first = planned(asked)
    nodes = [
        each.model_copy(update={"unschedulable": rng.random() < 0.2})
        for each in asked.snapshot.nodes
        if rng.random() < 0.8
    ]
    names = {each.name for each in nodes}
    jobs = tuple(
        each
        for each in asked.snapshot.jobs
        if rng.random() < 0.8 and each.pod_sets[0].assignments[0].node in names
    )
    snapshot = asked.snapshot.model_copy(update={"nodes": tuple(nodes), "jobs": jobs})
    today = replace(asked, snapshot=snapshot, pending=asked.pending[1:])
    instance = today.instance(MODEL)
    kept = still_legal(today, instance, first, Deadline(None))
    assert check(instance, kept) == []
    start = list(measure(instance, kept, tiers_of(instance)))
    assert values(planned(today, last=first)) <= start


def test_a_plan_without_a_purpose_any_more_is_not_kept() -> None:
    """The job for which another moved is gone: nobody moves."""
    nodes = [node("a"), node("b")]
    stray = job("stray", 2, on=["a"])
    other = job("other", 4, on=["b"])
    asked = question(nodes, [stray, other], [job("large", 8)])
    first = planned(asked)
    assert [move.job for move in first.moves] == ["default/stray"]
    kept = planned(replace(asked, pending=()), last=first)
    assert not kept.summary.changes


@pytest.mark.parametrize(
    ("before", "planned", "now", "leaves", "told"),
    [
        ("ab", "a", "ab", "a", 0),  # nobody has followed the plan yet
        ("ab", "a", "cb", "c", 0),  # all went well, and it moves on
        ("ab", "a", "db", "d", 1),  # it came up elsewhere
        ("ab", "a", "db", "b", 0),  # the other one moves
        ("ab", "a", "cd", "d", 0),  # all went well, and the other one was made anew elsewhere
        ("ab", "a", "abd", "d", 0),  # one more came
        ("ab", "a", "dbd", "dd", 1),  # it came up where one more came
        ("aab", "aa", "cdb", "c", 0),  # one came up elsewhere, the other one moves
        ("aab", "aa", "ccd", "d", 0),  # all went well with both
        ("aad", "aa", "dde", "dd", 1),  # of the two there one was there before
    ],
)
def test_pods_that_came_up_elsewhere_than_planned_and_move_again_are_told(
    before: str, planned: str, now: str, leaves: str, told: int
) -> None:
    """Some pods were to move to c; then all are on ``now``, and some of these move to e."""
    nodes = [node(name) for name in "abcde"]
    ran = question(nodes, [job("some", 1, len(before), on=before)], []).snapshot.jobs
    moves = [move("default/some", n, "c", PodRef(name=f"some-{k}")) for k, n in enumerate(planned)]
    first = written(ran, [moves])
    today = question(nodes, [job("some", 1, len(now), on=now)], [])
    later = today.instance(MODEL)
    spots = Counter("abcde".index(name) for name in now)
    spots.subtract("abcde".index(name) for name in leaves)
    spots[4] += len(leaves)
    placement = later.current.replace({0: {Spot(n): k for n, k in spots.items() if k}})
    said = list(moved_again(today, later, placement, first))
    assert len(said) == told
    assert all("1 pod is moved as by the last plan" in text for text in said)
    assert all("job default/some on node d" in text for text in said)


def test_a_plan_after_one_that_was_not_followed_says_so() -> None:
    nodes = [node(name) for name in "abc"]
    jobs = [job("stray", 2, on=["a"]), job("other", 4, on=["b"], movable=False)]
    wide = [job("wide", 8, 2)]
    first = planned(question(nodes, jobs, wide))
    assert [(each.from_node, each.to_node) for each in first.moves] == [("a", "b")]
    later = planned(question(nodes, [job("stray", 2, on=["c"]), jobs[1]], wide), last=first)
    assert [each.from_node for each in later.moves] == ["c"]
    assert any("came up elsewhere" in text for text in later.warnings)


@pytest.mark.parametrize("anew", [False, True])
def test_a_pod_that_came_back_to_the_node_it_left_is_told_when_it_moves_again(
    *, anew: bool
) -> None:
    nodes = [node(name) for name in "ab"]
    stray, wide = job("stray", 2, on=["a"]), [job("wide", 8)]
    other = job("other", 4, on=["b"], movable=False)
    first = planned(question(nodes, [stray, other], wide))
    again = deepcopy(stray)
    if anew:
        again["podSets"][0]["assignments"][0]["pods"] = [{"name": "stray-x", "uid": "u-x"}]
    later = planned(question(nodes, [again, other], wide), last=first)
    assert [(each.from_node, each.to_node) for each in later.moves] == [("a", "b")]
    assert any("came up elsewhere" in text for text in later.warnings) == anew


def test_no_time_to_find_out_keeps_nothing_and_harms_nothing() -> None:
    asked = crowded(0)
    first = planned(asked)
    instance = asked.instance(MODEL)
    assert still_legal(asked, instance, first, Deadline(0.0)) == instance.current


def test_a_pod_whose_pod_set_is_numbered_anew_is_told_as_the_same() -> None:
    pods = [PodRef(name=f"w-{i}") for i in range(2)]
    first = bind("a/w", "n1", pods[0]), bind("a/w", "n2", pods[1])
    again = (bind("a/w", "n3", pods[1]).model_copy(update={"pod_set": "main-2"}),)
    same = (bind("a/w", "n2", pods[1]).model_copy(update={"pod_set": "main-2"}),)
    told = plan_difference(written((), [first]), written((), [same]))
    assert (told.new, told.gone, told.changed) == ((), ("a/w/main w-0: bind to n1",), ())
    told = plan_difference(written((), [first]), written((), [again]))
    assert [(each.subject, each.was, each.now) for each in told.changed] == [
        ("a/w/main-2 w-1", "bind to n2", "bind to n3")
    ]
