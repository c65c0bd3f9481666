"""Host ports of a pod, as kube-scheduler counts them."""

from __future__ import annotations

import re
from collections.abc import Iterable

from kantopt.formats.view import View
from kantopt.schema.base import HostPort

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_MINOR = re.compile(r"v?1\.(\d{1,4})\D")
_SIDECARS_SINCE = 33
"""Minor version from which ports of sidecars count: late patches of it, all later ones."""


def sidecars_count(nodes: Iterable[View]) -> bool:
    """Whether the scheduler of a cluster counts the host ports of sidecars.

    A dump tells the version of the kubelets only, which the control plane is never older than.
    Where none is told it counts, as today.
    """
    texts = [node.at("status", "nodeInfo").text("kubeletVersion") for node in nodes]
    minors = [int(match[1]) for text in texts if (match := _MINOR.match(text + " "))]
    return not minors or max(minors) >= _SIDECARS_SINCE


def read_host_ports(spec: View, *, sidecars: bool) -> tuple[HostPort, ...]:
    """Return the ports of the node that a pod holds, each once; port 0 is none."""
    boxes = list(spec.list("containers"))
    if sidecars:
        started = spec.list("initContainers")
        boxes += [box for box in started if box.text("restartPolicy") == "Always"]
    found = {
        HostPort(
            host_port=number,
            protocol=port.choice("protocol", _PROTOCOLS, "TCP"),  # type: ignore[arg-type]
            host_ip=port.text("hostIP"),
        )
        for box in boxes
        for port in box.list("ports")
        if (number := port.integer("hostPort", 0, 65535))
    }
    return tuple(sorted(found, key=lambda port: (port.host_port, port.protocol, port.host_ip)))
