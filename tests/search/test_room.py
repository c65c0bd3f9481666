"""Whatever makes room for a job: it says whether it did, legally; if not, there is no trace."""

from __future__ import annotations

import pytest

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

WAYS = (Relocation, Preemption, ReverseTrim)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("seeds", [range(k, k + 100) for k in some(range(0, 400, 100))], ids=str)
def test_room_is_made_legally_or_nothing_has_changed(
    way: type[Relocation | Preemption | ReverseTrim], seeds: range
) -> None:
    made = 0
    for seed in seeds:
        instance = random_instance(seed)
        for job in instance.jobs:
            if all(instance.podsets[s].running for s in job.podsets):
                continue
            state = State(instance)
            placer = Placer(Scores(state, Strategy.BEST_FIT))
            free, devices = state.free.copy(), state.devices.copy()
            has_room = placer.place(job.index)
            state.undo(0)
            if has_room:
                continue
            if way(placer).make_room(job.index):
                made += 1
                assert any(
                    state.placed[s] for s in job.podsets if not instance.podsets[s].running
                ), (seed, job.name)
                assert is_legal(instance, state.placement()), (seed, job.name)
                state.undo(0)
            assert state.placement() == instance.current
            assert (state.free == free).all()
            assert (state.devices == devices).all()
            assert state.pace.moves == 0
    assert made >= 5
