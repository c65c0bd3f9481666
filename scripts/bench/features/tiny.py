"""Pods that ask for nothing or bring their own room: agents of nodes, pods that stay, pods that go.

Where one runs it takes no room of others, see :func:`~.stated.beside`; where it waits there is room
for it wherever all others are, see :func:`~.stated.waiting`.
"""

from __future__ import annotations

from dataclasses import replace

from kantopt.schema.base import HostPort
from kantopt.schema.jobs import Assignment, DeviceRequest, Job, PodSet
from kantopt.schema.quantity import to_base
from kantopt.schema.snapshot import NodeDevices
from scripts.bench.features.stated import (
    HOSTNAME,
    Stated,
    beside,
    each_node,
    only_if,
    tiny,
    waiting,
    with_model,
)

AGENT = "bench.example/agent"
_LICENCE, _NIC, _BANDWIDTH = "bench.example/licence", "nic", "bench.example/bandwidth"


def agents(stated: Stated) -> Stated:
    """A daemon pod on each node, which asks for little that the node offers besides."""
    names = [node.name for node in stated.snapshot.nodes]
    cpu = all("cpu" in node.allocatable for node in stated.snapshot.nodes)
    podset = PodSet(
        count=len(names),
        min_count=0,
        labels={AGENT: "yes"},
        requests={"cpu": "10m"} if cpu else {},
        host_ports=(HostPort(host_port=9100),),
        assignments=tuple(Assignment(node=name) for name in names),
    )
    job = Job(
        name="bench-agents",
        daemon=True,
        priority=stated.lowest_priority(),
        preemptible=False,
        movable=False,
        pod_sets=(podset,),
    )
    return beside(stated, job)


def too_large(stated: Stated) -> Stated:
    """A job below all others waits for a thousand times what the largest node offers."""
    unplaced = [o.unplaced for o in stated.asked.objectives or () if o.unplaced is not None]
    only_if(all(asked.by == "priority" for asked in unplaced))
    offered = [
        node.allocatable["cpu"] for node in stated.snapshot.nodes if "cpu" in node.allocatable
    ]
    largest = max((to_base("cpu", cpu, up=False) for cpu in offered), default=0)
    only_if(largest > 0)
    podset = PodSet(count=1, requests={"cpu": f"{1000 * largest}m"})
    job = Job(name="bench-too-large", priority=stated.lowest_priority() - 1, pod_sets=(podset,))
    return replace(stated, pending=(*stated.pending, job))


def pinned_job(stated: Stated) -> Stated:
    """A job that stays where it is."""
    return tiny(stated, "bench-pinned")


def required_job(stated: Stated) -> Stated:
    """A job that must be placed, as it is and stays."""
    made = tiny(stated, "bench-required")
    return with_model(made, required=(*made.asked.required, "default/bench-required"))


def exempt(stated: Stated) -> Stated:
    """Pods with a label are neither moved nor evicted; one has it."""
    made = tiny(stated, "bench-exempt", labels={"bench.example/exempt": "yes"})
    return with_model(made, exempt=(*made.asked.exempt, "bench.example/exempt=yes"))


def exempt_nobody(stated: Stated) -> Stated:
    """Pods with a label are neither moved nor evicted; none has it."""
    return with_model(stated, exempt=(*stated.asked.exempt, "bench.example/nobody"))


def terminating(stated: Stated) -> Stated:
    """A pod is on its way out and holds no room that others could have."""
    return tiny(stated, "bench-terminating", terminating=True)


def nominated(stated: Stated) -> Stated:
    """A pod waits on its node for room that it does not need."""
    return tiny(stated, "bench-nominated", nominated=True)


def not_modelled(stated: Stated) -> Stated:
    """A pod asks for what is not modelled and is left where it is, as it is anyway."""
    return tiny(stated, "bench-claims", not_modelled=("claims",))


def live_move(stated: Stated) -> Stated:
    """A pod that moves live, and could be nowhere else."""
    node = stated.snapshot.nodes[0]
    podset = PodSet(
        count=1,
        min_count=0,
        node_selector={HOSTNAME: node.labels.get(HOSTNAME, node.name)},
        assignments=(Assignment(node=node.name),),
    )
    job = Job(
        name="bench-live",
        priority=stated.lowest_priority(),
        preemptible=False,
        move_mode="live",
        pod_sets=(podset,),
    )
    return beside(stated, job)


def host_ports(stated: Stated) -> Stated:
    """Two pods wait that hold a port each, which nobody else asks for."""
    ports = (
        HostPort(host_port=8443),
        HostPort(host_port=8443, protocol="UDP", host_ip="10.0.0.1"),
    )
    return waiting(
        waiting(stated, "bench-port", 1, host_ports=ports[:1]),
        "bench-port-udp",
        1,
        host_ports=ports[1:],
    )


def resource(stated: Stated) -> Stated:
    """A resource of every node that only one pod asks for, which waits."""
    made = each_node(stated, lambda node: {"allocatable": {**node.allocatable, _LICENCE: 8}})
    return waiting(made, "bench-licence", 1, requests={_LICENCE: 1})


def devices_unused(stated: Stated) -> Stated:
    """A class of devices on every node that nobody asks for."""
    nic = NodeDevices(device_class=_NIC, count=2, capacity={_BANDWIDTH: 100})
    return each_node(stated, lambda node: {"devices": (*node.devices, nic)})


def devices(stated: Stated) -> Stated:
    """A class of devices on every node that only one pod asks for, which waits."""
    asked = DeviceRequest(device_class=_NIC, count=2, requests={_BANDWIDTH: 10})
    return waiting(devices_unused(stated), "bench-nic", 1, devices=(asked,))
