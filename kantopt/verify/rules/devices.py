"""R2 devices."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from kantopt.problem.cluster import Node
from kantopt.problem.job import DeviceNeed
from kantopt.schema.model import Rule
from kantopt.verify.step import Step, Violation, beyond


def as_wanted(node: Node, needs: Sequence[DeviceNeed], devices: Sequence[int]) -> bool:
    """Whether devices are distinct and of the classes asked for, as many as are asked for."""
    known = len(node.devices)
    given = [node.devices[d].device_class if d < known else "none" for d in devices]
    if len(needs) == 1 == len(given):
        return needs[0].count == 1 and given[0] == needs[0].device_class
    wanted = {need.device_class: need.count for need in needs}
    return wanted == Counter(given) and len(set(devices)) == len(devices)


def unwanted(needs: Sequence[DeviceNeed], devices: Sequence[int]) -> str:
    """Say that devices are not :func:`as_wanted`."""
    wanted = {need.device_class: need.count for need in needs}
    return f"devices {list(devices)} of {dict(sorted(wanted.items()))} wanted"


def check_devices(step: Step) -> Iterator[Violation]:
    """Each pod sits on distinct devices of the classes it asks for, and none is overfull."""
    instance = step.instance
    for n, arrived in step.arrived_on.items():
        node = instance.nodes[n]
        touched: dict[int, set[int]] = {}
        for s, spot, _ in arrived:
            podset = instance.podsets[s]
            if not podset.devices and not spot.devices:
                continue
            if not as_wanted(node, podset.devices, spot.devices):
                subject = f"{instance.subject(s)} on node {node.name}"
                yield Violation(Rule.DEVICES, subject, unwanted(podset.devices, spot.devices))
            for device, request in step.loads.device_requests(s, spot):
                touched.setdefault(device, set()).update(r for r, a in enumerate(request) if a)
        for device, resources in sorted(touched.items()):
            load = step.loads.device[n][device]
            capacity = node.devices[device].capacity
            for r in sorted(resources):
                if load[r] > capacity[r]:
                    yield Violation(
                        Rule.DEVICES,
                        f"node {node.name} {node.devices[device].device_class} {device}",
                        beyond(load[r], capacity[r], instance.resources[r]),
                    )
