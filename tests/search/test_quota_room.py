"""Who gives way where quota is lacking: few of those who hold much of it, none in vain."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from tests.search.helpers import built, where
from tests.verify.world import Document, job, node, pods, question

COUNTED = [{"unplaced": {"by": "priority", "unit": "pod"}}, "evictions"]


def queue(name: str, quota: int, cohort: str = "", **more: int) -> Document:
    resource = {"name": "cpu", "nominalQuota": quota, **more}
    return {"name": name, "cohort": cohort, "resources": [resource]}


def holding(name: str, cpu: int, of: str = "q", on: str = "a", priority: int = 0) -> Document:
    return job(name, pods(cpu=cpu, on=[on]), queueName=of, priority=priority)


def asking(running: list[Document], cpu: int, queues: list[Document], size: int = 99) -> Instance:
    waiting = job("w", pods(cpu=cpu), queueName="q", priority=9)
    nodes = [node(n, cpu=size) for n in "ab"]
    return question(nodes, [*running, waiting], queues=queues, objectives=COUNTED)


def evicted(instance: Instance) -> list[str]:
    placement = built(instance)
    assert where(instance, placement, "w")
    gone = [p for p in instance.podsets if p.running and not placement.placed(p.index)]
    return [instance.job_of(p.index).name.partition("/")[2] for p in gone]


def test_those_who_hold_much_give_way_before_many_who_hold_little() -> None:
    running = [holding(f"r{i}", cpu) for i, cpu in enumerate((1, 1, 1, 2, 2, 4))]
    assert evicted(asking(running, 4, [queue("q", 11)])) == ["r5"]


def test_who_suffices_for_what_is_still_lacking_gives_way_before_who_holds_more() -> None:
    running = [holding(f"r{i}", cpu) for i, cpu in enumerate((8, 8, 1, 8))]
    instance = asking(running, 9, [queue("q", 25)])
    assert sorted(evicted(instance))[1:] == ["r2"]
    assert len(evicted(instance)) == 2


def test_the_least_important_give_way_though_they_are_more() -> None:
    running = [holding("r0", 4, priority=5), *(holding(f"r{i}", 1) for i in range(1, 6))]
    assert len(evicted(asking(running, 4, [queue("q", 9)]))) == 4


def test_of_alike_ones_those_give_way_who_are_where_the_job_goes() -> None:
    """One node has room for it once any of its pods is gone, the other has not."""
    running = [holding(f"b{i}", 2, on="b") for i in range(2)]
    running += [job("other", pods(cpu=4, on=["b"], preemptible=False))]
    running += [holding(f"a{i}", 2) for i in range(2)] + [job("more", pods(cpu=2, on=["a"]))]
    assert len(evicted(asking(running, 2, [queue("q", 8)], size=6))) == 1


def test_others_of_the_cohort_give_way_where_fewer_of_them_do() -> None:
    running = [*(holding(f"own{i}", 1) for i in range(4)), holding("lent", 4, of="r")]
    queues = [queue("q", 8, "c"), queue("r", 0, "c")]
    assert evicted(asking(running, 4, queues)) == ["lent"]


def test_those_who_use_only_what_their_queue_never_lends_do_not_give_way() -> None:
    running = [*(holding(f"own{i}", 1) for i in range(4)), holding("kept", 4, of="r")]
    queues = [queue("q", 4, "c"), queue("r", 4, "c", lendingLimit=0)]
    assert len(evicted(asking(running, 2, queues))) == 2


def test_a_pod_set_that_nobody_may_evict_gives_no_quota() -> None:
    kept = pods("x", cpu=4, on=["a"], minCount=0, preemptible=False)
    parts = [kept, pods("y", cpu=1, on=["a"], minCount=0)]
    running = [job("r", *parts, queueName="q"), holding("s", 1)]
    instance = question(
        [node("a", cpu=99)],
        [*running, job("w", pods(cpu=2), queueName="q", priority=9)],
        queues=[queue("q", 6)],
    )
    placement = built(instance)
    assert where(instance, placement, "r/x") == {"a": 1}
    assert where(instance, placement, "w") == {"a": 1}


@pytest.mark.parametrize("cohort", ["", "c"])
def test_hardly_more_go_than_have_to(cohort: str) -> None:
    went = least = 0
    for seed in range(60):
        rng = random.Random(seed)
        sizes = [rng.choice((1, 2, 3, 4, 8)) for _ in range(9)]
        owners = [rng.choice("qr") if cohort else "q" for _ in sizes]
        each = zip(sizes, owners, strict=True)
        running = [holding(f"r{i}", cpu, of=of) for i, (cpu, of) in enumerate(each)]
        lacking, spare = rng.randint(1, sum(sizes)), rng.choice((0, 2))
        queues = [queue("q", sum(sizes), cohort), queue("r", spare if cohort else 0, cohort)]
        instance = asking(running, lacking + spare if cohort else lacking, queues)
        assert instance.on(Rule.QUOTA)
        went += len(evicted(instance))
        enough = (k for k in range(1, 10) if any(sum(c) >= lacking for c in combinations(sizes, k)))
        least += next(enough)
    assert least <= went <= least * 1.02
