"""Random plans carried out in plain counts, and the judge held to what comes of it."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from kantopt.planning import plan
from kantopt.planning.solving import executable, together
from kantopt.problem.actions import Wave
from kantopt.problem.instance import Instance
from kantopt.search.order.sequence import sequence
from kantopt.verify.replay import replay
from kantopt.verify.rules import check
from tests.campaign import some
from tests.fuzz.draw import random_world
from tests.fuzz.plain_replay import Act, faults_of
from tests.fuzz.plain_replay import Wave as Steps
from tests.fuzz.promises import broken_promises
from tests.fuzz.tidied import tidied
from tests.fuzz.trial import Tally, instance_of, plain, target_of, trial
from tests.fuzz.untidy import Asked
from tests.fuzz.world import Job, Place, World


def test_no_state_of_any_order_breaks_a_rule() -> None:
    """The campaign is ``python scripts/fuzz.py --full``."""
    tally, seeds = Tally(), some(range(400))
    for seed in seeds:
        outcome = trial(seed)
        tally.add(outcome)
        assert not outcome.faults, (seed, outcome.faults)
    counts = tally.counts
    assert counts["without a plan"] == 0
    assert counts["with a move"] > 0.6 * counts["plans"], str(tally)
    assert counts["with two waves or more"] > 0.3 * counts["plans"], str(tally)
    assert counts["with waves side by side"] > len(seeds) / 7.5
    assert counts["with a circle of moves"] > len(seeds) / 7.5
    assert counts["with a stop-over"] > len(seeds) / 50


def test_no_whole_plan_breaks_a_rule_or_a_promise() -> None:
    tally = Tally()
    for seed in range(12):
        outcome = tidied(seed)
        tally.add(outcome)
        assert not outcome.faults, (seed, outcome.faults)
    assert tally.counts["with a move"] > 2, str(tally)


def test_where_work_is_counted_placements_without_an_order_do_not_multiply_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The best placements of this cluster have no order, whatever is searched for next."""
    searches = []

    def counted(*given: Any, **named: Any) -> Any:
        searches.append(given)
        assert len(searches) <= 1 + executable.AGAIN
        return together.search_together(*given, **named)

    for module in (plan, executable):
        monkeypatch.setattr(module, "search_together", counted)
    assert not tidied(52).faults
    assert len(searches) == 1 + executable.AGAIN


def test_a_broken_promise_is_noticed() -> None:
    """The check that stands beside the judge must see each kind of fault."""
    kept = Job("kept", 2, 1, 1, kept=True)
    guarded = Job("guarded", 2, 1, 1, group="x", namespace="other")
    world = World(nodes={"a": (4, 4), "b": (4, 4)}, budgets={"x": 0})
    world.jobs = {"kept": kept, "guarded": guarded}
    a: Place = ("a", ())
    acts = (
        Act("kept", 1, a, ("b", ())),
        Act("guarded", 1, a, ("b", ())),
        Act("guarded", 1, a, None),
    )
    limits = {"moves": 1, "movesPerJob": 0, "movesPerNamespace": 0, "arrivalsPerNode": 1}
    asked = Asked([], {**limits, "departuresPerNode": 2}, exempt=("keep",))
    assert set(broken_promises(world, asked, [Steps(1, (), acts)])) == {
        "kept is exempt and touched",
        "guarded is disturbed although its budget allows none",
        "1 pods of group x evicted, 0 allowed",
        "guarded is evicted for nobody",
        "evictions : 1 of 0",
        "moves : 2 of 1",
        "movesPerJob kept: 1 of 0",
        "movesPerJob guarded: 1 of 0",
        "movesPerNamespace default: 1 of 0",
        "movesPerNamespace other: 1 of 0",
        "arrivalsPerNode b: 2 of 1",
        "departuresPerNode a: 3 of 2",
    }


