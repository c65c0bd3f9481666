"""Which resources of a pod set its pods themselves ask for."""

from __future__ import annotations

from kantopt.schema.hundredths import as_asked
from kantopt.schema.jobs import PodSet
from kantopt.schema.quantity import CLAIMED

_PLAIN = ("cpu", "memory", "ephemeral-storage")


def is_requested(resource: str) -> bool:
    """Whether a resource is one that a container can request, and not counted by us alone."""
    if resource.startswith(CLAIMED):
        return False
    return resource in _PLAIN or resource.startswith("hugepages-") or "/" in resource


def requests_of(pod_set: PodSet) -> dict[str, str]:
    """Return what each pod of a set requests, as quantities."""
    return {
        resource: str(amount)
        for resource, amount in sorted(as_asked(pod_set.requests).items())
        if is_requested(resource)
    }
