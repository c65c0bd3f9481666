"""R7 quota."""

from __future__ import annotations

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.variables import Variables, weighted, within
from kantopt.problem.cluster import Queue, Quota
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use


def most_used(m: Variables, q: int, r: int) -> int:
    """Most of a resource that the pods of a queue could take."""
    return sum(
        podset.count * podset.demand[r]
        for podset in m.instance.podsets
        if m.instance.jobs[podset.job].queue == q
    )


def add_quota(m: Variables) -> None:
    """A queue uses no more than its quota and what its cohort lends it."""
    standing = m.standing.queue
    for queue in m.instance.queues:
        for quota in queue.quotas:
            limit = queue_limit(queue, quota)
            if limit is not None:
                used = m.queue_use(queue.index, quota.resource)
                m.about("queue", queue.index, quota.resource)
                m.cp.add(used <= within(max(limit, standing[queue.index][quota.resource])))
    for members in cohorts(m.instance).values():
        limit = max(shared_limit(members), shared_use(members, standing))
        m.about("cohort", members[0][0].index, members[0][1].resource)
        m.cp.add(weighted([(_beyond(m, *member), 1) for member in members]) <= within(limit))


def _beyond(m: Variables, queue: Queue, quota: Quota) -> LinearExprT:
    """Use beyond what a queue never lends."""
    used = m.queue_use(queue.index, quota.resource)
    if not quota.guaranteed:
        return used

    def make() -> IntVar:
        most = max(0, most_used(m, queue.index, quota.resource) - quota.guaranteed)
        beyond = m.cp.new_int_var(0, most, f"beyond[{queue.index},{quota.resource}]")
        m.cp.add(beyond >= used - within(quota.guaranteed))
        return beyond

    return m.once(("beyond", queue.index, quota.resource), make)
