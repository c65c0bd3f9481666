"""What pictures show: every pod once before and once after, by what becomes of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kantopt.clock import Deadline, elapsed
from kantopt.errors import BadDataError
from kantopt.planning.options import Options
from kantopt.planning.pictures import picture_of
from kantopt.planning.plan import make_plan
from kantopt.planning.question import Question, judging_model, read_question
from kantopt.schema.picture import Picture

GOLDEN = Path(__file__).parents[2] / "instances" / "golden"


def golden(name: str) -> Question:
    """A golden instance with our plan for it."""
    question = read_question([str(GOLDEN / f"{name}.yaml")])
    asked = judging_model(question, None)
    plan = make_plan(question, asked, Options(engine="fast"), Deadline(elapsed() + 10.0)).plan
    return replace(question, plan=plan, model=None)


def fates(picture: Picture, side: str) -> dict[str, int]:
    """Milli-GPU or milli-CPU by what becomes of them."""
    found: dict[str, int] = {}
    for box in picture.boxes:
        for bar in box.bars:
            for piece in getattr(bar, side):
                found[piece.fate] = found.get(piece.fate, 0) + piece.amount
    return found


@pytest.mark.parametrize(
    ("name", "leaving"),
    [("four-free-gpus-on-three-nodes", "moved"), ("victims-on-one-node", "evicted")],
)
def test_what_leaves_is_gone_or_elsewhere_after(name: str, leaving: str) -> None:
    question = golden(name)
    picture = picture_of(question, judging_model(question, None))
    before, after = fates(picture, "before"), fates(picture, "after")
    assert before[leaving] > 0
    assert before.get("moved") == after.get("moved")
    assert before["stays"] == after["stays"]
    assert after["bound"] > 0
    assert not {"bound"} & before.keys() | {"evicted"} & after.keys()


@pytest.mark.parametrize("name", ["four-free-gpus-on-three-nodes", "gangs-fill-32-nodes-1x32"])
def test_no_node_holds_more_than_it_has(name: str) -> None:
    question = golden(name)
    for box in picture_of(question, judging_model(question, None)).boxes:
        for bar in box.bars:
            assert sum(piece.amount for piece in bar.before) <= bar.capacity
            assert sum(piece.amount for piece in bar.after) <= bar.capacity


def plain(**node: Any) -> Question:
    """A snapshot of one node, read from a document."""
    from kantopt.planning.question import question_of
    from kantopt.schema.files import RawDocument

    data = {
        "apiVersion": "kantopt/v1alpha1",
        "kind": "ClusterSnapshot",
        "metadata": {"name": "one"},
        "nodes": [{"name": "n", **node}, {"name": "empty", "allocatable": {"memory": "1Gi"}}],
    }
    return question_of([RawDocument("one.yaml", 0, data)])


def test_without_gpus_it_is_the_cores_that_are_drawn() -> None:
    question = plain(allocatable={"cpu": 8})
    picture = picture_of(question, judging_model(question, None))
    assert (picture.unit, picture.planned, picture.left_out) == ("cpu", False, 1)
    assert [(bar.name, bar.capacity) for box in picture.boxes for bar in box.bars] == [("n", 8000)]


def test_cores_of_numa_zones_are_those_of_their_node() -> None:
    question = plain(devices=[{"class": "numa", "count": 2, "capacity": {"cpu": 44}}])
    picture = picture_of(question, judging_model(question, None))
    assert [bar.capacity for box in picture.boxes for bar in box.bars] == [88_000]


def test_a_plan_for_another_cluster_is_refused() -> None:
    other = replace(plain(allocatable={"cpu": 8}), plan=golden("victims-on-one-node").plan)
    with pytest.raises(BadDataError):
        picture_of(other, judging_model(other, None))
