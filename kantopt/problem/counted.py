"""Which nodes a metric looks at: those that can be used, as far as a goal asks for them."""

from __future__ import annotations

from kantopt.problem.chosen import has_label
from kantopt.problem.cluster import Node
from kantopt.problem.instance import Instance
from kantopt.problem.kept import kept_with_instance
from kantopt.problem.restricted import ANY_GPU
from kantopt.problem.tiers import Tier


def counted(instance: Instance, tier: Tier) -> frozenset[int]:
    """Return the nodes that the metric of a tier counts: ``V`` of ``models/README.md``."""
    return counted_nodes(instance, tier.selector, tier.offers)


def counted_domains(instance: Instance, tier: Tier) -> frozenset[int]:
    """Return the domains at a tier's level that have nodes which count."""
    if tier.level is None:
        return frozenset()
    domain_of = instance.topology.domain_of[tier.level]
    found = {domain_of[n] for n in counted(instance, tier)}
    return frozenset(d for d in found if d is not None)


@kept_with_instance(most=64)
def counted_nodes(instance: Instance, selector: str = "", offers: str = "") -> frozenset[int]:
    """Return the nodes that are ready and not cordoned, have a label and offer a class.

    Parameters
    ----------
    selector
        ``KEY=VALUE`` or ``KEY``; empty: all nodes have it.
    offers
        As of :func:`offers_class`; empty: all nodes offer it.
    """
    return frozenset(
        node.index
        for node in instance.nodes
        if node.usable
        and (not selector or has_label(node.labels, selector))
        and (not offers or offers_class(instance, node, offers))
    )


def offers_class(instance: Instance, node: Node, name: str) -> bool:
    """Whether a node offers a resource, of its own or on devices, or devices of a class.

    ``gpu`` are GPUs of any kind, also where a resource or class is called that.
    """
    if name == ANY_GPU and node.gpu_milli:
        return True
    if any(device.device_class == name for device in node.devices):
        return True
    if name not in instance.resources:
        return False
    r = instance.resources.index(name)
    own = node.capacity[r]
    return own is None or own > 0 or any(device.capacity[r] for device in node.devices)
