"""Prefill and decode in a ratio over time: units start, go and come back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.simulate.asked import read_asked
from kantopt.simulate.history import History
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import build_world

FOLDER = Path(__file__).parents[2] / "instances" / "role-units"
HOUR = 3_600_000
UNITS = {"serving/chat": 2, "serving/chat-3": 1, "serving/chat-4": 1}
UNIT_GPUS = 8000
"""Milli-GPU of a unit."""


def simulated(policy: str) -> History:
    """Simulate with every state judged."""
    asked = read_asked(sorted(map(str, FOLDER.glob("*.yaml"))), [policy], None)
    world = build_world(asked.question.snapshot, (), asked.traces[0], asked.model, name="t")
    return Simulator(world, asked.policies[0], verify_every=1).run()


@pytest.mark.parametrize(
    ("policy", "third", "fourth", "batch"),
    [
        # 4 GPUs are free at 1 h, which is no unit: both wait until the batch work is done.
        ("fifo", 2, 2, 0),
        ("easy", 2, 2, 0),
        # Batch work goes for them, and begins anew when a unit has left and 12 GPUs are free.
        ("preemption", 1, 1, 1),
    ],
)
def test_a_service_grows_and_shrinks_by_whole_units(
    policy: str, third: int, fourth: int, batch: int
) -> None:
    history = simulated(policy)
    records = {record.name: record for record in history.jobs}
    assert records["serving/chat"].started == 0
    assert records["serving/chat-3"].started == third * HOUR
    assert records["serving/chat-4"].started == fourth * HOUR
    assert records["offline/batch"].evictions == batch
    for stay in history.stays:
        name = history.jobs[stay.job].name
        if name in UNITS:
            assert stay.gpus == UNITS[name] * UNIT_GPUS
    assert history.judged
