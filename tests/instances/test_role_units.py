"""Prefill and decode in a ratio over time: replicas start, go and come back whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from kantopt.simulate.asked import read_asked
from kantopt.simulate.history import History
from kantopt.simulate.simulator import Simulator
from kantopt.simulate.world import build_world

FOLDER = Path(__file__).parents[2] / "instances" / "role-units"
HOUR = 3600
REPLICA_GPUS = 8000
"""Milli-GPU of one prefill and three decode pods."""


def simulated(policy: str) -> History:
    """Simulate with every state judged."""
    asked = read_asked(sorted(map(str, FOLDER.glob("*.yaml"))), [policy], None)
    world = build_world(asked.question.snapshot, (), asked.traces[0], asked.model, name="t")
    return Simulator(world, asked.policies[0], verify_every=1).run()


@pytest.mark.parametrize(
    ("policy", "first", "grown", "batch"),
    [
        # 4 GPUs are free at 1 h, which is no replica: both wait until the batch work is done.
        ("fifo", 0, 2 * HOUR, 0),
        ("easy", 0, 2 * HOUR, 0),
        # Batch work goes for them, and begins anew when two have left and 16 GPUs are free.
        ("preemption", 0, 1 * HOUR, 1),
        # The same as with fifo, but that a cycle takes a second, of the batch work as well.
        ("kantopt-fast", 1, 2 * HOUR + 2, 0),
    ],
)
def test_a_service_grows_and_shrinks_by_whole_replicas(
    policy: str, first: int, grown: int, batch: int
) -> None:
    history = simulated(policy)
    records = {record.name: record for record in history.jobs}
    times = {
        name.removeprefix("serving/"): (record.started, record.ended)
        for name, record in records.items()
    }
    expected = {
        "chat-0": (first, first + 8 * HOUR),
        "chat-1": (first, first + 8 * HOUR),
        "chat-2": (grown, 6 * HOUR),
        "chat-3": (grown, 4 * HOUR),
    }
    for name, (begin, end) in expected.items():
        assert times[name] == (1000 * begin, 1000 * end)
    assert records["offline/batch"].evictions == batch
    stays = [stay for stay in history.stays if "chat" in history.jobs[stay.job].name]
    assert {stay.gpus for stay in stays} == {REPLICA_GPUS}
    assert history.judged
