"""What the parameters of an objective make of a tier: nodes, levels, sizes, goals."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from kantopt.problem.instance import Instance
from kantopt.problem.mix import shape_of
from kantopt.schema.objectives import (
    AmountObjective,
    BalanceObjective,
    ClassObjective,
    ClusterObjective,
    DomainsObjective,
    FragmentObjective,
    GroupsObjective,
    StrandedObjective,
)
from kantopt.schema.quantity import parse_quantity, to_base

if TYPE_CHECKING:
    from kantopt.problem.tiers import Tier

PER_UNIT = {
    "milli-GPU": 1_000,
    "milli-GPU x mix": 1_000,
    "micro-units": 1_000_000,
    "milliwatts": 1_000,
    "milli-nodes": 1_000,
}
"""How many of ours make one of what people count in."""


def restricted(instance: Instance, tier: Tier, parameters: object) -> Tier:
    """Return a tier of a metric of the whole cluster as the parameters of an objective have it.

    Parameters
    ----------
    tier
        One that says no more than the metric and its unit.
    """
    selector = getattr(parameters, "selector", None) or ""
    tier = replace(tier, selector=selector, scope=selector)
    if isinstance(parameters, ClusterObjective):
        tier = replace(tier, target=parameters.target, beyond=parameters.beyond)
    if isinstance(parameters, StrandedObjective):
        mix = instance.mix
        if parameters.mix:
            mix = tuple(shape_of(instance.resources, shape) for shape in parameters.mix)
        target = None
        if parameters.target is not None:
            weight = sum(shape.weight for shape in mix)
            target = weight * to_base("gpu", parameters.target, up=False)
        return replace(tier, mix=mix, target=target)
    if isinstance(parameters, AmountObjective) and parameters.target is not None:
        scale = Fraction(PER_UNIT[tier.unit])
        return replace(tier, target=(parse_quantity(parameters.target) * scale).__floor__())
    if isinstance(parameters, BalanceObjective):
        asked = balanced(parameters)
        # Of those that nobody named nodes may have none.
        looked_at = tuple(r for r, name in enumerate(instance.resources) if name in asked)
        named_all = ", ".join(instance.resources[r] for r in looked_at)
        return replace(
            tier,
            resources=looked_at,
            size=int(10 * parse_quantity(parameters.target)),
            scope=", ".join(filter(None, (f"{named_all} above {parameters.target}%", selector))),
        )
    if isinstance(parameters, DomainsObjective):
        level = _level(instance, parameters.level)
        name = "" if level is None else instance.topology.levels[level]
        scope = ", ".join(filter(None, (name, _where(parameters))))
        return replace(tier, level=level, offers=_offers(instance, parameters), scope=scope)
    if isinstance(parameters, ClassObjective):
        return replace(tier, offers=_offers(instance, parameters), scope=_where(parameters))
    if isinstance(parameters, GroupsObjective):
        return replace(tier, level=_level(instance, parameters.level))
    if isinstance(parameters, FragmentObjective):
        plain = parameters.target is None and parameters.of == "free"
        named_slot = "" if plain else slot_name(parameters)
        return replace(
            tier,
            resource=instance.resources.index(parameters.resource),
            size=to_base(parameters.resource, parameters.size),
            device_class=parameters.device_class,
            of_capacity=parameters.of == "capacity",
            scope=", ".join(filter(None, (named_slot, selector))),
        )
    return tier


def balanced(parameters: BalanceObjective) -> tuple[str, ...]:
    """Return the resources whose load an objective looks at, if nodes have any."""
    return parameters.resources or ("cpu", "memory")


def _where(objective: ClassObjective) -> str:
    """Which nodes an objective counts, in words, as far as it says so."""
    named = None if objective.offers is None else f"class {objective.offers}"
    return ", ".join(filter(None, (objective.selector, named)))


def _offers(instance: Instance, objective: ClassObjective) -> str:
    """Return the class of an objective; by default GPUs, where nodes have any."""
    if objective.offers is not None:
        return objective.offers
    return ANY_GPU if any(node.gpu_milli for node in instance.nodes) else ""


ANY_GPU = "gpu"
"""Class of GPUs of any kind."""


def slot_name(slot: FragmentObjective) -> str:
    """Name of a slot: ``cpu:16``, ``cpu:16/numa`` on devices, ``... of capacity``."""
    devices = "" if slot.device_class is None else f"/{slot.device_class}"
    counted = "" if slot.of == "free" else f" of {slot.of}"
    return f"{slot.resource}:{slot.size}{devices}{counted}"


def _level(instance: Instance, name: str | None) -> int | None:
    """Return the level of a name, or else the finest one."""
    return finest_level(instance) if name is None else instance.topology.level(name)


def finest_level(instance: Instance) -> int | None:
    """Return the finest topology level with domains of more than one node, if there is one."""
    for level in reversed(range(len(instance.topology.levels))):
        if any(len(domain.nodes) > 1 for domain in instance.topology.domains[level]):
            return level
    return None
