"""Services of replicas with roles in a ratio, whose load changes."""

from __future__ import annotations

import random
from typing import Any

import pytest

from kantopt.report.blocks import Screen, render
from kantopt.report.simulation import simulation_blocks
from kantopt.simulate.figures import figures_of
from kantopt.simulate.metrics.disturbance import disturbance
from kantopt.simulate.metrics.slowdown import slowdown
from kantopt.simulate.metrics.waiting import waiting
from kantopt.simulate.metrics.window import Window
from kantopt.simulate.simulator import Simulator
from tests.campaign import some
from tests.simulate.worlds import GPU, drawn_policy, job, policy, snapshot, trace, world

BLOCKS = some(range(8))
EACH = 8


def service(name: str, replicas: int, *scale: tuple[int, int], **more: Any) -> dict[str, Any]:
    """A service of one prefill and three decode pods a replica, a GPU each; times in seconds."""
    return {
        "name": name,
        "arrival": "0s",
        "duration": "100s",
        "replicas": replicas,
        "scale": [{"after": f"{at}s", "replicas": wanted} for at, wanted in scale],
        "podSets": roles(1, 3, 1),
        **more,
    }


def roles(prefill: int, decode: int, gpus: int) -> list[dict[str, Any]]:
    counts = {"prefill": prefill, "decode": decode}
    return [{"name": k, "count": n, "requests": {GPU: gpus}} for k, n in counts.items()]


def times(*jobs: Any, nodes: tuple[int, ...] = (4, 4), how: str = "best-effort") -> dict[str, Any]:
    """First start, end and withdrawal of each job, in seconds."""
    course = world(snapshot(*nodes), trace(*jobs))
    history = Simulator(course, policy(queueing={"backfill": how}), verify_every=1).run()
    return {
        each.name.partition("/")[2]: tuple(
            None if at is None else at // 1000 for at in (each.started, each.ended, each.withdrawn)
        )
        for each in history.jobs
    }


def test_replicas_come_and_those_that_came_last_leave() -> None:
    found = times(service("s", 1, (10, 3), (40, 2), (60, 3)), nodes=(4, 4, 4))
    assert found == {
        "s-0": (0, 100, None),
        "s-1": (10, 110, None),
        "s-2": (10, 40, None),
        "s-3": (60, 160, None),
    }


def test_a_service_ends_when_it_is_told_to_have_no_replicas() -> None:
    assert times(service("s", 2, (30, 0))) == {"s-0": (0, 30, None), "s-1": (0, 30, None)}


def test_a_service_may_come_after_any_time() -> None:
    late = 20_000 * 86_400
    assert times(service("s", 1, (30, 0), arrival="20000d")) == {"s-0": (late, late + 30, None)}


def test_nothing_happens_when_a_replica_that_has_left_would_have_been_done() -> None:
    late = service("s", 1, (60, 0), arrival="10s")
    course = world(snapshot(4), trace(job("before", 0, 40, 4), late))
    history = Simulator(course, policy(), verify_every=1).run()
    # It runs from 40 s on and leaves at 70 s; it would have worked until 140 s.
    assert (history.horizon, history.samples[-1].at) == (70_000, 70_000)


def test_nobody_knows_beforehand_when_the_load_will_fall() -> None:
    course = (
        service("s", 1, (60, 0), duration="900s"),
        job("large", 1, 10, 4, pods=2),
        job("passes", 2, 500, 4),
    )
    # By what the service says it is there for 900 s: who passes delays nobody.
    assert times(*course, how="easy")["passes"] == (2, 502, None)


@pytest.mark.parametrize("waits", [False, True])
def test_a_replica_that_is_told_to_leave_is_not_done_whether_it_waited_or_not(waits: bool) -> None:
    first = [job("before", 0, 1, 4)] if waits else []
    course = world(snapshot(4), trace(*first, service("s", 1, (60, 0))))
    told = Simulator(course, policy(), verify_every=1).run().jobs[-1]
    assert (told.ended, told.left_early, told.duration) == (60_000, True, 100_000)
    done = service("s", 1, (100, 0))
    told = Simulator(world(snapshot(4), trace(done)), policy(), verify_every=1).run().jobs[0]
    assert (told.ended, told.left_early) == (100_000, False)


def test_a_replica_that_still_waits_is_withdrawn_when_the_load_falls() -> None:
    found = times(service("s", 1, (10, 3), (50, 1)))
    assert found == {"s-0": (0, 100, None), "s-1": (10, 50, None), "s-2": (None, None, 50)}


def test_no_part_of_a_replica_starts() -> None:
    found = times(service("s", 2), job("b", 0, 50, 1), nodes=(4, 3))
    assert found == {"s-0": (0, 100, None), "s-1": (100, 200, None), "b": (0, 50, None)}


