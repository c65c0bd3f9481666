"""Capacity keeps to its time limit: it builds and places nothing for which there is no time."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.planning.capacity import room
from kantopt.planning.question import Question
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.schema.model import Model
from kantopt.search.construct import How, construct
from tests.planning.test_capacity import GPU, count, node, running
from tests.planning.test_whole_copies import test_no_pod_moves_for_a_part_of_a_copy as one_is_whole
from tests.questions import question


@pytest.mark.parametrize("gpus", [2, 8], ids=["some", "none"])
def test_a_question_is_built_once_where_the_time_is_up(
    gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a large cluster that takes as long as reading it, and more for the reasons."""
    built: list[Question] = []
    freeze = Question.instance

    def noted(asked: Question, model: Model) -> Instance:
        built.append(asked)
        return freeze(asked, model)

    monkeypatch.setattr(Question, "instance", noted)
    wanted = {"name": "j", "podSets": [{"count": 1, "requests": {GPU: gpus}}]}
    half_free = question(
        [node("a"), node("b")], [running("x", "a", 4), running("y", "b", 4)], [wanted]
    )
    now, _, every = count(half_free, seconds=-1.0).rooms
    assert (len(built), now.jobs, every.one_more) == (1, 4 if gpus == 2 else 0, None)


def test_copies_are_made_whole_within_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Placing thousands of copies anew takes a second."""
    ends: list[float | None] = []

    def noted(asked: Instance, deadline: Deadline, how: How) -> Placement:
        ends.append(deadline.at) if how.start is not None else None
        return construct(asked, deadline, how)

    monkeypatch.setattr(room, "construct", noted)
    one_is_whole()
    assert len(ends) > 1
    assert None not in ends


def test_reasons_for_which_there_is_no_time_are_said_to_be_left_out() -> None:
    full = question(
        [node("a")],
        [running("x", "a", 8)],
        [{"name": "j", "podSets": [{"count": 1, "requests": {GPU: 8}}]}],
    )
    in_time, late = (count(full, seconds=seconds) for seconds in (20.0, -1.0))
    assert not any("why not one more" in text for text in in_time.warnings)
    assert [text for text in late.warnings if "why not one more" in text] == [
        "there was no time to look why not one more fits now, after moves, after "
        "defragmentation, and whether one ever does (--time-limit)"
    ]
