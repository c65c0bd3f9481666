"""Kueue's ``topologyAssignment``: how many pods of a pod set go to which node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kantopt.render.targets import KueueApi


def topology_assignment(level: str, pods: Mapping[str, int], api: KueueApi) -> dict[str, Any]:
    """Write where pods go, domains in the order of their names.

    Parameters
    ----------
    level
        Node label whose values name the domains; the hostname stands alone, without levels above.
    pods
        Pods by domain, at least one of each.
    api
        Of v1beta1 each domain stands for itself, of v1beta2 what domains share is said once.
    """
    domains = sorted(pods)
    counts = [pods[domain] for domain in domains]
    if api == "v1beta1":
        plain = [{"values": [domain], "count": pods[domain]} for domain in domains]
        return {"levels": [level], "domains": plain}
    part = {
        "domainCount": len(domains),
        "valuesPerLevel": [_values(domains)],
        "podCounts": _counts(counts),
    }
    return {"levels": [level], "slices": [part]}


def _values(domains: Sequence[str]) -> dict[str, Any]:
    if len(domains) == 1:
        return {"universal": domains[0]}
    # Roots are never empty, so neither may take all of the shortest name.
    room = min(map(len, domains)) - 1
    prefix = _common(domains, room)
    suffix = _common([domain[::-1] for domain in domains], room - len(prefix))[::-1]
    fields: dict[str, Any] = {}
    if prefix:
        fields["prefix"] = prefix
    if suffix:
        fields["suffix"] = suffix
    fields["roots"] = [domain[len(prefix) : len(domain) - len(suffix)] for domain in domains]
    return {"individual": fields}


def _common(texts: Sequence[str], most: int) -> str:
    """Return what all texts begin with, at most so many characters."""
    same = 0
    while same < most and len({text[same] for text in texts}) == 1:
        same += 1
    return texts[0][:same]


def _counts(counts: Sequence[int]) -> dict[str, Any]:
    if len(set(counts)) == 1:
        return {"universal": counts[0]}
    return {"individual": list(counts)}
