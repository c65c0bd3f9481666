"""What victims would find full is summed up once for each priority, not once for each victim."""

from __future__ import annotations

import pytest

from kantopt.cp.model import PlacementModel
from kantopt.problem.instance import Instance
from tests.verify.world import job, node, pods, question

VICTIMS = 20
ARRIVING = 20


@pytest.mark.parametrize("priorities", [1, 2])
def test_who_may_evict_whom_is_not_asked_anew_for_each_victim(
    monkeypatch: pytest.MonkeyPatch, priorities: int
) -> None:
    runs = [
        job(f"r{i}", pods(cpu=1 + i, on=["a"]), priority=i % priorities) for i in range(VICTIMS)
    ]
    waits = [job(f"w{i}", pods(cpu=1 + i), priority=9) for i in range(ARRIVING)]
    instance = question([node("a", cpu=300)], [*runs, *waits])
    asked, counted = Instance.may_evict_for, [0]

    def may_evict_for(self: Instance, j: int, victim: int) -> bool:
        counted[0] += 1
        return asked(self, j, victim)

    monkeypatch.setattr(Instance, "may_evict_for", may_evict_for)
    PlacementModel(instance)
    assert counted[0] < VICTIMS * (ARRIVING + VICTIMS)
