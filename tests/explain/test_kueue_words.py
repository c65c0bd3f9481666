"""What Kueue does not evict, or may evict beside, is said by its own reasons."""

from __future__ import annotations

from typing import Any

from kantopt.clock import Deadline
from kantopt.planning.explain.run import explain
from kantopt.planning.plan import make_plan
from kantopt.planning.solving.options import Options
from kantopt.schema.answers.explanation import Explanation
from tests.formats.cluster_objects import Object
from tests.formats.test_kueue_preemption import LOWER, MIXED, asked, queue, runs, waits


def told(*items: Object | list[Object]) -> Explanation:
    return [*explain(asked(*items), MIXED, "w", Deadline.within(30))][-1]


def said(found: Explanation, rule: str) -> str:
    assert found.conflict is not None
    return next(item.message for item in found.conflict.items if item.rule == rule)


def borrowed(nominal: int, priority: int, **preemption: Any) -> list[Object]:
    """A queue, and another one that has borrowed its quota for a job of a priority."""
    other = [*queue("b", 8 - nominal), runs("other", "b", 8, priority)]
    return [*queue("a", nominal, **preemption), *other]


def test_who_stays_for_a_threshold_is_not_said_to_be_pinned() -> None:
    below = {"policy": LOWER, "maxPriorityThreshold": 3}
    found = told(borrowed(1, 4, reclaimWithinCohort=LOWER, borrowWithinCohort=below), JOB)
    why = "by its queue, who is in queue b goes for this job only up to priority 3"
    assert said(found, "pinned") == f"not evicted: {why}"
    assert found.verdict.proved


def test_who_stays_since_nobody_takes_back_from_its_queue_is_not_said_to_be_pinned() -> None:
    found = told(borrowed(1, 4, reclaimWithinCohort=LOWER), JOB)
    assert said(found, "pinned") == "not evicted: by its queue, nobody of queue b goes for this job"


def test_no_verdict_is_called_proved_where_kueue_takes_back_from_whomever_it_be() -> None:
    found = told(borrowed(8, 50, reclaimWithinCohort="Any"), JOB)
    assert found.verdict.status == "WAITS"
    assert not found.verdict.proved
    assert "By queues, jobs of queue b may be evicted for it that no plan evicts" in (
        found.verdict.message
    )
    text = "that priority 9 may not evict, though by queues it may be"
    assert said(found, "priority").endswith(text)
    assert told(borrowed(8, 50, reclaimWithinCohort=LOWER), JOB).verdict.proved
    assert told(borrowed(1, 50, reclaimWithinCohort="Any"), JOB).verdict.proved


def test_a_plan_for_such_a_job_alone_says_so_where_it_finds_no_place() -> None:
    required = MIXED.model_copy(update={"required": ("w",)})
    for preemption, warned in (("Any", True), (LOWER, False)):
        question = asked(borrowed(8, 50, reclaimWithinCohort=preemption), JOB)
        plan = make_plan(question, required, Options(workers=1), Deadline.within(30)).plan
        assert any("that no plan evicts" in line for line in plan.warnings) is warned


def test_nor_where_newer_jobs_of_equal_priority_may_go() -> None:
    newer = {"withinClusterQueue": "LowerOrNewerEqualPriority"}
    for priority, proved in ((9, False), (10, True)):
        mine = [*queue("a", 8, **newer), runs("mine", "a", 8, priority)]
        assert told(mine, JOB).verdict.proved is proved


JOB = waits("w", "a", 2)