def test_who_was_withdrawn_waited_until_then_and_wants_nothing_after() -> None:
    course = world(snapshot(4), trace(service("s", 1, (10, 2), (50, 1))))
    history = Simulator(course, policy(), verify_every=1).run()
    values = {(v.metric, v.scope): v for v in waiting(Window(history))}
    assert values["wait_max", "all"].value == 40_000
    assert values["wait_censored", "all"].value == 1
    assert sum(sample.waiting_jobs for sample in history.samples if sample.at >= 50_000) == 0
    told = render(simulation_blocks(figures_of([history])), Screen()).upper()
    assert "NOT STARTED" in told
    assert "STILL WAITING" not in told


def test_a_replica_that_waits_and_leaves_with_the_load_is_not_done_without_slowdown() -> None:
    """It runs from 40 s to 50 s and would have worked for 60 s; the other works for all of its."""
    course = world(snapshot(4, 4), trace(job("b", 0, 40, 4), service("s", 1, (10, 2), (50, 1))))
    window = Window(Simulator(course, policy(), verify_every=1).run())
    values = {v.metric: v.value for v in slowdown(window) if v.scope == "all"}
    assert (values["slowdown_jobs"], values["slowdown_unfinished"]) == (2, 1)
    done = {v.metric: v.value for v in disturbance(window)}
    assert (done["jobs_started"], done["jobs_finished"]) == (3, 2)


def replicas_wanted(asked: dict[str, Any], at: int) -> int:
    """Replicas that a service is to have at a moment, in seconds."""
    since = at - int(asked["arrival"][:-1])
    steps = [(0, asked["replicas"])]
    steps += [(int(each["after"][:-1]), each["replicas"]) for each in asked["scale"]]
    return next((wanted for begin, wanted in reversed(steps) if begin <= since), 0)


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("block", BLOCKS)
def test_the_ratio_of_roles_holds_in_every_state(block: int, planned: bool) -> None:
    grew = shrank = 0
    for seed in range(block * EACH, (block + 1) * EACH):
        rng = random.Random(seed)
        ratio = {"a": (1, 3), "b": (2, 1)}
        services = []
        for name, counts in ratio.items():
            moments = sorted(rng.sample(range(1, 200), 3))
            steps = [(at, rng.randint(0, 5)) for at in moments]
            more = {
                "arrival": f"{rng.randint(0, 20)}s",
                "duration": f"{rng.randint(20, 300)}s",
                "priority": rng.randint(0, 3),
                "podSets": roles(*counts, rng.choice((1, 2))),
                "checkpointInterval": rng.choice(("5s", "100s")),
            }
            services.append(service(name, rng.randint(1, 3), *steps, **more))
        batch = [
            job(f"w{i}", rng.randint(0, 200), rng.randint(5, 90), rng.randint(1, 4), 2, priority=1)
            for i in range(8)
        ]
        nodes = [rng.choice((4, 8)) for _ in range(4)]
        outages = [{"node": "n0", "at": f"{rng.randint(0, 200)}s", "lasts": "30s"}]
        cluster = snapshot(*nodes)
        how = drawn_policy(rng, ["n0"], planned=planned)
        how = how.model_copy(update={"placement": how.placement.model_copy(update={"zone": None})})
        course = world(cluster, trace(*services, *batch, outages=outages))
        simulator = Simulator(course, how, verify_every=1)
        before = dict.fromkeys(ratio, 0)
        while simulator.step():
            for asked in services:
                running = check_ratio(simulator, asked["name"], ratio[asked["name"]])
                assert running <= replicas_wanted(asked, simulator.now // 1000)
                grew += running > before[asked["name"]]
                shrank += running < before[asked["name"]]
                before[asked["name"]] = running
        history = simulator.finish()
        assert history.judged
        for stay in history.stays:  # what came and went within a moment as well
            record = history.jobs[stay.job]
            if record.name.partition("/")[2][0] in ratio:
                assert stay.gpus == record.gpus
    assert grew > EACH
    assert shrank > EACH


def check_ratio(simulator: Simulator, name: str, counts: tuple[int, int]) -> int:
    """Check the pods of each role; return the replicas that run."""
    instance, placed = simulator.world.instance, simulator.cluster.state.placed
    roles_of = [each for each in instance.jobs if each.name.startswith(f"default/{name}-")]
    found = [0, 0]
    for each in roles_of:
        pods = [sum(placed[s] for s in role.podsets) for role in each.roles]
        assert pods in ([0, 0], list(counts)), f"{each.name} is no whole replica"
        found = [a + b for a, b in zip(found, pods, strict=True)]
    assert found[0] * counts[1] == found[1] * counts[0]
    return found[0] // counts[0]
