"""What was read, counted from documents."""

from __future__ import annotations

from pathlib import Path

from kantopt.planning.question import read_question
from kantopt.report.size import size_blocks, size_of
from kantopt.schema.extends import load_model

QUICKSTART = Path(__file__).resolve().parents[2] / "instances" / "quickstart"


def test_documents_count_as_the_question_does_that_is_made_of_them() -> None:
    question = read_question([str(path) for path in sorted(QUICKSTART.glob("*.yaml"))])
    instance = question.instance(question.model or load_model("mixed"))
    size = size_of(len(question.snapshot.nodes), question.jobs)
    runs = [(podset.running, podset.count) for podset in instance.podsets]
    assert (size.nodes, size.jobs) == (len(instance.nodes), len(instance.jobs))
    assert size.running_pods == sum(count for running, count in runs if running)
    assert size.pending_pods == sum(count for running, count in runs if not running)


def test_it_is_said_only_where_everything_is() -> None:
    size = size_of(1, ())
    (said,) = size_blocks(size, wide=True)
    assert said.text == "1 node, 0 jobs: 0 running pods, 0 pending pods."
    assert size_blocks(size, wide=False) == size_blocks(None, wide=True) == []
