"""R7 quota."""

from __future__ import annotations

from ortools.sat.python.cp_model import LinearExprT

from kantopt.cp.shared import counted_for
from kantopt.cp.units import most_used
from kantopt.cp.variables import Variables, weighted, within
from kantopt.problem.cluster import Queue, Quota
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_use


def add_quota(m: Variables) -> None:
    """A queue uses no more than its quota and what its cohort lends it.

    Beyond that it may stay as it is, but then nothing new comes.
    """
    standing = m.standing.queue
    for queue in m.instance.queues:
        for quota in queue.quotas:
            limit, r = queue_limit(queue, quota), quota.resource
            if limit is not None:
                used, had = m.queue_use(queue.index, r), standing[queue.index][r]
                came = _came(m, queue, r) if had > limit else 0
                m.about("queue", queue.index, r)
                _keep_within(m, used, limit, had, came)
    for cohort, members in cohorts(m.instance).items():
        limit, had, r = shared_limit(members), shared_use(members, standing), cohort[1]
        m.about("cohort", members[0][0].index, r)
        parts = {queue.index: _beyond(m, queue, quota) for queue, quota in members}
        _keep_within(m, weighted([(part, 1) for part in parts.values()]), limit, had, 0)
        for queue, quota in members if had > limit else ():
            own = m.queue_use(queue.index, r) - within(quota.guaranteed)
            used = counted_for(m, cohort, r, parts, queue.index, own)
            _keep_within(m, used, limit, had, _came(m, queue, r))


def _keep_within(m: Variables, used: LinearExprT, limit: int, had: int, came: LinearExprT) -> None:
    """Keep a use within a limit; if it was beyond and nothing came, within what it was."""
    most = within(max(limit, had))
    m.cp.add(weighted([(used, 1), (came, most - within(limit))]) <= most)


def _came(m: Variables, queue: Queue, r: int) -> LinearExprT:
    """Whether pods that use a resource come to a queue."""
    new = [
        podset
        for podset in m.instance.podsets
        if podset.demand[r]
        and not podset.running
        and m.instance.jobs[podset.job].queue == queue.index
    ]
    if not new:
        return 0
    pods = weighted([(m.total(podset.index), 1) for podset in new])
    most = sum(podset.count for podset in new)
    return m.positive(("came to queue", queue.index, r), pods, most)


def _beyond(m: Variables, queue: Queue, quota: Quota) -> LinearExprT:
    """Use beyond what a queue never lends."""
    used = m.queue_use(queue.index, quota.resource)
    if not quota.guaranteed:
        return used
    most = max(0, most_used(m.instance, queue.index, quota.resource) - quota.guaranteed)
    key = ("beyond", queue.index, quota.resource)
    return m.at_least(key, used - within(quota.guaranteed), most)
