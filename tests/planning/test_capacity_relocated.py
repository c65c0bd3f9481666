"""Room for copies begins with what moves of others make for one after the other."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.planning.capacity import room, slots
from kantopt.planning.capacity.asked import job_of
from kantopt.planning.capacity.copies import MOVES, Copies, unplaced_tier
from kantopt.planning.capacity.room import by_relocation
from kantopt.planning.capacity.run import capacity
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Options
from kantopt.planning.solving.run import Run
from kantopt.schema.extends import load_model
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.planning.test_capacity import GPU, HALF_FREE, count, job, node, numbers, running
from tests.questions import question

MODEL = load_model("mixed")
FOREVER = Deadline(None)
GANG = question(
    [node("a"), node("b"), node("c"), node("d"), node("e")],
    [running(name, on, 4) for name, on in zip("wxyz", "abcd", strict=True)],
    [job(pods=2, minCount=2)],
)
"""20 of 40 GPUs are free, one node is: a move makes room for a gang of two nodes."""


@pytest.mark.parametrize(("asked", "jobs", "moves"), [(HALF_FREE, 2, 2), (GANG, 1, 1)])
def test_capacity_has_what_a_few_moves_allow_though_no_search_finds_anything(
    monkeypatch: pytest.MonkeyPatch, asked: Question, jobs: int, moves: int
) -> None:
    monkeypatch.setattr(Run, "construct", lambda _: None)
    for module in (room, slots):
        monkeypatch.setattr(module, "search_together", lambda run, *_: run.incumbent)
    wanted = job_of(asked, None, MODEL)
    found = capacity(asked, MODEL, wanted, None, Options(engine="fast"), Deadline.within(60.0))
    assert numbers(found)[1][0] == jobs
    assert numbers(found)[1][2] == moves


@pytest.mark.parametrize("limit", [0, 1, 2, None])
def test_no_more_pods_are_moved_than_may_be(limit: int | None) -> None:
    copies = Copies(HALF_FREE, MODEL, job_of(HALF_FREE, None, MODEL))
    form = copies.counted(3)
    placement = by_relocation(copies, form, limit, FOREVER, FOREVER.cuts)
    most = 2 if limit is None else limit
    assert (placement is None) is (most == 0)
    if placement is not None:
        instance = copies.asked(form, limit)
        assert check(instance, placement) == []
        unplaced, moves = measure(instance, placement, (*unplaced_tier(instance), MOVES))
        assert (form.copies_at(instance, unplaced), moves) == (most, most)


def test_copies_that_are_jobs_of_their_own_are_placed_as_such() -> None:
    copies = Copies(GANG, MODEL, job_of(GANG, None, MODEL))
    form = copies.named(2)
    placement = by_relocation(copies, form, None, FOREVER, FOREVER.cuts)
    assert placement is not None
    instance = copies.asked(form, None)
    assert check(instance, placement) == []
    assert len(placement.podsets) == len(instance.podsets)


def test_of_copies_that_are_spread_as_many_fit_as_moves_make_room_for() -> None:
    sizes = {"a": (32, 8), "b": (16, 8), "c": (16, 8), "d": (8, 8), "e": (16, 4), "f": (8, 8)}
    nodes = [node(name, rack=rack) for name, rack in zip(sizes, "xyzxyz", strict=True)]
    for each in nodes:
        cpu, gpus = sizes[each["name"]]
        each["allocatable"] = {"cpu": cpu, GPU: gpus, "pods": 20 if cpu > 8 else 3}
    runs = {
        "s": ("f", 4, 1, "a"),
        "t": ("a", 1, 2, "b"),
        "u": ("b", 2, 2, "a"),
        "v": ("b", 1, 2, "b"),
        "w": ("b", 2, 4, "b"),
        "x": ("f", 4, 2, "b"),
    }
    jobs = []
    for name, (on, cpu, gpus, app) in runs.items():
        found = running(name, on, gpus, movable=name > "u")
        found["podSets"][0] |= {"requests": {"cpu": cpu, GPU: gpus}, "labels": {"app": app}}
        jobs.append(found)
    spread = {"maxSkew": 1, "labelSelector": {"matchLabels": {"app": "a"}}, "topologyKey": "rack"}
    wanted = job(pods=3, minCount=3, labels={"app": "a"}, topologySpreadConstraints=[spread])
    wanted["podSets"][0]["requests"] = {"cpu": 4, GPU: 3}
    assert [room[:2] for room in numbers(count(question(nodes, jobs, [wanted])))] == [
        (2, 2),
        (3, 3),
        (3, 3),
    ]
