"""What waves share beyond places: budgets (R12), moves at a time (R14) and quotas (R7)."""

from __future__ import annotations

from collections.abc import Iterator

from kantopt.problem.instance import Instance
from kantopt.schema.model import Rule
from kantopt.verify.rules.quota import cohorts, queue_limit, shared_limit, shared_words
from kantopt.verify.step import Violation, beyond, standing_loads
from kantopt.verify.waves.most import Ledger, Sum
from kantopt.verify.waves.order import Order
from kantopt.verify.waves.rooms import restarts


def judge_budgets(instance: Instance, order: Order) -> Iterator[Violation]:
    """Evicted pods so far and restarts under way are at no time more than a budget allows.

    A restart gives its slot back when its wave is done, for then the pod is ready; an eviction
    never does.
    """
    away = Ledger[int]()
    for p, action in order.actions:
        back = restarts(instance, action)
        if back or action.kind == "evict":
            for b in instance.podsets[action.podset].budgets:
                away.note(b, p, start=action.pods, done=-action.pods if back else 0)
    for b, shares in sorted(away.items()):
        budget = instance.budgets[b]
        for number, pods in Sum(order, shares).beyond(budget.allowed):
            yield Violation(
                Rule.DISRUPTION,
                f"wave {number}: budget {budget.name}",
                f"{pods} of {budget.allowed} pods away at once",
            )


def judge_moves_at_once(instance: Instance, order: Order) -> Iterator[Violation]:
    """At no time are more pods on the move than the model lets a wave move, or a job bears."""
    limit = instance.model.limits.moves_per_wave
    moving = Ledger[int]()
    for p, action in order.actions:
        job = instance.job_of(action.podset)
        if action.kind == "move":
            for j, most in ((_ALL, limit), (job.index, job.moves_at_once)):
                if most is not None:
                    moving.note(j, p, start=action.pods, done=-action.pods)
    for j, shares in sorted(moving.items()):
        most = limit if j == _ALL else instance.jobs[j].moves_at_once
        assert most is not None, "only what is limited is counted"
        whose = "moves" if j == _ALL else f"moves of job {instance.jobs[j].name}"
        for number, pods in Sum(order, shares).beyond(most):
            said = f"{pods} of {most} pods at once"
            yield Violation(Rule.LIMITS, f"wave {number}: {whose}", said)


_ALL = -1
"""In place of a job: all of them together."""


def judge_quotas(instance: Instance, order: Order) -> Iterator[Violation]:
    """A queue uses no more than its quota and what its cohort lends it, at any time.

    What was used beyond that before is no reason as long as nothing binds, as in the end. Pods
    that are evicted still count until their wave is done. What a cohort shares is judged as if
    its queues were all at their most together, which waves in a row always are.
    """
    if not instance.queues:
        return
    sums = _usage(instance, order)
    for (q, r), total in sorted(sums.items()):
        queue = instance.queues[q]
        for quota in queue.quotas:
            limit = queue_limit(queue, quota)
            if quota.resource == r and limit is not None:
                for wave, used in total.beyond(limit):
                    resource = instance.resources[r]
                    yield Violation(
                        Rule.QUOTA,
                        f"wave {wave}: queue {queue.name}",
                        beyond(used, limit, resource),
                    )
    for (cohort, r), members in cohorts(instance).items():
        limit = shared_limit(members)
        parts = [(sums[queue.index, r], quota.guaranteed) for queue, quota in members]
        if sum(max(0, _ever(part) - kept) for part, kept in parts) <= limit:
            continue
        for p in sorted(
            {p for part, _ in parts for p, share in part.shares.items() if share.start}
        ):
            beside = [(_use_while(part, p) - kept, _start(part, p)) for part, kept in parts]
            used = sum(max(0, more) for more, _ in beside)
            if any(start and used - limit > max(0, -more) for more, start in beside):
                text = shared_words(used, limit, instance.resources[r])
                subject = f"wave {order.waves[p].id}: cohort {cohort}"
                yield Violation(Rule.QUOTA, subject, text)


def _usage(instance: Instance, order: Order) -> dict[tuple[int, int], Sum]:
    """Use of each resource with a quota, by queue."""
    shares = Ledger[tuple[int, int]](
        ((queue.index, quota.resource), {}) for queue in instance.queues for quota in queue.quotas
    )
    for p, action in order.actions:
        queue = instance.job_of(action.podset).queue
        if queue is None or action.kind == "move":
            continue
        pods = action.pods if action.kind == "bind" else -action.pods
        for r, amount in enumerate(instance.podsets[action.podset].demand):
            if amount and (queue, r) in shares:
                shares.change((queue, r), p, pods * amount)
    standing = standing_loads(instance).queue
    return {(q, r): Sum(order, at, standing[q][r]) for (q, r), at in shares.items()}


def _ever(part: Sum) -> int:
    return part.base + sum(share.start for share in part.shares.values())


def _use_while(part: Sum, p: int) -> int:
    return part.most_while(p, -1, _start(part, p))


def _start(part: Sum, p: int) -> int:
    return part.shares[p].start if p in part.shares else 0
