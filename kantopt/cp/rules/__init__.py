"""The rules as constraints, one file each under the names of ``kantopt.verify.rules``."""

from __future__ import annotations

from collections.abc import Callable

from kantopt.cp.rules.affinity import add_affinity
from kantopt.cp.rules.anti_affinity import add_anti_affinity
from kantopt.cp.rules.capacity import add_capacity
from kantopt.cp.rules.devices import add_devices
from kantopt.cp.rules.disruption import add_disruption
from kantopt.cp.rules.eligibility import add_eligibility
from kantopt.cp.rules.gang import add_gang
from kantopt.cp.rules.gang_victims import add_gang_victims
from kantopt.cp.rules.limits import add_limits
from kantopt.cp.rules.pinned import add_pinned
from kantopt.cp.rules.priority import add_priority
from kantopt.cp.rules.quota import add_quota
from kantopt.cp.rules.required import add_required
from kantopt.cp.rules.slices import add_slices
from kantopt.cp.rules.spread import add_spread
from kantopt.cp.rules.topology import add_topology
from kantopt.cp.variables import Variables
from kantopt.schema.model import Rule

CONSTRAINTS: dict[Rule, Callable[[Variables], None]] = {
    Rule.CAPACITY: add_capacity,
    Rule.DEVICES: add_devices,
    Rule.ELIGIBILITY: add_eligibility,
    Rule.GANG: add_gang,
    Rule.TOPOLOGY: add_topology,
    Rule.SLICES: add_slices,
    Rule.QUOTA: add_quota,
    Rule.ANTI_AFFINITY: add_anti_affinity,
    Rule.SPREAD: add_spread,
    Rule.PRIORITY: add_priority,
    Rule.PINNED: add_pinned,
    Rule.DISRUPTION: add_disruption,
    Rule.GANG_VICTIMS: add_gang_victims,
    Rule.LIMITS: add_limits,
    Rule.REQUIRED: add_required,
    Rule.AFFINITY: add_affinity,
}
