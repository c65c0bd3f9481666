"""Pods that were resized in place between two dumps: the least that each may have held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kantopt.formats.view import Exact, View, view_of

_LISTS = (("containers", "containerStatuses"), ("initContainers", "initContainerStatuses"))


def at_its_smallest(pod: View, was: View | None) -> View:
    """Return a pod with each container as small as two dumps show it: wanted, or allocated.

    When it was resized they do not tell, so pods that came to its node may have come before.

    Parameters
    ----------
    pod
        The pod as the later dump shows it.
    was
        As the first one does; ``None`` if it has come since.
    """
    least = {}
    for view in (view for kind, _ in _LISTS for view in pod.at("spec").list(kind)):
        name = view.text("name")
        sizes = list(_sizes(name, pod, was))
        if any(size != sizes[0] for size in sizes) and _differ(sizes):
            least[name] = _least(sizes)
    if not least:
        return pod
    spec, status = dict(pod.at("spec").raw), dict(pod.at("status").raw)
    for kind, statuses in _LISTS:
        containers = list(pod.at("spec").list(kind))
        spec[kind] = [
            _resized(item, least[item.text("name")]) if item.text("name") in least else item.raw
            for item in containers
        ]
        status[statuses] = [
            {k: v for k, v in item.raw.items() if k not in ("resources", "allocatedResources")}
            for item in pod.at("status").list(statuses)
        ]
    return pod.replaced(spec=spec, status=status)


def _sizes(name: str, pod: View, was: View | None) -> Iterator[dict[str, Any]]:
    """Yield what a container of a pod asked for, or held, as far as is known."""
    for view in (pod, was):
        if view is None:
            continue
        for containers, statuses in _LISTS:
            for item in view.at("spec").list(containers):
                if item.text("name") == name:
                    resources = item.at("resources")
                    yield {**resources.at("limits").raw, **resources.at("requests").raw}
            for item in view.at("status").list(statuses):
                if item.text("name") == name and "allocatedResources" in item:
                    yield dict(item.at("allocatedResources").raw)


def _differ(sizes: list[dict[str, Any]]) -> bool:
    """Whether the same resource has different amounts, however these are written."""
    found: dict[str, set[Exact]] = {}
    for size in sizes:
        for name, amount in _amounts(size).items():
            found.setdefault(name, set()).add(amount)
    return any(len(amounts) > 1 for amounts in found.values())


def _least(sizes: list[dict[str, Any]]) -> dict[str, Any]:
    """The smallest of each resource; what only some of them name, as the first one has it."""
    least = dict(sizes[0])
    for size in sizes[1:]:
        amounts = _amounts(least)
        for name, amount in _amounts(size).items():
            if name in amounts and amount < amounts[name]:
                least[name] = size[name]
    return least


def _amounts(size: dict[str, Any]) -> dict[str, Exact]:
    return view_of({"size": size}).exact_amounts("size")


def _resized(container: View, requests: dict[str, Any]) -> dict[str, Any]:
    return {**container.raw, "resources": {**container.at("resources").raw, "requests": requests}}
