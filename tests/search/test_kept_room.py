"""Room of victims is kept from those who may not evict them, whatever came and went before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from kantopt.problem.cluster import Spot
from kantopt.schema.model import Rule
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.kept_room import KeptRoom, room_of_the_gone
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.shapes import Ints
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.campaign import some
from tests.generate import random_instance
from tests.verify.world import job, node, placed, pods, question


def kept_from(state: State, j: int) -> tuple[Ints, Ints]:
    """Work out anew what is kept from a job, for all priorities of victims on all nodes."""
    instance = state.instance
    left = [
        (podset.index, spot, lost)
        for podset in instance.podsets
        if podset.running and state.placed[podset.index] < podset.count
        for spot, pods in podset.current.items()
        if (lost := pods - state.spots[podset.index].get(spot, 0)) > 0
    ]
    came = [
        (s, spot, -pods)
        for places in (*state.bound_on.values(), *state.moved_on.values())
        for (s, spot), pods in places.items()
    ]
    most = np.zeros_like(state.free), np.zeros_like(state.devices)
    if not (instance.strict and instance.on(Rule.PRIORITY)):
        return most
    job = instance.jobs[j]
    for priority in {instance.job_of(s).priority for s, _, _ in left}:
        if job.may_preempt and job.priority > priority:
            continue
        gone = [x for x in left if instance.job_of(x[0]).priority >= priority]
        able = {j.index for j in instance.jobs if j.may_preempt and j.priority > priority}
        away = [x for x in came if instance.podsets[x[0]].job in able]
        lacks = np.zeros_like(state.free), np.zeros_like(state.devices)
        state.give([*gone, *away], *lacks)
        for total, more in zip(most, lacks, strict=True):
            np.maximum(total, more, out=total)
    return most


@pytest.mark.parametrize("seeds", [range(k, k + 50) for k in some(range(0, 400, 50))], ids=str)
def test_it_is_what_one_works_out_anew_after_any_steps(seeds: range) -> None:
    kept = 0
    for seed in seeds:
        rng, instance = random.Random(seed), random_instance(seed)
        state = State(instance)
        placer = Placer(Scores(state, Strategy.BEST_FIT))
        preemption = Preemption(placer)
        for _ in range(15):
            step, job = rng.randrange(5), rng.choice(instance.jobs)
            if step == 0:
                preemption.make_room(job.index)
            elif step == 4:
                with preemption.kept.held(job.index):
                    placer.place(job.index)
            elif step == 1:
                state.undo(rng.randrange(state.mark() + 1))
            else:
                # One goes, or one comes, wherever it may run: as it may also have moved.
                s = rng.choice(job.podsets)
                podset = instance.podsets[s]
                if step == 2 and state.spots[s]:
                    state.add(s, rng.choice(sorted(state.spots[s])), -1)
                elif step == 3 and state.placed[s] < podset.count and not podset.devices:
                    state.add(s, Spot(rng.randrange(state.size)), 1)
            for job in instance.jobs:
                expected = kept_from(state, job.index)
                before = state.free.copy(), state.devices.copy()
                for room in (preemption.kept, room_of_the_gone(state)):
                    with room.held(job.index):
                        assert (before[0] - state.free == expected[0]).all(), (seed, job.name)
                        assert (before[1] - state.devices == expected[1]).all(), (seed, job.name)
                    assert (state.free == before[0]).all()
                    assert (state.devices == before[1]).all()
                kept += bool(expected[0].any() or expected[1].any())
    assert kept > 200


def test_a_node_is_looked_at_again_only_if_somebody_came_or_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked, lacking = list[int](), KeptRoom._lacking

    def counted(self: KeptRoom, n: int) -> Iterator[Any]:
        looked.append(n)
        return lacking(self, n)

    monkeypatch.setattr(KeptRoom, "_lacking", counted)
    jobs = [job(f"r{n}", pods(cpu=2, on=[n]), priority=5) for n in "abc"]
    instance = question([node(n, cpu=2) for n in "abc"], [*jobs, job("w", pods(cpu=2))])
    state = State(instance)
    for podset in instance.podsets:
        for spot in podset.current:
            state.add(podset.index, spot, -1)
    room = room_of_the_gone(state)
    w = next(j.index for j in instance.jobs if j.name.endswith("w"))
    for _ in range(3):
        with room.held(w):
            assert not state.free[0].any(), "kept for those who left"
    assert sorted(looked) == [0, 1, 2]
    with room.held(w):
        state.add(instance.jobs[w].podsets[0], Spot(1), 1)
    assert not room.holds()
    assert sorted(looked) == [0, 1, 1, 2]


def test_quota_of_a_more_important_pod_that_moves_is_nobody_elses() -> None:
    running = [
        job("low", pods(cpu=4, on=["a"]), queueName="q"),
        job("high", pods(cpu=4, on=["b"]), priority=10, queueName="q"),
    ]
    waiting = [
        job("important", pods(cpu=2), priority=20, queueName="q"),
        job("never", pods(cpu=2), priority=9, queueName="q", preemptionPolicy="Never"),
    ]
    resources = [{"name": "cpu", "nominalQuota": 8}]
    instance = question(
        [node("a", cpu=8), node("b", cpu=8)],
        [*running, *waiting],
        queues=[{"name": "q", "resources": resources}],
    )
    moved = placed(instance, low=[], high=["a"], important=["b"])
    state = State(instance, moved)
    never = next(each.index for each in instance.jobs if each.name.endswith("never"))
    with room_of_the_gone(state).held(never):
        assert not state.admitted(instance.jobs[never].podsets[0], 1)
    both = placed(instance, low=[], high=["a"], important=["b"], never=["b"])
    assert not room_of_the_gone(State(instance, both)).holds()


def test_who_judges_sees_the_room_that_is_kept_from_who_is_placed() -> None:
    """A victim's room is its own while nobody has come, though an equal may not have it."""
    jobs = [
        job("victim", pods(cpu=2, on=["a"]), priority=1),
        job("equal", pods(cpu=2), priority=1),
    ]
    instance = question([node("a", cpu=3)], jobs)
    state = State(instance)
    preemption = Preemption(Placer(Scores(state, Strategy.BEST_FIT)))
    kept = preemption.kept
    victim, equal = instance.podsets
    state.add(victim.index, Spot(0), -1)
    free = state.free.copy()
    with kept.held(equal.job):
        taken = state.free.copy()
        assert (taken < free).any()
        with kept.given_back():
            assert (state.free == free).all()
            assert not preemption.put_back.holds([0]), "it fits where it was"
        assert (state.free == taken).all()
    assert (state.free == free).all()
