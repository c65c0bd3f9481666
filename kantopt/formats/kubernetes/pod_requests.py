"""What a pod asks for: containers, init containers, sidecars, pod level and overhead."""

from __future__ import annotations

from collections.abc import Mapping

from kantopt.formats.view import Exact, View

Amounts = dict[str, int]
_Exact = dict[str, Exact]


def pod_requests(spec: View, status: View | None = None) -> Amounts:
    """Return a pod's effective requests in base units, one pod of ``pods`` included.

    Per resource: the larger of what runs for good (containers and sidecars) and of what any init
    container needs beside the sidecars started before it (KEP-753); then the pod's own
    ``resources`` replace cpu, memory and huge pages (KEP-2837); then the overhead is added, and
    only the sum is rounded up. A limit stands for a request that is not given.

    Parameters
    ----------
    spec
        The pod's spec.
    status
        Status of a pod that has a node: a resize that is on its way (KEP-1287) takes the largest
        of what is wanted, allocated and in force.
    """
    actual = _Actual(status)
    running: _Exact = {}
    for container in spec.list("containers"):
        _add(running, actual.of(container))
    sidecars: _Exact = {}
    peak: _Exact = {}
    for container in spec.list("initContainers"):
        if container.text("restartPolicy") == "Always":
            _add(sidecars, actual.of(container))
        else:
            requests = _requests(container)
            _add(requests, sidecars)
            _raise(peak, requests)
    _add(running, sidecars)
    _raise(running, peak)
    resources = spec.at("resources")
    for name, amount in resources.exact_amounts("limits").items():
        if _is_pod_level(name):
            running.setdefault(name, amount)
    for name, amount in resources.exact_amounts("requests").items():
        if _is_pod_level(name):
            running[name] = amount
    _add(running, spec.exact_amounts("overhead"))
    return {**{name: _up(running[name]) for name in sorted(running)}, "pods": 1}


def holds_more(spec: View, status: View) -> bool:
    """Whether a pod with a node still holds more than it asks for, as it is being made smaller."""
    actual = _Actual(status)
    for kind in ("containers", "initContainers"):
        for container in spec.list(kind):
            if kind == "containers" or container.text("restartPolicy") == "Always":
                if not actual.knows(container):
                    continue
                asked = _requests(container)
                if any(n > asked.get(r, n) for r, n in actual.of(container).items()):
                    return True
    return False


class _Actual:
    """What containers hold while they are resized in place."""

    def __init__(self, status: View | None) -> None:
        self._by_name: dict[str, View] = {}
        self._infeasible = False
        if status is None:
            return
        for key in ("containerStatuses", "initContainerStatuses"):
            for item in status.list(key):
                if "resources" in item:
                    self._by_name[item.text("name")] = item
        if self._by_name:
            self._infeasible = any(
                item.text("type") == "PodResizePending" and item.text("reason") == "Infeasible"
                for item in status.list("conditions")
            )

    def knows(self, container: View) -> bool:
        """Whether a container holds anything else, as far as it is written otherwise."""
        found = self._by_name.get(container.text("name"))
        if found is None:
            return False
        asked = container.at("resources").raw.get("requests")
        held = found.at("resources").raw.get("requests"), found.raw.get("allocatedResources")
        return any(item is not None and item != asked for item in held)

    def of(self, container: View) -> _Exact:
        """Return what a container asks for, or holds if that is more.

        What is asked for and can never be had does not count.
        """
        found = self._by_name.get(container.text("name"))
        if found is None:
            return _requests(container)
        held = {} if self._infeasible else _requests(container)
        _raise(held, found.at("resources").exact_amounts("requests"))
        _raise(held, found.exact_amounts("allocatedResources"))
        return held


def _requests(container: View) -> _Exact:
    resources = container.at("resources")
    return {**resources.exact_amounts("limits"), **resources.exact_amounts("requests")}


def _is_pod_level(resource: str) -> bool:
    return resource in ("cpu", "memory") or resource.startswith("hugepages-")


def _add(total: _Exact, more: Mapping[str, Exact]) -> None:
    for name, amount in more.items():
        total[name] = total[name] + amount if name in total else amount


def _raise(total: _Exact, other: Mapping[str, Exact]) -> None:
    for name, amount in other.items():
        total[name] = max(total[name], amount) if name in total else amount


def _up(amount: Exact) -> int:
    return -(-amount.numerator // amount.denominator)
