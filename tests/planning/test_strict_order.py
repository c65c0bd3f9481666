"""A queue of Kueue's that starts its jobs in order only waits for the first of them."""

from __future__ import annotations

import pytest

from kantopt.clock import Deadline
from kantopt.planning.explain.run import explain
from kantopt.planning.plan import make_plan
from kantopt.planning.solving.options import Options
from tests.formats.cluster_objects import Object
from tests.formats.test_kueue_preemption import MIXED, asked, queue, waits

OPTIONS = Options(engine="fast", workers=1)
BEFORE = "job default/second is not started by Kueue before default/head, which waits in queue a"
BEHIND = "which plans may overtake: 1 (default/second)"


def cluster(strategy: str, head: int, older: bool = False) -> list[Object]:
    """A head that asks for so many GPUs, of 8, and a second job that fits beside it or not."""
    queues = queue("a", 8)
    queues[0]["spec"]["queueingStrategy"] = strategy
    jobs = [waits("second", "a", 2, 9), waits("head", "a", head, 9 if older else 10)]
    for job, day in zip(jobs, (2, 1), strict=True):
        job["metadata"]["creationTimestamp"] = f"2026-09-0{day}T00:00:00Z"
    return [*queues, *jobs]


@pytest.mark.parametrize(
    ("strategy", "head", "told"),
    [("StrictFIFO", 9, True), ("StrictFIFO", 6, False), ("BestEffortFIFO", 9, False)],
)
@pytest.mark.parametrize("older", [False, True])
def test_a_plan_says_whom_kueue_does_not_start_before_one_that_stays_pending(
    strategy: str, head: int, told: bool, older: bool
) -> None:
    question = asked(cluster(strategy, head, older))
    plan = make_plan(question, MIXED, OPTIONS, Deadline.within(30)).plan
    assert "default/second" in {item.job for item in plan.assignments}
    assert any(BEFORE in line for line in plan.warnings) is told


def test_many_who_overtake_are_told_in_one_line() -> None:
    objects = cluster("StrictFIFO", 9)
    objects += [waits(f"more-{i}", "a", 1, 8) for i in range(3)]
    plan = make_plan(asked(objects), MIXED, OPTIONS, Deadline.within(30)).plan
    (line,) = [line for line in plan.warnings if "not started" in line]
    assert line.startswith("4 jobs (default/second, ...) are not started by Kueue before")


def test_who_waits_behind_others_of_such_a_queue_is_noted() -> None:
    assert BEHIND in str(asked(cluster("StrictFIFO", 6)).notes)
    assert BEHIND not in str(asked(cluster("BestEffortFIFO", 6)).notes)
    told = [*explain(asked(cluster("StrictFIFO", 9)), MIXED, "second", Deadline.within(30))][-1]
    assert BEHIND in str(told.notes)
