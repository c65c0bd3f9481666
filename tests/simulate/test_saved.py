"""Simulations that are saved and taken up again come to the same end."""

from __future__ import annotations

import json
import random

import pytest

from kantopt.simulate.history import History
from kantopt.simulate.saved import history_data, history_of, saved, take_up
from kantopt.simulate.simulator import Simulator
from tests.campaign import some
from tests.simulate.worlds import drawn


def broken_off(seed: int, *, planned: bool) -> tuple[History, History]:
    """A simulation at one go, and the same that is saved and taken up at random moments."""
    world, policy = drawn(seed, planned=planned)
    rng = random.Random(seed)
    whole = Simulator(world, policy, verify_every=3).run()
    simulator = Simulator(world, policy, verify_every=3)
    while simulator.step():
        if rng.random() < 0.3:
            text = json.dumps(saved(simulator))
            simulator = Simulator(world, policy, verify_every=3)
            take_up(simulator, json.loads(text))
            assert json.dumps(saved(simulator)) == text
    return whole, simulator.finish()


@pytest.mark.parametrize("planned", [False, True])
@pytest.mark.parametrize("block", some(range(3)))
def test_taken_up_at_any_moment_it_comes_to_the_same_end(block: int, planned: bool) -> None:
    few = 3 if planned else 16
    for seed in range(block * few, (block + 1) * few):
        whole, parts = broken_off(seed, planned=planned)
        assert whole == parts, f"seed {seed}"


def test_a_history_is_read_as_it_was_written() -> None:
    world, policy = drawn(4)
    history = Simulator(world, policy).run()
    assert history_of(json.loads(json.dumps(history_data(history)))) == history
