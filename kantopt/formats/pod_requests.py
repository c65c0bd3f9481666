"""What a pod asks for: containers, init containers, sidecars, pod level and overhead."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.formats.view import View

Amounts = dict[str, int]


def pod_requests(spec: View) -> Amounts:
    """Return a pod's effective requests in base units, one pod of ``pods`` included.

    Per resource: the larger of what runs for good (containers and sidecars) and of what any init
    container needs beside the sidecars started before it (KEP-753); then the pod's own
    ``resources`` replace cpu, memory and huge pages (KEP-2837); then the overhead is added.
    A limit stands for a request that is not given.
    """
    running: Amounts = {}
    for container in spec.list("containers"):
        _add(running, container_requests(container))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.list("initContainers"):
        requests = container_requests(container)
        if container.text("restartPolicy") == "Always":
            _add(sidecars, requests)
        else:
            _add(requests, sidecars)
            _raise(peak, requests)
    _add(running, sidecars)
    _raise(running, peak)
    resources = spec.at("resources")
    for name, amount in resources.amounts("limits").items():
        if _is_pod_level(name):
            running.setdefault(name, amount)
    for name, amount in resources.amounts("requests").items():
        if _is_pod_level(name):
            running[name] = amount
    _add(running, spec.amounts("overhead"))
    return {**{name: running[name] for name in sorted(running)}, "pods": 1}


def container_requests(container: View) -> Amounts:
    """Return one container's requests in base units; limits stand in for those not given."""
    resources = container.at("resources")
    return {**resources.amounts("limits"), **resources.amounts("requests")}


def _is_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _add(total: Amounts, more: Mapping[str, int]) -> None:
    for name, amount in more.items():
        total[name] = total.get(name, 0) + amount


def _raise(total: Amounts, other: Mapping[str, int]) -> None:
    for name, amount in other.items():
        total[name] = max(total.get(name, 0), amount)
