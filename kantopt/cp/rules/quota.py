"""R7 quota."""

from __future__ import annotations

from collections.abc import Sequence

from ortools.sat.python.cp_model import IntVar, LinearExprT

from kantopt.cp.units import most_used
from kantopt.cp.variables import Terms, Variables, weighted, within
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
    for (cohort, r), members in cohorts(m.instance).items():
        limit, had = shared_limit(members), shared_use(members, standing)
        came = _came_beyond(m, cohort, r, members) if had > limit else 0
        m.about("cohort", members[0][0].index, r)
        used = weighted([(_beyond(m, *member), 1) for member in members])
        _keep_within(m, used, limit, had, came)


def _keep_within(m: Variables, used: LinearExprT, limit: int, had: int, came: LinearExprT) -> None:
    """Keep a use within a limit; if it was beyond and nothing came, within what it was."""
    most = within(max(limit, had))
    if had > limit:
        used = weighted([(used, 1), (came, most - limit)])
    m.cp.add(used <= most)


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


def _came_beyond(
    m: Variables, cohort: str, r: int, members: Sequence[tuple[Queue, Quota]]
) -> LinearExprT:
    """Whether pods come to a queue of a cohort that uses more than it never lends."""
    answers: Terms = []
    for queue, quota in members:
        came = _came(m, queue, r)
        if quota.guaranteed and not isinstance(came, int):
            answers.append((_both(m, queue, quota, came), 1))
        else:
            answers.append((came, 1))
    return m.positive(("came to cohort", cohort, r), weighted(answers), len(answers))


def _both(m: Variables, queue: Queue, quota: Quota, came: LinearExprT) -> IntVar:
    """Whether pods come to a queue, and it uses more than it never lends."""
    r = quota.resource

    def make() -> IntVar:
        most = max(1, most_used(m.instance, queue.index, r))
        beyond = m.positive(("is beyond", queue.index, r), _beyond(m, queue, quota), most)
        both = m.cp.new_bool_var(f"came beyond[{queue.index},{r}]")
        m.cp.add(weighted([(came, 1), (beyond, 1), (both, -1)]) <= 1)
        return both

    return m.once(("came beyond", queue.index, r), make)


def _beyond(m: Variables, queue: Queue, quota: Quota) -> LinearExprT:
    """Use beyond what a queue never lends."""
    used = m.queue_use(queue.index, quota.resource)
    if not quota.guaranteed:
        return used
    most = max(0, most_used(m.instance, queue.index, quota.resource) - quota.guaranteed)
    key = ("beyond", queue.index, quota.resource)
    return m.at_least(key, used - within(quota.guaranteed), most)