def test_who_comes_without_company_or_beside_too_many_movers_is_noticed() -> None:
    """The plain replay must see each kind of fault."""
    a, b, c = (("a", ()), ("b", ()), ("c", ()))
    world = World(nodes=dict.fromkeys("abc", (9, 9)), racks={"a": "r", "b": "r", "c": "s"})
    world.jobs = {
        "guest": Job("guest", 1, 1, 1, near="host", beside=True),
        "host": Job("host", 1, 1, 1, live=True),
        "like": Job("like", 2, 1, 1, near="like"),
        "two": Job("two", 2, 1, 1, at_once=1),
    }
    world.now = {"host": Counter({a: 1}), "two": Counter({a: 2})}

    def faults(then: dict[str, dict[Place, int]], *waves: Steps) -> set[str]:
        world.then = {name: Counter(places) for name, places in {**world.now, **then}.items()}
        return faults_of(world, list(waves), random.Random(0))

    come, leave = Act("guest", 1, None, a), Act("host", 1, a, b)
    settled: dict[str, dict[Place, int]] = {"guest": {a: 1}}
    alone = {"guest comes to a without host", "guest ends without host"}
    assert faults(settled, Steps(1, (), (come,))) == set()
    assert faults({**settled, "host": {b: 1}}, Steps(1, (), (come, leave))) == alone
    assert faults({"guest": {b: 1}}, Steps(1, (), (Act("guest", 1, None, b),))) == {
        "guest comes to b without host",
        "guest ends without host",
    }
    met: dict[str, dict[Place, int]] = {"guest": {b: 1}, "host": {b: 1}}
    late = Act("guest", 1, None, b)
    assert faults(met, Steps(1, (), (leave,)), Steps(2, (1,), (late,))) == set()
    assert faults(met, Steps(1, (), (leave, late))) == set()
    assert faults(met, Steps(1, (), (leave,)), Steps(2, (), (late,))) == {
        "guest comes to b without host"
    }
    first, second, apart = (Act("like", 1, None, place) for place in (a, b, c))
    assert faults({"like": {a: 1, b: 1}}, Steps(1, (), (first, second))) == set()
    assert faults({"like": {a: 1, c: 1}}, Steps(1, (), (first, apart))) == {
        "like comes to a without like",
        "like comes to c without like",
        "like ends without like",
    }
    assert faults({"like": {a: 1, b: 1}}, Steps(1, (), (first,)), Steps(2, (), (second,))) == {
        "like comes to a without like",
        "like comes to b without like",
    }
    world.now["like"] = Counter({a: 1})
    assert faults({"like": {c: 1}}, Steps(1, (), (Act("like", 1, a, c),))) == set()
    world.now["like"] = Counter({a: 2})
    apart = Act("like", 1, a, c)
    assert faults({"like": {a: 1, c: 1}}, Steps(1, (), (apart,))) == {
        "like comes to c without like",
        "like ends without like",
    }
    del world.now["like"]
    both = Act("two", 2, a, b)
    assert faults({"two": {b: 2}}, Steps(1, (), (both,))) == {"2 pods of two on the move"}
    one = Act("two", 1, a, b)
    assert faults({"two": {b: 2}}, Steps(1, (), (one,)), Steps(2, (1,), (one,))) == set()


def ordered(seed: int) -> tuple[World, Instance, tuple[Wave, ...]] | None:
    world = random_world(seed)
    instance = instance_of(world)
    target = target_of(world, instance)
    waves = None if check(instance, target) else sequence(instance, target)
    return (world, instance, waves) if waves and len(waves) <= 4 else None


def hasty(rng: random.Random, waves: tuple[Wave, ...]) -> list[Wave]:
    """Forget some of what waves wait for."""
    return [replace(w, after=tuple(b for b in w.after if rng.random() < 0.6)) for w in waves]


def crowded(rng: random.Random, waves: tuple[Wave, ...]) -> list[Wave]:
    """Make one wave of two that follow each other in the list."""
    if len(waves) < 2:
        return list(waves)
    i = rng.randrange(len(waves) - 1)
    first, second = waves[i], waves[i + 1]
    both = replace(first, actions=first.actions + second.actions)
    merged = [*waves[:i], both, *waves[i + 2 :]]
    new = {second.id: first.id}
    return [
        replace(w, after=tuple(sorted({new.get(b, b) for b in w.after} - {w.id}))) for w in merged
    ]


def split(rng: random.Random, waves: tuple[Wave, ...]) -> list[Wave]:
    """Make two waves of one, side by side or one after the other."""
    i = rng.randrange(len(waves))
    wave = waves[i]
    if len(wave.actions) < 2:
        return list(waves)
    cut = rng.randrange(1, len(wave.actions))
    after = wave.after if rng.random() < 0.5 else (wave.id,)
    halves = [replace(wave, actions=wave.actions[:cut]), Wave(99, after, wave.actions[cut:])]
    rest = [
        replace(w, after=(*w.after, 99)) if wave.id in w.after and rng.random() < 0.7 else w
        for w in waves[i + 1 :]
    ]
    return [*waves[:i], *halves, *rest]


@pytest.mark.parametrize("change", [hasty, crowded, split])
def test_the_judge_finds_a_plan_illegal_if_and_only_if_something_goes_wrong(change) -> None:  # type: ignore[no-untyped-def]
    verdicts = {True: 0, False: 0}
    company = 0
    for seed in range(160):
        found = ordered(seed)
        if found is None:
            continue
        world, instance, waves = found
        rng = random.Random(seed)
        changed = change(rng, waves)
        violations, _ = replay(instance, changed)
        faults = faults_of(world, plain(instance, tuple(changed)), rng, runs=3)
        assert bool(violations) is bool(faults), (seed, violations, faults)
        verdicts[bool(faults)] += 1
        company += bool(faults) and all(" without " in fault for fault in faults)
    assert min(verdicts.values()) > 3, verdicts
    assert company > 0 or change is not hasty
