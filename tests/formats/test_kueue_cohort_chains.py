"""Trees of Cohorts that are deep, or that go round in a circle."""

from __future__ import annotations

import pytest

from kantopt.formats.kubernetes.kueue import queues as module
from tests.formats.cluster_objects import Object, node, noted, read, thing
from tests.formats.test_kueue_preemption import KUEUE, queue, waits


def chain(*names: str) -> list[Object]:
    """Cohorts, each below the next."""
    pairs = zip(names, (*names[1:], ""), strict=True)
    return [thing(KUEUE, "Cohort", name, "", parentName=above) for name, above in pairs]


def test_a_deep_chain_is_walked_over_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = []
    parent = module._parent
    monkeypatch.setattr(module, "_parent", lambda view: looked.append(0) or parent(view))
    names = [f"c{i}" for i in range(300)]
    imported = read(node("n"), *chain(*names), *queue("q", 4, cohort="c0"))
    assert imported.snapshot.queues[0].cohort == "c299"
    assert len(looked) == 300


def test_a_circle_lends_nothing_and_is_named() -> None:
    circle = [*chain("below", "a", "b", "a")[:3], *queue("q", 4, cohort="below")]
    imported = read(node("n"), *circle)
    assert imported.snapshot.queues[0].cohort == ""
    assert ": 2 (a" in noted(imported, "cohorts in a circle of parents lend nothing")


def test_a_queue_below_a_circle_is_asked_whom_it_takes_back_from() -> None:
    circle = chain("below", "a", "b", "a")[:3]
    queues = queue("q", 4, cohort="below", reclaimWithinCohort="Any")
    imported = read(node("n"), *circle, *queues, waits("w", "q", 4))
    assert [dict(item.queues) for item in imported.snapshot.victims] == [{}]
