"""Whatever makes room for a job: it says whether it did, legally; if not, there is no trace."""

from __future__ import annotations

import random

import pytest

from kantopt.problem.instance import Instance
from kantopt.search.construct import is_legal
from kantopt.search.insertion.placer import Placer
from kantopt.search.insertion.scores import Scores
from kantopt.search.preemption.preempt import Preemption
from kantopt.search.preemption.reverse_trim import ReverseTrim
from kantopt.search.relocation.relocate import Relocation
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.campaign import some
from tests.generate import random_instance
from tests.verify.world import job, node, pods, question

WAYS = (Relocation, Preemption, ReverseTrim)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("seeds", [range(k, k + 100) for k in some(range(0, 400, 100))], ids=str)
def test_room_is_made_legally_or_nothing_has_changed(
    way: type[Relocation | Preemption | ReverseTrim], seeds: range
) -> None:
    made = 0
    for seed in seeds:
        instance = random_instance(seed)
        for one in instance.jobs:
            if all(instance.podsets[s].running for s in one.podsets):
                continue
            state = State(instance)
            placer = Placer(Scores(state, Strategy.BEST_FIT))
            free, devices = state.free.copy(), state.devices.copy()
            has_room = placer.place(one.index)
            state.undo(0)
            if has_room:
                continue
            if way(placer).make_room(one.index):
                made += 1
                assert any(
                    state.placed[s] for s in one.podsets if not instance.podsets[s].running
                ), (seed, one.name)
                assert is_legal(instance, state.placement()), (seed, one.name)
                state.undo(0)
            assert state.placement() == instance.current
            assert (state.free == free).all()
            assert (state.devices == devices).all()
            assert state.pace.moves == 0
    assert made >= 5


def crowded(seed: int) -> Instance:
    """Small jobs that fit anywhere, and a gang that needs most of one rack."""
    rng = random.Random(seed)
    nodes = [
        node(f"{rack}{i}", cpu=8, gpu=8, rack=f"x/{rack}")
        for rack in "abc"
        for i in range(rng.randint(1, 3))
    ]
    jobs = [
        job(f"j{i}", pods(count=rng.choice((1, 1, 2)), cpu=1, gpu=rng.choice((1, 2, 4))))
        for i in range(rng.randint(2, 6))
    ]
    runs = job("r", pods(cpu=1, gpu=2, on=[nodes[0]["name"]]), movable=rng.random() < 0.5)
    gang = pods(count=rng.randint(1, 3), cpu=1, gpu=8)
    return question(nodes, [runs, *jobs, job("gang", gang, topologyRequest={"required": "rack"})])


def test_new_pods_that_make_way_are_all_placed_elsewhere() -> None:
    shifted = 0
    for seed in range(60):
        instance = crowded(seed)
        *small, gang = [job.index for job in instance.jobs if instance.pending_of(job.index)]
        state = State(instance)
        placer = Placer(Scores(state, Strategy.LEAST_ALLOCATED))
        there = [j for j in small if placer.place(j)]
        before = state.placement()
        if placer.place(gang):
            continue
        relocation = Relocation(placer)
        relocation.look_everywhere(unsettled=True)
        if not relocation.make_room(gang):
            assert state.placement() == before
            continue
        after = state.placement()
        assert is_legal(instance, after), seed
        for s in (s for j in there for s in instance.pending_of(j)):
            assert after.placed(s) == before.placed(s)
            shifted += after.podsets[s] != before.podsets[s]
        assert all(after.placed(s) for s in instance.pending_of(gang))
    assert shifted >= 5
