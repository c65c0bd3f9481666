"""Simulations small enough that every start is known beforehand."""

from __future__ import annotations

from typing import Any

import pytest

from kantopt.planning.plan import Result, make_plan
from kantopt.planning.question import Question
from kantopt.report.blocks import Screen, render
from kantopt.report.simulation import simulation_blocks
from kantopt.simulate.figures import figures_of
from kantopt.simulate.history import History
from tests.simulate.worlds import GPU, job, policy, simulated, snapshot, trace

FIVE = trace(
    job("a", 0, 100, 8),
    job("b", 10, 50, 4),
    job("c", 20, 30, 8, pods=2),
    job("d", 30, 40, 2, pods=2),
    job("e", 40, 10, 9),
)
"""On two nodes of 8 GPUs; c needs both, e more than there is."""


def told(title: str, history: History) -> str:
    """What the tables show in the row of a metric."""
    simulation = figures_of([history])
    rows = (line for line in render(simulation_blocks(simulation), Screen()).splitlines())
    return next(line for line in rows if line.startswith(title)).split()[-1]


def starts(history: History) -> dict[str, int | None]:
    return {
        each.name.split("/")[1]: None if each.started is None else each.started // 1000
        for each in history.jobs
    }


def ends(history: History) -> dict[str, int | None]:
    return {
        each.name.split("/")[1]: None if each.ended is None else each.ended // 1000
        for each in history.jobs
    }


@pytest.mark.parametrize(
    ("backfill", "started"),
    [
        ("none", {"a": 0, "b": 10, "c": 100, "d": 130, "e": None}),
        ("best-effort", {"a": 0, "b": 10, "c": 100, "d": 30, "e": None}),
    ],
)
def test_five_jobs_on_two_nodes(backfill: str, started: dict[str, int | None]) -> None:
    history = simulated(snapshot(8, 8), FIVE, policy(queueing={"backfill": backfill}))
    assert starts(history) == started
    lasts = {"a": 100, "b": 50, "c": 30, "d": 40}
    assert ends(history) == {
        name: None if at is None else at + lasts[name] for name, at in started.items()
    }
    refused = {each.name: each.refused for each in history.jobs if each.refused}
    assert list(refused) == ["default/e"]
    assert "9 of 8 nvidia.com/gpu" in refused["default/e"]
    assert [each.backfilled for each in history.jobs][3] is (backfill == "best-effort")
    assert history.judged == 4
    assert history.horizon == 1000 * max(at for at in ends(history).values() if at is not None)


def test_a_job_that_a_failed_node_stops_works_on_from_its_checkpoint_after_a_restart() -> None:
    course = trace(
        job("a", 0, 100, 8, checkpointInterval="20s"),
        outages=[{"node": "n0", "at": "50s", "lasts": "25s"}],
    )
    history = simulated(snapshot(8), course, policy(restartTime="10s"))
    # 50 s done, 40 s of them saved; it waits until 75 s, restarts until 85 s, works 60 s.
    (done,) = history.jobs
    assert (done.started, done.ended, done.starts) == (0, 145_000, 2)
    assert done.lost == 8000 * (10_000 + 10_000)
    stays = [(each.begin, each.working, each.end, each.reason) for each in history.stays]
    assert stays == [(0, 0, 50_000, "failed"), (75_000, 85_000, 145_000, "finished")]
    seen = [(each.at, each.healthy, each.reserved, each.running) for each in history.samples]
    assert seen == [
        (0, 8000, 8000, 8000),
        (50_000, 0, 0, 0),
        (75_000, 8000, 8000, 0),
        (85_000, 8000, 8000, 8000),
        (145_000, 8000, 0, 0),
    ]


def test_nobody_comes_to_a_node_that_has_failed() -> None:
    course = trace(job("a", 10, 10, 8), outages=[{"node": "n0", "at": "0s", "lasts": "30s"}])
    assert starts(simulated(snapshot(8), course, policy())) == {"a": 30}


