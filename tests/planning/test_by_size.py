"""How far gangs are spread, by their size, and how much is looked at to know it."""

from __future__ import annotations

import pytest

from kantopt.planning import by_size
from kantopt.planning.by_size import spread_figures
from kantopt.verify.step import Step
from tests.verify.world import job, node, pods, question


def test_only_gangs_ask_for_domains_and_all_for_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []
    fewest = by_size.fewest_together

    def asking(*given: object) -> int:
        asked.append(given[-1])
        return fewest(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(by_size, "fewest_together", asking)
    nodes = [node(f"n{i}", gpu=8) for i in range(4)]
    gangs = [job(f"g{i}", pods(count=2, gpu=1, on=["n0", "n1"])) for i in range(3)]
    loose = [job(f"l{i}", pods(count=2, gpu=1, on=["n2", "n3"]), minCount=0) for i in range(3)]
    instance = question(nodes, [*gangs, *loose])
    (spread, *_) = spread_figures(Step(instance, instance.current, instance.current), None, None)
    assert spread.before is not None
    assert (spread.before.count, spread.before.mean) == (3, 2.0)
    assert len(asked) == 3
    assert len({id(each) for each in asked}) == 1
