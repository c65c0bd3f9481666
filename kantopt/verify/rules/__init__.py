"""The rules, one file each, and the ways to apply them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from kantopt.problem.instance import Instance
from kantopt.problem.placement import Placement, Spots
from kantopt.schema.model import Rule
from kantopt.schema.rule_kinds import STATE_RULES
from kantopt.verify.rules.affinity import check_affinity
from kantopt.verify.rules.anti_affinity import check_anti_affinity
from kantopt.verify.rules.capacity import check_capacity
from kantopt.verify.rules.devices import check_devices
from kantopt.verify.rules.disruption import check_disruption
from kantopt.verify.rules.eligibility import check_eligibility
from kantopt.verify.rules.gang import check_gang
from kantopt.verify.rules.gang_victims import check_gang_victims
from kantopt.verify.rules.limits import check_limits
from kantopt.verify.rules.pinned import check_pinned
from kantopt.verify.rules.priority import check_priority
from kantopt.verify.rules.quota import check_quota
from kantopt.verify.rules.required import check_required
from kantopt.verify.rules.slices import check_slices
from kantopt.verify.rules.spread import check_spread
from kantopt.verify.rules.topology import check_topology
from kantopt.verify.step import Step, Violation

CHECKS: dict[Rule, Callable[[Step], Iterator[Violation]]] = {
    Rule.CAPACITY: check_capacity,
    Rule.DEVICES: check_devices,
    Rule.ELIGIBILITY: check_eligibility,
    Rule.GANG: check_gang,
    Rule.TOPOLOGY: check_topology,
    Rule.SLICES: check_slices,
    Rule.QUOTA: check_quota,
    Rule.ANTI_AFFINITY: check_anti_affinity,
    Rule.SPREAD: check_spread,
    Rule.PRIORITY: check_priority,
    Rule.PINNED: check_pinned,
    Rule.DISRUPTION: check_disruption,
    Rule.GANG_VICTIMS: check_gang_victims,
    Rule.LIMITS: check_limits,
    Rule.REQUIRED: check_required,
    Rule.AFFINITY: check_affinity,
}


def check(
    instance: Instance, placement: Placement, rules: Iterable[Rule] = tuple(Rule)
) -> list[Violation]:
    """Return what is wrong with going from the snapshot's placement to another.

    What was wrong before and does not grow is no violation.
    """
    step = Step(instance, instance.current, placement)
    return [v for rule in rules if instance.on(rule) for v in CHECKS[rule](step)]


def is_legal(instance: Instance, placement: Placement) -> bool:
    """Whether nothing is wrong with a placement but required jobs that are missing."""
    return all(violation.rule == Rule.REQUIRED for violation in check(instance, placement))


def check_standing(instance: Instance) -> list[Violation]:
    """Return what is wrong with the snapshot as it stands.

    Pods that are nominated wait for those that terminate: what is wrong only with both there at
    once never comes to be, nor does what is wrong only because they are not there yet.
    """
    found = check_arrivals(instance, instance.nowhere, instance.current)
    waiting: dict[int, Spots] = {p.index: {} for p in instance.podsets if p.current and p.nominated}
    if not (found and waiting):
        return found
    wrong = {(item.rule, item.subject) for item in found}
    without = check_arrivals(instance, instance.nowhere, instance.current.replace(waiting))
    return [item for item in without if (item.rule, item.subject) in wrong]


def check_arrivals(instance: Instance, before: Placement, after: Placement) -> list[Violation]:
    """Return what is wrong with what has come since some placement, by the rules of a state."""
    step = Step(instance, before, after)
    return [v for rule in STATE_RULES if instance.on(rule) for v in CHECKS[rule](step)]