def test_jobs_of_the_snapshot_stay_until_the_trace_ends_them() -> None:
    standing = {
        "name": "s",
        "podSets": [
            {"count": 1, "requests": {GPU: 8}, "assignments": [{"node": "n0", "count": 1}]}
        ],
    }
    cluster = snapshot(8, jobs=[standing])
    waits = simulated(cluster, trace(job("a", 5, 10, 1)), policy())
    assert starts(waits) == {"a": None}
    assert (waits.samples[0].reserved, waits.horizon) == (8000, 5000)
    ending = trace(job("a", 5, 10, 1), endings=[{"job": "s", "after": "30s"}])
    assert starts(simulated(cluster, ending, policy())) == {"a": 30}


def test_what_waits_at_the_start_came_in_the_order_in_which_it_was_submitted() -> None:
    def waits(name: str, gpus: int, created: str | None) -> dict[str, Any]:
        podset = {"name": "w", "count": 1, "requests": {GPU: gpus}}
        return {"name": name, "podSets": [podset], **({"creationTime": created} if created else {})}

    taken = {"name": "s", "capturedAt": "2026-09-03T00:00:00Z"}
    cluster = snapshot(
        8,
        metadata=taken,
        jobs=[
            waits("unknown", 6, None),
            waits("second", 7, "2026-09-02T12:00:00Z"),
            waits("first", 8, "2026-09-02T11:00:00Z"),
        ],
    )
    ends = [
        {"job": name, "after": f"{after}s"}
        for name, after in (("first", 10), ("second", 20), ("unknown", 30))
    ]
    history = simulated(cluster, trace(endings=ends), policy(queueing={"backfill": "none"}))
    assert [(each.at, each.reserved) for each in history.samples] == [
        *((0, 8000), (10_000, 7000), (20_000, 6000), (30_000, 0)),
    ]


def test_the_planner_is_told_since_when_a_job_of_the_snapshot_waits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[str | None] = []

    def plan(question: Question, *rest: Any) -> Result:
        seen.extend(each.creation_time for each in question.pending)
        return make_plan(question, *rest)

    monkeypatch.setattr("kantopt.simulate.planned.make_plan", plan)
    created = "2026-09-02T11:00:00Z"
    podset = {"name": "w", "count": 1, "requests": {GPU: 8}}
    cluster = snapshot(
        8,
        metadata={"name": "s", "capturedAt": "2026-09-03T00:00:00Z"},
        jobs=[
            {"name": "old", "podSets": [podset], "creationTime": created},
            {"name": "unknown", "podSets": [podset]},
        ],
    )
    simulated(cluster, trace(), policy(placement={"planner": {"model": "mixed"}}), until=1)
    assert seen == [created, "2026-09-03T00:00:00Z"]


def test_who_waits_before_the_trace_and_can_never_start_is_told() -> None:
    wanted = {"nine": 9, "ten": 10, "two": 2}
    waits = [
        {"name": n, "podSets": [{"count": 1, "requests": {GPU: g}}]} for n, g in wanted.items()
    ]
    history = simulated(snapshot(8, jobs=waits), trace(job("a", 0, 10, 6)), policy())
    (note,) = figures_of([history]).notes
    told = "p on t: 2 jobs that waited before the trace could not even start in the empty cluster"
    assert note.startswith(f"{told}: default/nine (capacity: never on this hardware: ")
    assert note.endswith(") and 1 more")


def test_what_daemons_hold_no_job_is_given() -> None:
    daemon = {
        "name": "agent",
        "daemon": True,
        "podSets": [{"count": 1, "requests": {GPU: 2}, "assignments": [{"node": "n0"}]}],
    }
    cluster = snapshot(8, jobs=[daemon])
    course = trace(job("large", 0, 10, 7), job("fits", 1, 10, 6))
    history = simulated(cluster, course, policy(queueing={"backfill": "none"}))
    assert starts(history) == {"large": None, "fits": 1}
    assert "9 of 8 nvidia.com/gpu" in history.jobs[0].refused
    # Unless they end.
    ending = trace(*course.jobs, endings=[{"job": "agent", "after": "5s"}])
    history = simulated(cluster, ending, policy(queueing={"backfill": "none"}))
    assert starts(history) == {"large": 5, "fits": 15}


