"""What a job's owner lets go: so many pods in all, so many at any one time."""

from __future__ import annotations

from dataclasses import replace

from kantopt.problem.actions import Wave
from kantopt.problem.build import build_instance
from kantopt.problem.instance import Instance
from kantopt.problem.tiers import tiers_of
from kantopt.schema.model import Rule
from kantopt.search.order.sequence import sequence
from kantopt.verify.metrics import measure
from kantopt.verify.replay import replay
from kantopt.verify.rules import check
from tests.campaign import some
from tests.generate import random_documents
from tests.oracle import best
from tests.solved import solved
from tests.verify.world import broken, job, node, placed, pods, put, question


def test_no_more_pods_move_than_the_owner_lets_go() -> None:
    jobs = [job("r", pods(count=3, on=["a"] * 3), maxMoves=1)]
    instance = question([node("a"), node("b")], jobs)
    assert broken(instance, Rule.LIMITS, r=["a", "a", "b"]) == []
    assert broken(instance, Rule.LIMITS, r=["a", "b", "b"]) == ["job default/r: moves: 2 of 1 pods"]
    tighter = question([node("a"), node("b")], jobs, limits={"movesPerJob": 0})
    assert broken(tighter, Rule.LIMITS, r=["a", "a", "b"]) == ["job default/r: moves: 1 of 0 pods"]


def test_a_stop_over_is_one_move_more_of_what_the_owner_lets_go() -> None:
    def exchanged(moves: int) -> bool:
        jobs = [
            job(name, pods(cpu=4, on=[on]), moveMode="live", maxMoves=moves)
            for name, on in (("r", "a"), ("s", "b"))
        ]
        instance = question([node("a"), node("b"), node("c")], jobs)
        return sequence(instance, placed(instance, r=["b"], s=["a"])) is not None

    assert exchanged(2)
    assert not exchanged(1)


def test_one_pod_of_an_ordered_set_moves_after_the_other_and_the_judge_asks_for_it() -> None:
    jobs = [
        job("r", pods(count=3, minCount=0, on=["a"] * 3), maxMovesAtOnce=1),
        job("s", pods(count=2, minCount=0, on=["a"] * 2)),
    ]
    instance = question([node("a", cpu=8), node("b", cpu=8)], jobs)
    waves = sequence(instance, placed(instance, r=["b"] * 3, s=["b"] * 2))
    assert waves is not None
    r = instance.jobs[instance.job_index["default/r"]].podsets[0]
    mine = [wave for wave in waves if any(a.podset == r for a in wave.actions)]
    assert [sum(a.pods for a in w.actions if a.podset == r) for w in mine] == [1, 1, 1]
    assert all(later.after for later in mine[1:])
    beside = tuple(Wave(w.id, (), w.actions) for w in waves)
    said = f"limits: wave {mine[0].id}: moves of job default/r: 3 of 1 pods at once"
    assert said in map(str, replay(instance, beside)[0])


def test_two_pods_of_an_ordered_set_cannot_change_places_at_once() -> None:
    both = pods("x", cpu=4, on=["a"]), pods("y", cpu=3, on=["b"])
    free = question([node("a"), node("b", cpu=4)], [job("r", *both)])
    where = {"r/x": ["b"], "r/y": ["a"]}
    assert sequence(free, put(free, where)) is not None
    bound = question([node("a"), node("b", cpu=4)], [job("r", *both, maxMovesAtOnce=1)])
    assert sequence(bound, put(bound, where)) is None


def limited(seed: int) -> Instance:
    """A random question in which every other job lets no pod go, the others one at a time."""
    snapshot, jobs, model = random_documents(seed)
    running = tuple(
        each.model_copy(update={"max_moves": 0} if i % 2 else {"max_moves_at_once": 1})
        for i, each in enumerate(snapshot.jobs)
    )
    return build_instance(snapshot.model_copy(update={"jobs": running}), jobs.jobs, model)


def test_the_search_proves_what_brute_force_finds() -> None:
    differ = 0
    for seed in some(range(400), of=8):
        instance = limited(seed)
        tiers = tiers_of(instance)
        expected, _ = best(instance)
        outcome = solved(instance, tiers)
        assert outcome.infeasible == (expected is None), f"seed {seed}"
        if outcome.placement is not None:
            assert not check(instance, outcome.placement), f"seed {seed}"
            assert measure(instance, outcome.placement, tiers) == expected, f"seed {seed}"
            waves = sequence(instance, outcome.placement)
            assert waves is None or not replay(instance, waves)[0], f"seed {seed}"
        free = replace(
            instance, jobs=tuple(replace(j, max_moves=None, most_moves=None) for j in instance.jobs)
        )
        differ += best(free)[0] != expected
    assert differ >= 3, "no limit of a job changes any optimum"
