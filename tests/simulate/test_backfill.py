"""EASY and conservative backfill: start times of a brute-force reference, and their promises."""

from __future__ import annotations

import random
from typing import Literal

import pytest

from kantopt.formats.traces.swf import read_swf
from kantopt.schema.extends import load_model
from kantopt.schema.policy import Policy
from kantopt.simulate.floor import Floor
from kantopt.simulate.orders import by_rank
from kantopt.simulate.reservations import Reservations
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import World, build_world
from tests.campaign import some
from tests.simulate.backfill_reference import Asked, Kind, start_times, starts_on_hosts
from tests.simulate.worlds import GPU, job, policy, simulated, snapshot, trace, world
from tests.simulate.worlds import drawn as drawn_world

KINDS: tuple[Kind, ...] = ("none", "best-effort", "easy", "conservative")


def drawn(rng: random.Random, size: int, count: int, longest: int, factor: float) -> list[Asked]:
    """Jobs of a machine that is always a little too small, with estimates that are upper bounds."""
    jobs, at = [], 0
    for _ in range(count):
        processors = min(size, 2 ** rng.randint(0, size.bit_length() - 1) + rng.randint(0, 2))
        duration = rng.randint(1, longest)
        estimate = duration + int(duration * factor * rng.random())
        at += rng.choice((0, 1, rng.randint(0, max(1, longest // 2))))
        jobs.append(Asked(at, duration, estimate, processors, rng.randint(0, 2)))
    return jobs


def log_of(size: int, jobs: list[Asked]) -> str:
    """The same as a log."""
    lines = [
        f"{i} {job.arrival} -1 {job.duration} -1 -1 -1 {job.processors} {job.estimate} -1 1 1 1 -1 "
        "1 1 -1 -1"
        for i, job in enumerate(jobs)
    ]
    return "\n".join([f"; MaxProcs: {size}", *lines])


def log_starts(size: int, jobs: list[Asked], asked: Policy) -> list[int]:
    """Start times of the simulator, seconds."""
    snapshot, trace = read_swf(log_of(size, jobs), file="log", name="log")
    assert snapshot is not None
    ranked = tuple(
        job.model_copy(update={"priority": jobs[int(job.name.removeprefix("job-"))].priority})
        for job in trace.jobs
    )
    trace = trace.model_copy(update={"jobs": ranked})
    world = build_world(snapshot, (), trace, load_model("training"), name="log")
    history = Simulator(world, asked).run()
    starts: dict[str, int] = {}
    for record in history.jobs:
        assert record.started is not None
        assert record.started % 1000 == 0
        starts[record.name.removeprefix("default/job-")] = record.started // 1000
    return [starts[str(i)] for i in range(len(jobs))]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("factor", [0.0, 4.0])
@pytest.mark.parametrize("seed", some(range(1, 3)))
def test_logs_of_many_jobs_start_as_the_definitions_say(
    kind: Kind, seed: int, factor: float
) -> None:
    jobs = drawn(random.Random(seed), 32, 120, 150, factor)
    asked = policy(queueing={"backfill": kind, "depth": 1000})
    assert log_starts(32, jobs, asked) == start_times(32, jobs, kind)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("block", some(range(4)))
def test_tiny_logs_start_as_the_definitions_say(kind: Kind, block: int) -> None:
    asked = policy(queueing={"backfill": kind})
    for seed in range(50 * block, 50 * (block + 1)):
        rng = random.Random(f"tiny {seed}")
        jobs = drawn(rng, rng.randint(1, 6), rng.randint(2, 9), 7, rng.choice((0.0, 2.0)))
        size = max(job.processors for job in jobs)
        assert log_starts(size, jobs, asked) == start_times(size, jobs, kind), seed


@pytest.mark.parametrize("kind", ["none", "best-effort", "easy"])
@pytest.mark.parametrize("seed", range(8))
def test_by_priority_logs_start_as_the_definitions_say(kind: Kind, seed: int) -> None:
    jobs = drawn(random.Random(seed), 8, 40, 30, 2.0)
    asked = policy(queueing={"backfill": kind, "order": "priority"})
    assert log_starts(8, jobs, asked) == start_times(8, jobs, kind, "priority")


@pytest.mark.parametrize("kind", ["easy", "conservative"])
@pytest.mark.parametrize("block", some(range(4)))
def test_gangs_on_hosts_start_as_the_definitions_say_of_places(
    kind: Literal["easy", "conservative"], block: int
) -> None:
    asked = policy(queueing={"backfill": kind, "depth": 1000})
    for seed in range(10 * block, 10 * (block + 1)):
        rng = random.Random(f"hosts {seed}")
        jobs = drawn(rng, rng.randint(2, 16), rng.randint(5, 40), 30, rng.choice((0.0, 0.5, 2.0)))
        size = max(job.processors for job in jobs)
        gangs = [
            job(
                f"j{i}",
                asks.arrival,
                asks.duration,
                1,
                asks.processors,
                estimate=f"{asks.estimate}s",
            )
            for i, asks in enumerate(jobs)
        ]
        history = Simulator(world(snapshot(*[1] * size), trace(*gangs)), asked).run()
        starts = {record.name: record.started for record in history.jobs}
        found = [(starts[f"default/j{i}"] or 0) // 1000 for i in range(len(jobs))]
        assert found == starts_on_hosts(size, jobs, kind), seed


def test_who_was_in_the_way_of_a_reservation_is_asked_again_when_another_host_is_free() -> None:
    jobs = (
        job("on-0-and-1", 0, 20, 1, 2, estimate="20s"),
        job("on-2", 0, 1, 1, estimate="1s"),
        job("on-3", 0, 5, 1, estimate="5s"),
        job("first", 1, 10, 1, 3, estimate="10s"),  # promised 0, 1 and 2 from 20 s on
        job("behind", 1, 30, 1, estimate="30s"),  # on 2 it would be in the way, on 3 it is not
    )
    history = Simulator(
        world(snapshot(1, 1, 1, 1), trace(*jobs)), policy(queueing={"backfill": "easy"})
    ).run()
    assert {record.name: record.started for record in history.jobs}["default/behind"] == 5000


class Watched(Reservations):
    """Remembers what was promised, and that the profile has what the state has."""

    def __init__(self, depth: int) -> None:
        super().__init__(depth, by_rank)
        self.promises: dict[int, list[int]] = {}

    def __call__(self, floor: Floor) -> None:
        super().__call__(floor)
        for j in floor.waiting:
            if (found := self.reserved(j)) is not None:
                self.promises.setdefault(j, []).append(found.begin)
        profile = self._profile
        assert profile is not None
        assert (profile._free[profile._rows[0]] == floor.cluster.state.free).all()


def watched(cluster: World, asked: Policy, depth: int) -> tuple[Watched, Simulator]:
    """A simulation run to its end, and who worked through its queue."""
    simulator = Simulator(cluster, asked, verify_every=1)
    backfill = Watched(depth)
    simulator.backfill = backfill
    simulator.run()
    return backfill, simulator


@pytest.mark.parametrize("depth", [1, 3, 100])
@pytest.mark.parametrize("seed", range(6))
def test_gangs_start_when_they_were_promised_to_or_earlier(depth: int, seed: int) -> None:
    rng = random.Random(seed)
    at, jobs = 0, []
    for i in range(60):
        at += rng.randint(0, 12)
        lasts = rng.randint(1, 60)
        estimate = {} if seed < 2 else {"estimate": f"{lasts + rng.randint(0, 60)}s"}
        pods = rng.choice((1, 1, 1, 2, 3, 4))
        gpus = 8 if pods > 1 and rng.random() < 0.5 else rng.randint(1, 8)
        jobs.append(job(f"j{i}", at, lasts, gpus, pods, **estimate))
    for strategy in ("best-fit", "e-binpack", "least-allocated"):
        asked = policy(placement={"strategy": strategy})
        backfill, simulator = watched(world(snapshot(8, 8, 8, 8), trace(*jobs)), asked, depth)
        assert backfill.promises
        for j, promised in backfill.promises.items():
            started = simulator.history.jobs[j].started
            assert started is not None
            assert promised == sorted(promised, reverse=True)
            assert started <= promised[-1]
            if seed < 2:  # exact estimates
                assert len(set(promised)) == 1
                assert started == promised[0]


@pytest.mark.parametrize("seed", range(30))
def test_the_profile_has_what_the_state_has_whatever_happens(seed: int) -> None:
    cluster, asked = drawn_world(seed)
    watched(cluster, asked, 1 + seed % 3)


def test_who_runs_for_longer_than_he_said_is_taken_to_end_at_the_next_moment() -> None:
    course = trace(
        job("late", 0, 100, 6, estimate="10s"),
        job("head", 1, 50, 8),
        job("short", 30, 5, 2),
    )
    for kind in ("easy", "conservative"):
        history = simulated(snapshot(8), course, policy(queueing={"backfill": kind}))
        assert [each.started for each in history.jobs] == [0, 100_000, 150_000]


def test_pods_above_the_minimum_do_not_come_where_somebody_has_a_reservation() -> None:
    course = trace(
        job("long", 0, 100, 5),
        job("short", 0, 50, 2),
        job("elastic", 0, 300, 1, pods=3, minCount=1),
        job("head", 10, 10, 7),
    )
    asked = policy(queueing={"backfill": "easy"})
    history = simulated(snapshot(8), course, asked)
    assert [each.started for each in history.jobs] == [0, 0, 0, 100_000]
    grown = [(stay.begin, stay.gpus) for stay in history.stays if stay.job == 2]
    assert grown == [(0, 1000), (110_000, 2000)]


def test_a_cohort_lends_one_after_the_other_what_it_has_once() -> None:
    quotas = {"q": 0, "lends": 4}
    queues = [
        {"name": name, "cohort": "c", "resources": [{"name": GPU, "nominalQuota": quota}]}
        for name, quota in quotas.items()
    ]
    course = trace(
        job("first", 0, 10, 3, queueName="lends"),
        job("head", 1, 10, 3, queueName="q"),  # once the first has ended
        job("small", 2, 30, 1, queueName="lends"),  # 4 of 4 are in use, first beside one, then both
        job("next", 3, 30, 1, queueName="lends"),
    )
    for kind in ("easy", "conservative"):
        history = simulated(
            snapshot(16, queues=queues), course, policy(queueing={"backfill": kind})
        )
        assert [each.started for each in history.jobs] == [0, 10_000, 2000, 20_000]


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_that_lends_nothing_waits_while_its_cohort_is_beyond_what_it_has(
    kind: Kind,
) -> None:
    rows = {"q": {"nominalQuota": 4}, "keeps": {"nominalQuota": 4, "lendingLimit": 0}}
    queues = [{"name": q, "cohort": "c", "resources": [{"name": GPU} | rows[q]]} for q in rows]
    podset = {"count": 1, "requests": {GPU: 6}, "assignments": [{"node": "n0"}]}
    runs = {"name": "runs", "queueName": "q", "podSets": [podset]}
    course = trace(
        job("all", 1, 10, 4, queueName="keeps"),
        job("some", 2, 100, 2, queueName="keeps"),
        endings=[{"job": "runs", "after": "50s"}],
    )
    cluster = snapshot(16, queues=queues, jobs=[runs])
    history = simulated(cluster, course, policy(queueing={"backfill": kind}))
    at = {each.name: each.started for each in history.jobs}
    started = [at[name] for name in ("default/all", "default/some")]
    assert started == [50_000, 50_000 if kind == "none" else 2000]


def test_a_node_that_fails_takes_reservations_with_it_and_others_pass() -> None:
    course = trace(
        job("a", 0, 100, 8),
        job("both", 1, 10, 8, pods=2),
        job("c", 20, 200, 8),
        outages=[{"node": "n1", "at": "10s", "lasts": "500s"}],
    )
    history = simulated(snapshot(8, 8), course, policy(queueing={"backfill": "easy"}))
    started = {each.name: each.started for each in history.jobs}
    # While a node is down there is no room for two: whoever fits may pass.
    assert started["default/c"] in (20_000, 100_000)
    assert started["default/both"] == 510_000


def test_who_had_no_place_while_a_node_was_down_is_first_again_once_it_is_repaired() -> None:
    course = trace(
        job("runs", 0, 20, 8),
        job("first", 1, 10, 8, pods=2),
        job("second", 2, 30, 8),
        outages=[{"node": "n1", "at": "0s", "lasts": "10s"}],
    )
    for kind in ("easy", "conservative"):
        history = simulated(snapshot(8, 8), course, policy(queueing={"backfill": kind}))
        assert [each.started for each in history.jobs] == [0, 20_000, 30_000]


def test_places_that_were_reserved_are_looked_at_again_for_those_who_must_be_near_others() -> None:
    near = [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"x": "y"}}}]
    anchor = job("anchor", 0, 100, 1)
    anchor["podSets"][0]["labels"] = {"x": "y"}
    head = job("head", 1, 50, 8)
    head["podSets"][0]["podAffinity"] = near
    other = job("other", 150, 300, 1)
    other["podSets"][0]["labels"] = {"x": "y"}
    tick = job("tick", 160, 1, 99)
    course = trace(anchor, job("full", 0, 120, 4), head, other, tick)
    for kind in ("easy", "conservative"):
        # At 120 s, when it was to start, its anchor is gone: every state is judged.
        history = simulated(snapshot(9, 9), course, policy(queueing={"backfill": kind}))
        started = {each.name.split("/")[1]: each.started for each in history.jobs}
        assert started == {"anchor": 0, "full": 0, "head": 160_000, "other": 150_000, "tick": None}
