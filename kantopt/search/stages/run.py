"""Which stage works when.

The bounds that are quick come first, and what they need is loaded first: in a run of a second the
solver's process has hardly begun when there is a question. The rest is loaded with the turns.
"""

from __future__ import annotations

from dataclasses import replace

from kantopt.cp.relaxed.domains import worth_dividing
from kantopt.problem.instance import Instance
from kantopt.search.parts.division import parts_of, summed
from kantopt.search.stages.desk import Desk
from kantopt.search.stages.relax import relax

DIVIDED = 0.7
"""Share of the time for gangs and their domains, where there are any."""


def run_stages(desk: Desk) -> bool:
    """Search until nothing is left to gain or the time is up.

    What shares nothing is searched apart first, as far as the first tiers are sums over parts.
    Returns whether there provably is no legal placement: a required job has no place.
    """
    tiers = desk.tiers[: summed(desk.instance, desk.tiers)]
    parts = parts_of(desk.instance, tiers) if tiers and not desk.forbidden else ()
    if len(parts) < 2:
        return _undivided(desk)
    budget, whole_tiers = desk.budget, len(tiers) == len(desk.tiers)
    if not whole_tiers:
        deadline = budget.deadline.less(budget.deadline.remaining() / 2)
        work = None if budget.work is None else budget.work / 2
        budget = desk.budget = replace(budget, work=work)
        budget = replace(budget, deadline=deadline)
    from kantopt.search.stages.apart import apart

    if apart(desk, parts, tiers, budget, _undivided):
        return True
    # Where work is counted the parts have had all there is.
    spent = whole_tiers and budget.work is not None
    return not (desk.done() or spent) and _undivided(desk)


def _undivided(desk: Desk) -> bool:
    relaxed = desk.best is not None and not desk.forbidden
    if relaxed:
        desk.attempt(relax)
        if desk.done():
            return False
        if _devices_are_new(desk.instance):
            from kantopt.search.stages.fill import fill

            desk.attempt(fill)
            if desk.done():
                return False
        from kantopt.search.stages.bins import QUICK, bins

        desk.attempt(bins, QUICK)
        if desk.done():
            return False
        if desk.budget.work is None and worth_dividing(desk.instance):
            from kantopt.search.stages.domains import divided

            left = desk.budget.deadline.remaining()
            desk.alone(divided, desk.budget.deadline.less(left * (1 - DIVIDED)))
            desk.attempt(relax)
            if desk.done():
                return False
    from kantopt.search.stages.turns import take_turns
    from kantopt.search.stages.whole import whole

    if not relaxed or desk.budget.work is not None:
        return whole(desk, desk.budget.deadline)
    take_turns(desk)
    return False


def _devices_are_new(instance: Instance) -> bool:
    """Whether pods wait for devices of which none is in use."""
    users = [podset for podset in instance.podsets if podset.devices]
    return bool(users) and not any(podset.running for podset in users)
