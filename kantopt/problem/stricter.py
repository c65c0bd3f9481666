"""Rules that are stricter here than in kube-scheduler, which places one pod after the other."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from kantopt.problem.instance import Instance
from kantopt.problem.job import Affinity, Spread
from kantopt.schema.model import Rule


def stricter_rules(instance: Instance, jobs: Collection[int]) -> tuple[Rule, ...]:
    """Return those by which some jobs may have no place that kube-scheduler would give them.

    Pods that a constraint counts and that are not bound by one like it could come after those that
    are: a plan is judged as if they were there already.
    """
    owners: dict[Affinity | Spread, set[int]] = {}
    for near in instance.affinities if instance.on(Rule.AFFINITY) else ():
        if near.owner in near.anchors:
            owners.setdefault(replace(near, owner=-1), set()).add(near.owner)
    for spread in instance.spreads if instance.on(Rule.SPREAD) else ():
        owners.setdefault(replace(spread, owner=-1), set()).add(spread.owner)
    waiting = {podset.index for podset in instance.podsets if not podset.running}
    found = set()
    for each, bound in owners.items():
        rule, counted = (
            (Rule.SPREAD, each.counted)
            if isinstance(each, Spread)
            else (Rule.AFFINITY, each.anchors)
        )
        first, last = bound & waiting, waiting.intersection(counted) - bound
        if first and last and any(instance.podsets[s].job in jobs for s in first | last):
            found.add(rule)
    return tuple(sorted(found))
