"""What thousands of pod sets ask alike is counted once, not once for each of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kantopt.problem.cluster import Quota
from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement
from kantopt.search.order.sequence import sequence
from kantopt.verify.replay import replay
from kantopt.verify.rules import check
from kantopt.verify.step import Step
from kantopt.verify.victims.elsewhere import Elsewhere
from kantopt.verify.victims.preemptors import preemptors_of
from kantopt.verify.waves import affinity
from kantopt.verify.waves.most import Shares, Sum
from kantopt.verify.waves.order import Order
from tests.verify.world import Document, job, node, pods, put, question

JOBS = 60
EVERYBODY = {"labelSelector": {"matchLabels": {"a": "b"}}}
NAMED = {"a": "b"}


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How often somebody has looked which domain a node is in."""
    counted, asked = [0], Instance.label_domain

    def label_domain(self: Instance, n: int, key: str) -> str | None:
        counted[0] += 1
        return asked(self, n, key)

    monkeypatch.setattr(Instance, "label_domain", label_domain)
    return lambda: counted[0]


def judged(instance: Instance, places: Document, evicted: int = 0) -> None:
    """Judge a placement, its waves and whom its victims are for."""
    placement = put(instance, places)
    waves = sequence(instance, placement)
    assert waves is not None
    assert not check(instance, placement)
    assert not replay(instance, waves)[0]
    step = Step(instance, instance.current, placement)
    names = preemptors_of(step)
    victims = [each for each in step.changed_jobs if any(map(step.evicted, each.podsets))]
    assert len(victims) == evicted
    assert all(names.of_job(each) is not None for each in victims)


def test_spreads_over_zones(looks: Callable[[], int]) -> None:
    spread = [{"maxSkew": 40, "topologyKey": "zone", **EVERYBODY}]
    alike: Document = {"labels": NAMED, "topologySpreadConstraints": spread}
    jobs = [job(f"r{i}", pods(on=["ab"[i % 2]], **alike)) for i in range(JOBS)]
    jobs += [job(f"w{i}", pods(**alike)) for i in range(JOBS)]
    instance = question([node(n, cpu=99, labels={"zone": n}) for n in "ab"], jobs)
    judged(instance, {f"w{i}": ["ab"[i % 2]] for i in range(JOBS)})
    assert looks() < 30 * JOBS


def test_pods_that_are_to_be_near_some_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []

    def counted(order: Order, shares: Shares, base: int = 0) -> Sum:
        made.append(base)
        return Sum(order, shares, base)

    monkeypatch.setattr(affinity, "Sum", counted)
    near = [{"topologyKey": "rack", **EVERYBODY}]
    jobs = [job(f"r{i}", pods(on=["ab"[i % 2]], labels=NAMED)) for i in range(JOBS)]
    jobs += [job(f"w{i}", pods(labels=NAMED, podAffinity=near)) for i in range(JOBS)]
    instance = question([node(n, cpu=99, labels={"rack": n}) for n in "ab"], jobs)
    judged(instance, {f"w{i}": ["ab"[i % 2]] for i in range(JOBS)})
    assert len(made) <= 10, "a few for each rack, and for none of the pods one of its own"


def test_victims_beside_pods_that_others_keep_away_from(looks: Callable[[], int]) -> None:
    apart: Document = {"labels": NAMED, "podAntiAffinity": [{"topologyKey": "host", **EVERYBODY}]}
    names = [f"n{i}" for i in range(JOBS)]
    jobs = [job(f"r{n}", pods(cpu=2, on=[n], **apart)) for n in names]
    jobs += [job(f"w{n}", pods(cpu=2, **apart), priority=9) for n in names]
    instance = question([node(n, cpu=2, labels={"host": n}) for n in names], jobs)
    judged(
        instance, {f"{k}{n}": [n] * (k == "w") for k in "rw" for n in names[: JOBS // 2]}, JOBS // 2
    )
    assert looks() < 20 * JOBS**2, "of 60 terms each names all; not for each victim anew"


def test_victims_whose_queues_share_with_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each job has a queue of its own, and what all share is used up by those who run."""
    looked, kept = [0], Quota.guaranteed.fget
    assert kept is not None

    def guaranteed(self: Quota) -> int:
        looked[0] += 1
        return kept(self)

    monkeypatch.setattr(Quota, "guaranteed", property(guaranteed))
    names = [f"{k}{i}" for k in "rw" for i in range(JOBS)]
    share = [{"name": "cpu", "nominalQuota": 1}]
    queues = [{"name": name, "cohort": "all", "resources": share} for name in names]
    jobs = [job(f"r{i}", pods(cpu=2, on=["a"]), queueName=f"r{i}") for i in range(JOBS)]
    jobs += [job(f"w{i}", pods(cpu=2), queueName=f"w{i}", priority=9) for i in range(JOBS)]
    instance = question([node("a", cpu=2 * JOBS), node("b", cpu=JOBS)], jobs, queues=queues)
    judged(instance, {f"{k}{i}": ["a"] * (k == "w") for k in "rw" for i in range(JOBS)}, JOBS)
    assert looked[0] < 150 * JOBS  # of each job it is asked once whether it has room as it stands


def test_other_places_are_sought_less_where_thousands_of_queues_are_judged_each_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sought, place = [0], Elsewhere.place

    def counted(self: Elsewhere, *asked: Any) -> Placement | None:
        sought[0] += 1
        return place(self, *asked)

    monkeypatch.setattr(Elsewhere, "place", counted)

    def seeks(more: int) -> int:
        sought[0] = 0
        queues = [{"name": f"q{i}"} for i in range(more)]
        jobs = [job(f"r{i}", pods(cpu=2, on=["a"]), queueName="q0") for i in range(JOBS)]
        jobs += [job(f"w{i}", pods(cpu=2), priority=9, queueName="q0") for i in range(JOBS)]
        instance = question([node("a", cpu=2 * JOBS), node("b", cpu=1)], jobs, queues=queues)
        judged(instance, {f"{k}{i}": ["a"] * (k == "w") for k in "rw" for i in range(JOBS)}, JOBS)
        return sought[0]

    assert seeks(1) >= JOBS
    assert seeks(20_000) < JOBS
