"""A job put where others are: who leaves its nodes, and who leaves its quota."""

from __future__ import annotations

from kantopt.problem.instance import Instance
from kantopt.problem.tiers import Tier
from kantopt.schema.model import Metric
from kantopt.search.explain.displace import displacements
from kantopt.verify.metrics import measure
from kantopt.verify.rules import check
from tests.verify.test_group_rules import queue
from tests.verify.world import Document, job, node, pods, question

DISTURBANCE = (Tier(Metric.EVICTIONS, "pods"), Tier(Metric.MOVES, "pods"))


def asked(*jobs: Document, quota: int, names: str) -> Instance:
    queues = [queue("q", quota, "all"), queue("r", 0, "all")]
    nodes = [node(name, cpu=8) for name in names]
    return question(nodes, jobs, queues=queues, required=["big"])


def on(name: str, at: str, cpu: int, queue: str, priority: int = 1) -> Document:
    return job(name, pods(cpu=cpu, on=[at]), queueName=queue, priority=priority)


def big(cpu: int) -> Document:
    return job("big", pods(cpu=cpu), queueName="q", priority=9)


def values(instance: Instance) -> list[tuple[int, ...]]:
    """Evictions and moves of the placements that are legal."""
    found = displacements(instance, instance.job_index["default/big"])
    legal = [placement for placement in found if not check(instance, placement)]
    return [measure(instance, placement, DISTURBANCE) for placement in legal]


def test_who_may_move_makes_way_and_nobody_goes() -> None:
    jobs = [on(f"s{n}", n, 5, "q") for n in "ab"]
    instance = asked(*jobs, on("little", "c", 2, "q"), big(8), quota=24, names="abc")
    assert (0, 1) in values(instance)


def test_where_the_quota_is_used_elsewhere_lesser_jobs_of_it_go_and_no_more_than_that() -> None:
    """A node is free and the quota is not."""
    jobs = [on("x", "b", 4, "r"), on("y", "b", 4, "q", priority=2), on("z", "c", 8, "r", 9)]
    instance = asked(*jobs, big(8), quota=20, names="abc")
    assert values(instance)
    assert min(values(instance)) == (1, 0)


def test_where_nobody_lesser_uses_the_quota_nobody_goes_for_it() -> None:
    instance = asked(
        on("z", "b", 8, "r", 9), on("y", "c", 8, "q", 9), big(8), quota=20, names="abc"
    )
    assert values(instance) == []
