"""Evictions of policies: for whom, of whom, as few as it takes, and never in turns."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from kantopt.errors import UsageError
from kantopt.schema.snapshot import ClusterSnapshot
from kantopt.search.state import Change
from kantopt.simulate.history import History
from kantopt.simulate.simulator import Simulator
from tests.campaign import some
from tests.simulate.worlds import GPU, drawn, job, policy, simulated, snapshot, trace, world


def starts(history: History) -> dict[str, int | None]:
    return {each.name.split("/")[1]: each.started for each in history.jobs}


def evicted(history: History) -> list[str]:
    return [each.name.split("/")[1] for each in history.jobs if each.evictions]


def evicting(**more: Any) -> Any:
    return policy(queueing={"preemption": True, **more}, restartTime="0s")


@pytest.mark.parametrize("backfill", ["none", "best-effort", "easy", "conservative"])
def test_the_least_important_go_as_few_as_it_takes_and_come_back(backfill: str) -> None:
    course = trace(
        job("low", 0, 100, 4, priority=1),
        job("middle", 1, 100, 4, priority=2),
        job("small", 2, 100, 2, priority=1),
        job("other", 3, 100, 6, priority=3),
        job("high", 10, 50, 6, priority=5),
    )
    history = simulated(snapshot(8, 8), course, evicting(backfill=backfill, order="priority"))
    assert starts(history)["high"] == 10_000
    # Small goes first, then low, then middle: only then is there a node; small is not needed.
    assert evicted(history) == ["low", "middle"]
    assert all(each.ended is not None for each in history.jobs)


def test_nobody_goes_for_an_equal_or_for_one_that_never_evicts() -> None:
    course = trace(
        job("a", 0, 100, 8, priority=5),
        job("equal", 1, 10, 8, priority=5),
        job("meek", 2, 10, 8, priority=9, preemptionPolicy="Never"),
    )
    history = simulated(snapshot(8), course, evicting(backfill="best-effort"))
    assert evicted(history) == []
    assert min(each.started or 0 for each in history.jobs[1:]) == 100_000


@pytest.mark.parametrize("backfill", ["none", "best-effort", "easy", "conservative"])
def test_an_elastic_job_goes_on_at_once_with_the_pods_that_still_have_room(backfill: str) -> None:
    elastic = job("elastic", 0, 200, 8, pods=2, minCount=1, checkpointInterval="1s")
    course = trace(elastic, job("high", 10, 50, 8, priority=9))
    history = simulated(snapshot(8, 8), course, evicting(backfill=backfill, order="priority"))
    stays = [(s.begin // 1000, s.end // 1000, s.gpus // 1000) for s in history.stays if not s.job]
    assert stays == [(0, 10, 16), (10, 200, 8), (60, 200, 8)]


def test_who_stands_before_gets_at_once_what_the_evicted_leave_over() -> None:
    course = trace(
        job("low", 0, 100, 8),
        job("first", 1, 10, 2, preemptionPolicy="Never"),
        job("high", 10, 50, 6, priority=9),
    )
    history = simulated(snapshot(8), course, evicting(backfill="best-effort", order="fifo"))
    assert starts(history) == {"low": 0, "first": 10_000, "high": 10_000}


def test_nobody_goes_if_that_is_not_enough() -> None:
    course = trace(
        job("low", 0, 100, 4, priority=1),
        job("equal", 0, 100, 4, priority=5),
        job("high", 10, 10, 8, priority=5),
    )
    assert evicted(simulated(snapshot(8), course, evicting())) == []


@pytest.mark.parametrize(
    "more", [{"preemptible": False}, {"minRuntime": "60s"}], ids=["not preemptible", "young"]
)
def test_who_is_protected_stays(more: dict[str, Any]) -> None:
    course = trace(job("low", 0, 50, 8, priority=1, **more), job("high", 10, 10, 8, priority=5))
    history = simulated(snapshot(8), course, evicting())
    assert starts(history) == {"low": 0, "high": 50_000}


@pytest.mark.parametrize("backfill", ["none", "best-effort", "easy", "conservative"])
def test_who_has_run_for_long_enough_goes(backfill: str) -> None:
    course = trace(
        job("low", 0, 200, 8, priority=1, minRuntime="60s"),
        job("high", 10, 10, 8, priority=5),
    )
    history = simulated(snapshot(8), course, evicting(backfill=backfill))
    assert starts(history)["high"] == 60_000


def test_who_has_run_for_long_enough_goes_though_nothing_else_happens() -> None:
    borrower = job("a", 0, 200, 8, queueName="a", minRuntime="60s")
    course = trace(borrower, job("b", 10, 10, 4, queueName="b"))
    assert starts(simulated(cohort(4, "a", "b"), course, reclaiming()))["b"] == 60_000
    planner = {"placement": {"planner": {"model": "mixed", "timeLimit": "1s", "period": "15s"}}}
    course = trace(
        job("low", 0, 200, 8, priority=1, minRuntime="60s"), job("high", 10, 10, 8, priority=5)
    )
    # It started when the first plan was made, and goes when the next after its time is made.
    history = simulated(snapshot(8), course, policy(**planner, restartTime="0s"))
    assert starts(history) == {"low": 1000, "high": 62_000}


def test_nothing_happens_when_a_job_has_run_for_long_enough_and_nobody_waits() -> None:
    old = {
        "name": "old",
        "startTime": "2026-09-03T00:00:00Z",
        "minRuntime": "1h",
        "podSets": [
            {"name": "w", "count": 1, "requests": {GPU: 4}, "assignments": [{"node": "n0"}]}
        ],
    }
    taken = {"name": "s", "capturedAt": "2026-09-03T00:00:00Z"}
    course = trace(job("short", 0, 10, 4))
    history = simulated(snapshot(8, metadata=taken, jobs=[old]), course, evicting())
    assert history.horizon == 10_000


@pytest.mark.parametrize(
    ("started", "gone"),
    [
        ("2026-09-01T00:00:00Z", 600_000),
        ("2026-09-02T23:55:00Z", 3_300_000),
        (None, 600_000),
    ],
    ids=["long ago", "just before", "not known"],
)
def test_what_a_job_of_the_snapshot_ran_before_the_trace_counts(
    started: str | None, gone: int
) -> None:
    old = {
        "name": "old",
        "minRuntime": "1h",
        **({} if started is None else {"startTime": started}),
        "podSets": [
            {"name": "w", "count": 1, "requests": {GPU: 8}, "assignments": [{"node": "n0"}]}
        ],
    }
    taken = {"name": "s", "capturedAt": "2026-09-03T00:00:00Z"}
    course = trace(job("high", 600, 100, 8, priority=9))
    history = simulated(
        snapshot(8, metadata=taken, jobs=[old]), course, evicting(backfill="best-effort")
    )
    assert starts(history)["high"] == gone


def test_of_equals_of_the_snapshot_the_one_that_started_last_goes_first() -> None:
    def runs(name: str, gpus: int, started: str) -> dict[str, Any]:
        places = {"assignments": [{"node": "n0"}]}
        podset = {"name": "w", "count": 1, "requests": {GPU: gpus}, **places}
        return {"name": name, "startTime": f"2026-09-02T{started}:00Z", "podSets": [podset]}

    cluster = snapshot(
        8,
        metadata={"name": "s", "capturedAt": "2026-09-03T00:00:00Z"},
        jobs=[runs("late", 4, "22:00"), runs("early", 3, "01:00")],
    )
    course = trace(job("high", 10, 20, 3, priority=9))
    history = simulated(cluster, course, evicting(backfill="best-effort"))
    assert [sample.reserved for sample in history.samples if sample.at == 10_000] == [3000 + 3000]


def cohort(nominal: int, *names: str) -> ClusterSnapshot:
    """A node of 8 GPUs and queues that lend each other."""
    queues = [
        {
            "name": name,
            "cohort": "c",
            "resources": [{"name": GPU, "nominalQuota": nominal}],
        }
        for name in names
    ]
    return snapshot(8, queues=queues)


def reclaiming(**more: Any) -> Any:
    return policy(queueing={"reclaim": True, **more}, restartTime="0s")


def test_a_queue_takes_back_what_another_borrows_and_no_more() -> None:
    course = trace(
        *(job(f"a{i}", i, 100, 2, queueName="a", priority=9) for i in range(4)),
        job("b0", 10, 100, 2, queueName="b", priority=0),
        job("b1", 11, 100, 2, queueName="b", priority=0),
        job("b2", 12, 100, 2, queueName="b", priority=0),
    )
    history = simulated(cohort(4, "a", "b"), course, reclaiming(backfill="best-effort"))
    found = starts(history)
    assert (found["b0"], found["b1"]) == (10_000, 11_000)
    # The third would be beyond its own share: it waits.
    assert found["b2"] is not None
    assert found["b2"] >= 100_000
    assert evicted(history) == ["a2", "a3"]


def test_jobs_without_a_minimum_take_back_and_give_back_too() -> None:
    course = trace(
        job("a", 0, 100, 2, pods=4, minCount=0, queueName="a"),
        job("b", 10, 100, 2, pods=2, minCount=0, queueName="b"),
    )
    history = simulated(cohort(4, "a", "b"), course, reclaiming(backfill="best-effort"))
    assert evicted(history) == ["a"]
    assert starts(history)["b"] == 10_000


def test_who_starts_and_goes_in_one_moment_has_not_started() -> None:
    course = trace(
        job("low", 0, 100, 8, priority=1),
        job("high", 0, 50, 8, priority=5),
    )
    how = policy(queueing={"preemption": True, "order": "fifo"}, restartTime="20s")
    low, high = simulated(snapshot(8), course, how).jobs
    assert (high.started, high.ended) == (0, 50_000)
    # It waits for its first start, which takes no restart: it never ran before.
    assert (low.started, low.starts, low.evictions, low.lost) == (50_000, 1, 0, 0)
    assert low.ended == 150_000


def test_the_share_of_an_owner_falls_at_once_when_its_job_is_evicted() -> None:
    course = trace(
        job("v0", 0, 100, 1, user="v", priority=9),
        job("w0", 0, 100, 5, user="w"),
        job("u1", 10, 50, 4, user="u", priority=5),
        job("v1", 10, 50, 3, user="v"),
        job("w1", 10, 50, 3, user="w"),
    )
    history = simulated(snapshot(8), course, evicting(order="fair-share"))
    assert evicted(history) == ["w0"]
    found = starts(history)
    # Of the three that are left, w has nothing now, and v one.
    assert (found["u1"], found["w1"]) == (10_000, 10_000)
    assert found["v1"] != 10_000


def test_without_reclaim_borrowers_stay() -> None:
    course = trace(job("a", 0, 100, 8, queueName="a"), job("b", 10, 100, 4, queueName="b"))
    assert evicted(simulated(cohort(4, "a", "b"), course, evicting())) == []
    assert evicted(simulated(cohort(4, "a", "b"), course, reclaiming())) == ["a"]


def test_who_borrows_does_not_take_by_priority_what_was_taken_back() -> None:
    course = trace(
        job("a0", 0, 100, 4, queueName="a", priority=9),
        job("a1", 1, 100, 4, queueName="a", priority=9),
        job("b", 10, 100, 4, queueName="b", priority=0),
        job("tick", 20, 1, 9),
    )
    both = policy(queueing={"reclaim": True, "preemption": True}, restartTime="0s")
    history = simulated(cohort(4, "a", "b"), course, both)
    assert evicted(history) == ["a1"]
    assert [each.starts for each in history.jobs[:3]] == [1, 2, 1]


def test_a_queue_takes_back_at_once_while_the_planner_places_everybody_else() -> None:
    course = trace(
        *(job(f"a{i}", i, 100, 2, queueName="a", priority=9) for i in range(4)),
        job("b0", 100, 100, 2, queueName="b", priority=0),
        job("b1", 101, 100, 4, queueName="b", priority=0),
        job("tick", 170, 1, 9),
    )
    planner = {"model": "packing", "timeLimit": "2s", "period": "1m"}
    how = policy(queueing={"reclaim": True}, placement={"planner": planner}, restartTime="0s")
    history = simulated(cohort(4, "a", "b"), course, how)
    # Cycles at 0 s and 1 min place a; b0 does not wait for the next one, b1 would be beyond its
    # own share: it waits until a have ended.
    found = starts(history)
    assert [found[f"a{i}"] for i in range(4)] == [2000, 62_000, 62_000, 62_000]
    assert found["b0"] == 100_000
    assert evicted(history) == ["a3"]
    assert found["b1"] is not None
    assert found["b1"] >= 162_000


def test_every_state_is_legal_where_jobs_evict_others_beside_the_planner() -> None:
    evictions, cycles, seeds = 0, 0, some(range(96))
    for seed in seeds:
        cluster, _ = drawn(seed)
        planner = {"model": "packing", "timeLimit": "1s", "period": "60s"}
        queueing = {"reclaim": True, "preemption": True}
        how = policy(queueing=queueing, placement={"planner": planner}, restartTime="0s")
        simulator = Watched(cluster, how, verify_every=1)
        history = simulator.run()
        evictions += len(getattr(simulator, "pairs", []))
        cycles += len(history.plans)
    assert evictions > len(seeds) / 5
    assert cycles > len(seeds)


def test_who_passed_goes_if_the_reserved_job_can_start_without_him() -> None:
    course = trace(
        job("long", 0, 100, 4, estimate="200s"),
        job("head", 1, 50, 8, priority=0),
        job("passer", 2, 150, 4, priority=9),
    )
    easy = {"backfill": "easy"}
    kept = simulated(snapshot(8), course, policy(queueing=easy))
    assert starts(kept) == {"long": 0, "passer": 2000, "head": 152_000}
    gone = policy(queueing={**easy, "preemptBackfilled": True}, restartTime="0s")
    history = simulated(snapshot(8), course, gone)
    assert starts(history) == {"long": 0, "passer": 2000, "head": 100_000}
    assert evicted(history) == ["passer"]


class Watched(Simulator):
    """Remembers who was evicted for whom."""

    def evict(self, j: int) -> None:
        self.victims = [*getattr(self, "victims", []), j]
        super().evict(j)

    def start(self, j: int, at: Iterable[Change] | None = None) -> bool:
        self.pairs = [*getattr(self, "pairs", []), *((j, v) for v in getattr(self, "victims", []))]
        self.victims = []
        return super().start(j, at)


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
@pytest.mark.parametrize(("first", "second", "goes"), [(1, 5, "p1"), (5, 1, "p2"), (3, 3, "p2")])
def test_of_those_who_passed_the_least_important_goes_first(
    backfill: str, first: int, second: int, goes: str
) -> None:
    course = trace(
        job("early", 0, 50, 6, estimate="100s"),
        job("head", 1, 10, 7),
        job("p1", 10, 80, 1, priority=first),
        job("p2", 11, 80, 1, priority=second),
    )
    queueing = {"backfill": backfill, "preemptBackfilled": True}
    how = policy(queueing=queueing, restartTime="0s")
    history = simulated(snapshot(8), course, how)
    assert starts(history) == {"early": 0, "head": 50_000, "p1": 10_000, "p2": 11_000}
    assert evicted(history) == [goes]


def test_victims_are_less_important_and_quotas_hold_whatever_happens() -> None:
    evictions = 0
    for seed in some(range(240), of=8):
        cluster, _ = drawn(seed)
        rng = random.Random(seed)
        backfill = rng.choice(("none", "best-effort", "easy", "conservative"))
        order = rng.choice(("fifo", "priority", "fair-share"))
        simulator = Watched(cluster, evicting(backfill=backfill, order=order), verify_every=1)
        simulator.run()  # the judge looks at every state, quotas and all
        for j, v in getattr(simulator, "pairs", []):
            evictions += 1
            assert cluster.instance.jobs[j].priority > cluster.instance.jobs[v].priority
            assert cluster.instance.jobs[j].may_preempt
    assert evictions > 20


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"queueing": {"preemptBackfilled": True}}, "expected easy or conservative"),
        (
            {"queueing": {"preemption": True}, "placement": {"planner": {}}},
            "found evictions beside those of the planner's model training",
        ),
        (
            {
                "queueing": {"backfill": "easy", "preemptBackfilled": True},
                "placement": {"planner": {}},
            },
            "with placement.planner nobody has a reservation",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        Simulator(world(snapshot(8), trace()), policy(**more))


@pytest.mark.parametrize("part", ["placement", "defragmentation"])
def test_a_model_whose_plans_wait_for_windows_is_refused(part: str, tmp_path: Path) -> None:
    model = tmp_path / "nightly.yaml"
    model.write_text(
        "apiVersion: kantopt/v1alpha1\nkind: Model\nmetadata: {name: nightly}\nextends: defrag\n"
        "schedule: {windows: [{cron: 0 22 * * *, duration: 8h}]}\n"
    )
    asked = {"model": str(model)}
    more = {"placement": {"planner": asked}} if part == "placement" else {part: asked}
    with pytest.raises(UsageError, match="with schedule"):
        Simulator(world(snapshot(8), trace()), policy(**more))