def test_an_elastic_gang_starts_with_its_minimum_and_grows_when_there_is_room() -> None:
    course = trace(job("a", 0, 30, 4), job("b", 10, 100, 2, pods=4, minCount=2))
    history = simulated(snapshot(8), course, policy())
    assert starts(history) == {"a": 0, "b": 10}
    stays = [(each.job, each.begin // 1000, each.gpus) for each in history.stays]
    assert stays == [(0, 0, 4000), (1, 10, 4000), (1, 30, 4000)]
    assert ends(history)["b"] == 110


def test_free_gpus_are_given_to_those_who_wait_in_order_and_each_once() -> None:
    cluster = snapshot(
        8,
        8,
        8,
        queues=[{"name": "q", "resources": [{"name": GPU, "nominalQuota": 8}]}],
    )
    course = trace(
        job("a", 0, 100, 5, pods=3),  # leaves 3 GPUs on each node
        job("quota", 1, 10, 1, pods=8, minCount=8, queueName="q"),
        job("more", 2, 10, 1, queueName="q"),
        job("split", 3, 10, 4),
        job("last", 4, 10, 1),
    )
    history = simulated(cluster, course, policy(queueing={"backfill": "none"}))
    by_time = {each.at // 1000: each for each in history.samples}
    at = by_time[3]
    # "quota" runs and has one GPU left over; "more" is over the quota, and takes what is left.
    assert starts(history)["quota"] == 1
    assert (at.reserved, at.lost_quota, at.lost_fragmentation, at.idle) == (23_000, 1000, 0, 0)
    assert starts(history)["split"] == 100


def test_gpus_that_no_node_has_together_are_lost_to_fragmentation() -> None:
    course = trace(job("a", 0, 10, 5, pods=2), job("b", 1, 5, 6))
    sample = simulated(snapshot(8, 8), course, policy()).samples[1]
    assert (sample.lost_fragmentation, sample.stranded, sample.largest_gang) == (6000, 6000, 0)
    assert (sample.fragmented, sample.nodes) == (2, 2)


TORN = snapshot(8, 8, queues=[{"name": "q", "resources": [{"name": GPU, "nominalQuota": 10}]}])
"""Two nodes of 8 GPUs, of which a job of two pods of 5 GPUs leaves 3 each, and no quota."""
FULL = job("full", 0, 100, 5, pods=2, queueName="q")


def test_roles_that_fit_one_by_one_but_not_together_are_lost_to_fragmentation() -> None:
    podsets = [
        {"name": "prefill", "count": 2, "requests": {GPU: 2}},
        {"name": "decode", "count": 1, "requests": {GPU: 2}},
    ]
    chat = {"name": "chat", "arrival": "1s", "duration": "10s", "podSets": podsets}
    course = trace(FULL, job("first", 1, 10, 1, queueName="q"), chat)
    at = simulated(TORN, course, policy(queueing={"backfill": "none"})).samples[1]
    # Nobody has tried to place it, since nobody passes the first.
    assert (at.lost_quota, at.lost_fragmentation, at.lost_waiting) == (1000, 5000, 0)


def test_what_would_not_fit_without_the_quota_either_is_not_lost_to_it() -> None:
    course = trace(FULL, job("split", 1, 10, 4, queueName="q"))
    at = simulated(TORN, course, policy()).samples[1]
    assert (at.lost_quota, at.lost_fragmentation, at.lost_waiting) == (0, 4000, 0)
    course = trace(FULL, job("large", 1, 10, 8, queueName="q"))
    at = simulated(TORN, course, policy()).samples[1]
    assert (at.lost_quota, at.lost_fragmentation, at.lost_waiting) == (0, 0, 6000)


def test_a_moment_is_counted_in_which_one_waits_in_the_place_of_another() -> None:
    leaves = job("leaves", 1, 80, 3, queueName="q", replicas=1)
    leaves["scale"] = [{"after": "50s", "replicas": 0}]
    history = simulated(TORN, trace(FULL, leaves, job("split", 51, 10, 4)), policy())
    found = {
        each.at // 1000: (each.lost_quota, each.lost_fragmentation) for each in history.samples
    }
    assert (found[1], found[51]) == ((3000, 0), (0, 4000))


def test_pods_that_came_later_lose_what_they_have_done_and_no_more() -> None:
    course = trace(
        job("full", 0, 60, 8),
        job("grows", 0, 100, 8, pods=2, minCount=1),
        outages=[{"node": "n1", "at": "70s", "lasts": "10s"}],
    )
    history = simulated(snapshot(8, 8), course, policy(restartTime="0s"))
    # One pod has worked for 70 s, the other for 10 s.
    assert history.jobs[1].lost == 8000 * (70_000 + 10_000)


@pytest.mark.parametrize(("gpus", "fewest"), [(2, (2, 2)), (1, (1, 1))])
def test_the_fewest_nodes_hold_all_roles_of_a_job(gpus: int, fewest: tuple[int, int]) -> None:
    roles = [{"name": n, "count": 4, "requests": {GPU: gpus}} for n in ("prefill", "decode")]
    chat = {"name": "chat", "arrival": "0s", "duration": "10s", "podSets": roles}
    racks = [
        {"name": f"n{i}", "labels": {"rack": f"r{i // 2}"}, "allocatable": {GPU: k}}
        for i, k in enumerate((8, 2, 8, 2))
    ]
    cluster = snapshot(nodes=racks, topology={"levels": [{"name": "rack", "nodeLabel": "rack"}]})
    found = simulated(cluster, trace(chat), policy()).jobs[0]
    assert (found.least_nodes, found.least_groups) == fewest


def test_a_simulation_until_some_time_ends_there_and_leaves_who_runs() -> None:
    history = simulated(snapshot(8, 8), FIVE, policy(), until=50_000)
    assert history.horizon == 50_000
    assert ends(history) == dict.fromkeys("abcde")
    assert [each.reason for each in history.stays] == ["horizon"] * 3


def test_the_planner_places_what_waits_when_its_time_is_up_and_nobody_else_does() -> None:
    how = policy(placement={"planner": {"model": "mixed", "timeLimit": "2s", "period": "1m"}})
    course = trace(job("a", 0, 100, 8), job("b", 1, 5, 4), job("c", 10, 5, 4), job("d", 70, 5, 1))
    history = simulated(snapshot(8, 8), course, how)
    # A cycle at 0 s looks at a, one at 1 min at b and c, which came meanwhile; d waits for the
    # next, at 2 min.
    assert starts(history) == {"a": 2, "b": 62, "c": 62, "d": 122}
    assert [(plan.at, plan.proved) for plan in history.plans] == [
        (0, True),
        (60_000, True),
        (120_000, True),
    ]


def test_the_planner_lets_who_runs_with_fewer_pods_grow_though_nobody_waits() -> None:
    how = policy(placement={"planner": {"model": "mixed", "timeLimit": "1s", "period": "1m"}})
    course = trace(job("b", 0, 100, 4), job("a", 1, 500, 4, 2, minCount=1))
    history = simulated(snapshot(8), course, how)
    # One pod of a fits at 1 min; b leaves at 101 s, and the next cycle is at 2 min.
    stays = [(each.begin // 1000, each.gpus) for each in history.stays if each.job == 1]
    assert sorted(stays) == [(61, 4000), (121, 4000)]


def test_a_cycle_in_which_nobody_can_have_a_place_is_not_planned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    planned = []

    def watched(question: Question, *rest: Any) -> Result:
        planned.append([job.name for job in question.pending])
        return make_plan(question, *rest)

    monkeypatch.setattr("kantopt.simulate.planned.make_plan", watched)
    how = policy(placement={"planner": {"model": "packing", "timeLimit": "1s", "period": "1m"}})
    course = trace(job("a", 0, 200, 6), job("b", 1, 10, 8), job("c", 2, 90, 2), job("d", 90, 9, 4))
    history = simulated(snapshot(8), course, how)
    # At 2 min there is no room for b and d beside a and c; at 3 min c has left, and 2 GPUs are
    # free; at 4 min there is room for one of them.
    assert planned == [["a"], ["b", "c"], ["b", "d"], ["d"]]
    assert len(history.plans) == len(planned)
    assert starts(history) == {"a": 1, "b": 241, "c": 61, "d": 301}


@pytest.mark.parametrize(("saves", "moves"), [(None, 0), ("1s", 1)])
def test_packing_moves_nobody_who_has_work_to_do_again(saves: str | None, moves: int) -> None:
    how = policy(
        placement={"strategy": "least-allocated"},
        defragmentation={"model": "packing", "period": "60s", "timeLimit": "2s", "moves": 1},
    )
    more = {} if saves is None else {"checkpointInterval": saves}
    course = trace(job("a", 0, 100, 2, **more), job("b", 0, 100, 2, **more))
    history = simulated(snapshot(8, 8), course, how)
    assert sum(each.moves for each in history.jobs) == moves


def test_gpu_time_lost_is_told_in_gpu_hours() -> None:
    course = trace(job("a", 0, 7200, 8), outages=[{"node": "n0", "at": "3600s", "lasts": "600s"}])
    history = simulated(snapshot(8), course, policy(restartTime="900s"))
    # Eight GPUs for an hour of work, and a quarter of an hour until they work again.
    assert told("GPU time lost by them", history) == "10.0"


def test_the_planner_evicts_for_what_is_more_important() -> None:
    how = policy(placement={"planner": {"model": "mixed", "timeLimit": "1s"}}, restartTime="10s")
    course = trace(job("low", 0, 100, 8, priority=1), job("high", 10, 20, 8, priority=9))
    history = simulated(snapshot(8), course, how)
    low, high = history.jobs
    assert (high.started, high.ended) == (61_000, 81_000)
    # Evicted after 60 s of work, which it has not saved; planned again at 2 min.
    assert (low.evictions, low.starts, low.ended) == (1, 2, 121_000 + 10_000 + 100_000)
    assert low.lost == 8000 * (60_000 + 10_000)


@pytest.mark.parametrize(("mode", "end", "lost"), [("restart", 192, 92), ("live", 100, 0)])
def test_a_round_of_defragmentation_moves_jobs_together(mode: str, end: int, lost: int) -> None:
    how = policy(
        placement={"strategy": "least-allocated"},
        defragmentation={"period": "60s", "timeLimit": "2s", "moves": 1},
        restartTime="30s",
    )
    course = trace(job("a", 0, 100, 2, moveMode=mode), job("b", 0, 100, 2, moveMode=mode))
    history = simulated(snapshot(8, 8), course, how)
    assert [each.largest_gang for each in history.samples][:2] == [0, 8000]
    assert history.samples[1].at == 62_000
    moved = next(each for each in history.jobs if each.moves)
    assert [each.moves for each in history.jobs].count(0) == 1
    assert moved.ended == 1000 * end
    assert moved.lost == 2000 * 1000 * lost
    assert {each.reason for each in history.stays} == {"finished", "moved"}
    assert history.horizon == 1000 * end


def test_a_job_that_holds_its_quota_does_so_while_it_runs() -> None:
    """Beyond that nobody would ever have the quota of one that has ended."""
    queues = [{"name": "q", "resources": [{"name": GPU, "nominalQuota": 2}]}]
    course = trace(
        job("held", 0, 100, 2, queueName="q", quotaReserved=True),
        job("next", 10, 100, 2, queueName="q"),
    )
    assert starts(simulated(snapshot(8, queues=queues), course, policy())) == {
        "held": 0,
        "next": 100,
    }
