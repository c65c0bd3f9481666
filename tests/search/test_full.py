"""Places that are known to be full: nothing is found there that would not be found by looking."""

from __future__ import annotations

from collections import Counter

import pytest

from kantopt.problem.cluster import Spot
from kantopt.problem.instance import Instance
from kantopt.search.preemption.full import Full
from kantopt.search.state import State
from kantopt.search.strategy import Strategy
from tests.campaign import some
from tests.generate import random_instance
from tests.search.helpers import built
from tests.search.test_overdrawn import overdrawn
from tests.verify.world import job, node, placed, pods, question


def test_what_is_known_of_a_place_holds_until_its_node_changes() -> None:
    jobs = [job("r", pods(count=2, on=["a", "b"])), job("j", pods())]
    instance = question([node("a"), node("b")], jobs)
    state = State(instance, placed(instance))
    full, a, b = Full(state), Spot(0), Spot(1)
    full.note(0, a, whole=False)
    state.add(0, b, -1)
    assert full.known(0, a, whole=False)
    assert not full.known(0, a, whole=True)
    assert not full.known(0, b, whole=False)
    state.add(0, a, -1)
    assert not full.known(0, a, whole=False)
    full.note(0, a, whole=False)
    assert full.known(0, a, whole=False)


@pytest.mark.parametrize("seeds", [range(k, k + 10) for k in some(range(0, 120, 10))], ids=str)
def test_plans_are_the_same_as_if_every_place_were_looked_at(
    monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    spared = Counter[bool]()
    known = Full.known

    def counted(self: Full, s: int, spot: Spot, *, whole: bool) -> bool:
        found = known(self, s, spot, whole=whole)
        spared[found] += 1
        return found

    def never(self: Full, s: int, spot: Spot, *, whole: bool) -> bool:
        return False

    def plans(instance: Instance) -> list[object]:
        return [built(instance, strategy) for strategy in (Strategy.E_BINPACK, Strategy.FGD)]

    for seed in seeds:
        for instance in (random_instance(seed), overdrawn(seed)):
            monkeypatch.setattr(Full, "known", counted)
            once = plans(instance)
            monkeypatch.setattr(Full, "known", never)
            assert plans(instance) == once
    assert spared[True]
