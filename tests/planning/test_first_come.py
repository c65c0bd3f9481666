"""Among equals who has waited longest is placed first, whoever found the plan."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kantopt.clock import Deadline
from kantopt.planning.document.actions import waves_of
from kantopt.planning.first_come import first_come
from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Question
from kantopt.planning.solving.options import Engine, Options
from kantopt.problem.cluster import Spot
from kantopt.problem.derived.focus import is_placed
from kantopt.problem.difference import apply
from kantopt.problem.placement import Placement
from kantopt.schema.extends import load_model
from kantopt.schema.jobs import Job
from kantopt.verify.metrics import measure
from kantopt.verify.replay import replay
from tests.campaign import some
from tests.generate import random_documents
from tests.questions import question

GPU = "nvidia.com/gpu"
HOURS = (None, *range(24))


def hour(hour: int | None) -> dict[str, str]:
    return {} if hour is None else {"creationTime": f"2026-01-01T{hour:02d}:00:00Z"}


def one_gpu(name: str, created: int | None = None, **more: Any) -> dict[str, Any]:
    podset = {"count": 1, "requests": {GPU: 1}, **more}
    return {"name": name, "podSets": [podset], **hour(created)}


def placed_in(*pending: dict[str, Any], gpus: int = 1, engine: Engine = "fast") -> set[str]:
    asked = question([{"name": "n", "allocatable": {GPU: gpus}}], [], list(pending))
    return {bind.job for bind in planned(asked, engine).plan.assignments}


def planned(asked: Question, engine: Engine) -> Result:
    model = asked.model or load_model("mixed")
    return make_plan(asked, model, Options(engine=engine), Deadline.within(60.0))


@pytest.mark.parametrize("engine", ["fast", "exact", "auto"])
def test_who_has_waited_since_yesterday_goes_before_who_does_not_say(engine: Engine) -> None:
    young, old = one_gpu("a"), one_gpu("b", 3)
    assert placed_in(young, old, engine=engine) == {"default/b"}
    assert placed_in(old, young, engine=engine) == {"default/b"}


def test_the_oldest_of_many_are_placed_though_nobody_says_when_the_cluster_was_seen() -> None:
    jobs = [one_gpu(f"j{i}", (7 * i) % 20) for i in range(20)]
    oldest = sorted(jobs, key=lambda job: str(job["creationTime"]))[:6]
    assert placed_in(*jobs, gpus=6) == {f"default/{job['name']}" for job in oldest}


def test_who_has_waited_as_long_stays_where_the_plan_has_it() -> None:
    instance = question(
        [{"name": "n", "allocatable": {GPU: 1}}], [], [one_gpu("a", 1), one_gpu("b", 1)]
    ).instance(load_model("mixed"))
    placement = Placement(({}, {Spot(0): 1}))
    assert first_come(instance, placement) == (placement, ())


def test_who_asks_for_another_place_is_no_equal() -> None:
    nodes = [{"name": "n", "labels": {"zone": "a"}, "allocatable": {GPU: 1}}]
    old = one_gpu("old", 1, nodeSelector={"zone": "b"})
    asked = question(nodes, [], [old, one_gpu("young", 2)])
    assert [bind.job for bind in planned(asked, "fast").plan.assignments] == ["default/young"]


def test_pods_that_must_not_meet_change_places_where_they_mind_the_same() -> None:
    """Each keeps away from its like and from a third: so the older may have the younger's place."""

    def shy(name: str, created: int) -> dict[str, Any]:
        term = {"topologyKey": "host", "labelSelector": {"matchLabels": {"app": "shy"}}}
        more = {"labels": {"app": "shy"}, "podAntiAffinity": [term]}
        return one_gpu(name, created, **more)

    nodes = [{"name": "n", "labels": {"host": "n"}, "allocatable": {GPU: 8}}]
    asked = question(nodes, [], [shy("young", 9), shy("old", 1)])
    assert [bind.job for bind in planned(asked, "fast").plan.assignments] == ["default/old"]


@settings(max_examples=len(some(range(60))))
@given(
    seed=st.integers(0, 10_000),
    copies=st.lists(st.sampled_from(HOURS), min_size=3, max_size=12),
    engine=st.sampled_from(("fast", "fast", "fast", "auto")),
)
def test_no_job_waits_for_a_younger_equal(
    seed: int, copies: list[int | None], engine: Engine
) -> None:
    """Random questions in which each rule bites, with more jobs like each one that waits."""
    snapshot, jobs, model = random_documents(seed)
    model = model.model_copy(update={"required": (), "pending": None})
    waiting = [job for job in jobs.jobs if not any(p.assignments for p in job.pod_sets)]
    more = [_copy(waiting[i % len(waiting)], i, h) for i, h in enumerate(copies) if waiting]
    pending = (*jobs.jobs, *more)
    result = planned(Question("random", snapshot, pending, model, None, ()), engine)
    instance = result.instance
    waves, problems = waves_of(instance, result.plan, "plan")
    assert not problems
    assert not list(replay(instance, waves)[0])
    final = apply(instance.current, waves)
    if not result.plan.summary.leftover_pods:
        values = [row.value for row in result.plan.objectives]
        assert list(measure(instance, final, result.tiers)) == values
    for job in waiting:
        _in_order(result, final, [job, *(x for x in more if x.name.startswith(f"{job.name}-as"))])


def _copy(job: Job, i: int, created: int | None) -> Job:
    when = hour(created).get("creationTime")
    return job.model_copy(update={"name": f"{job.name}-as-{i}", "creation_time": when})


def _in_order(result: Result, final: Placement, equals: Sequence[Job]) -> None:
    instance = result.instance
    found = [instance.jobs[instance.job_index[f"{job.namespace}/{job.name}"]] for job in equals]
    zone = {job.index in instance.zone_jobs for job in found}
    if len(zone) > 1:
        return
    shares = [
        (is_placed(instance, job.index, final), sum(map(final.placed, job.podsets)))
        for job in sorted(found, key=lambda job: (job.created is None, job.created or 0))
    ]
    ages = sorted((job.created is None, job.created or 0) for job in found)
    for age, share in zip(ages, shares, strict=True):
        younger = [s for other, s in zip(ages, shares, strict=True) if other > age]
        assert share >= max(younger, default=(False, 0)), [job.name for job in found]


def test_what_an_earlier_plan_has_announced_stands() -> None:
    asked = question(
        [{"name": "n", "allocatable": {GPU: 1}}], [], [one_gpu("a", 1), one_gpu("b", 2)]
    )
    instance = asked.instance(load_model("mixed"))
    announced = Placement(({}, {Spot(0): 1}))
    assert first_come(instance, announced, (), announced) == (announced, ())
    swapped, _ = first_come(instance, announced)
    assert [swapped.placed(s) for s in (0, 1)] == [1, 0]


def test_an_exchange_that_the_judge_refuses_is_not_made_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def both_at_once(_: Any, placement: Placement, waves: Any, __: Any) -> tuple[Placement, Any]:
        return Placement(({Spot(0): 1}, {Spot(0): 1})), waves

    monkeypatch.setattr("kantopt.planning.solving.answer.first_come", both_at_once)
    nodes = [{"name": "n", "allocatable": {GPU: 1}}]
    plan = planned(question(nodes, [], [one_gpu("a", 1), one_gpu("b", 2)]), "fast").plan
    assert [bind.job for bind in plan.assignments] == ["default/a"]
    assert any(
        text.startswith("who came first among equals was not looked at: ") and "2 of 1" in text
        for text in plan.warnings
    ), plan.warnings
